"""Examples of each command, which its ``--help`` shows."""

from __future__ import annotations

import argparse

from .streams import commands_of
from .wings import examples

__all__ = ["add_examples", "all_examples"]

#: By command, without ``cdma``: what comes after it, a line each.
_EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("", "-o out --density 0.2"),
    "generate compressor": ("-o rtl", "--word-bits 16 --lanes 16 --no-init -o rtl", "--format bf16 --name zip -o rtl"),
    "generate decompressor": ("-o rtl", "--word-bits 8 --lanes 32 --pipelined -o fpga"),
    "generate engine": ("-o rtl", "--dev-data-bits 128 --host-data-bits 128 --lanes 4 --register-slices in,out -o rtl"),
    "generate quantiser": ("-o rtl",),
    "generate dequantiser": ("-o rtl",),
    "intake compressor": ("-o block", "-o block --run lint speed tests"),
    "intake decompressor": ("-o block --run all --mutants 20",),
    "intake quantiser": ("-o block",),
    "intake dequantiser": ("-o block",),
    "intake engine": ("-o block", "-o block --run proofs --certificate block/cdma_engine_intake.json"),
    "verify compressor": ("", "--word-bits 16 --lanes 16 --waves", "--tests malformed --seed 7 --log"),
    "verify decompressor": ("--list", "--no-init --simulator icarus"),
    "verify quantiser": ("", "--number bf16 --bits 4 --lanes 16"),
    "verify dequantiser": ("--no-init --simulator icarus",),
    "verify engine": ("--transfers 200 --jobs 2", "--no-registers --tests reset"),
    "coverage compressor": ("",),
    "coverage decompressor": ("",),
    "coverage quantiser": ("",),
    "coverage dequantiser": ("",),
    "coverage engine": ("",),
    "prove": ("--list", "--quick --jobs 2", "compressor_any_stream"),
    "mutate": ("--block compressor --count 20",),
    "faults": ("", "responses aborts --every 10"),
    "soak": ("--minutes 60 --seed 3", "--minutes 10 --log cases.jsonl"),
    "wave compressor": ("-o waves", "--input activations.npy -o waves", "--lanes 4 --only svg -o waves"),
    "wave decompressor": ("-o waves",),
    "wave engine": ("-o waves", "--scenarios error abort -o waves"),
    "wave quantiser": ("-o waves",),
    "wave dequantiser": ("-o waves",),
    "area compressor": ("", "--liberty your_pdk.lib --path", "--sweep lanes=2,4,8,16 -o sweep"),
    "area decompressor": ("--liberty your_pdk.lib --clock-gating",),
    "area quantiser": ("",),
    "area dequantiser": ("",),
    "area engine": ("--no-breakdown", "--liberty your_pdk.lib --depth 2"),
    "power compressor": ("--liberty your_pdk.lib --clock-gating",),
    "power decompressor": ("--liberty your_pdk.lib",),
    "power engine": ("--liberty your_pdk.lib --densities 0.5 1",),
    "fpga compressor": ("--pipelined --target ecp5",),
    "fpga decompressor": ("--pipelined --target nexus",),
    "fpga engine": ("--pipelined --target ecp5",),
    "compress": ("activations.npy activations.cdma", "model.safetensors model.cdma --best", "a.npy a.cdma --fit"),
    "decompress": ("activations.cdma activations.npy",),
    "formats": ("", "--json"),
    "bench codec": ("", "--json"),
    "bench stage": ("", "--number bf16 --bits 4 --lanes 16"),
    "bench engine": ("--densities 0 0.5 1 --bytes 65536", "--plot utilisation.svg"),
    "bench units": ("--unit-counts 2 4 --densities 0.5",),
    "bench software": ("", "--input activations.npy"),
    "completion": ("bash > ~/.local/share/bash-completion/completions/cdma", "zsh > ~/.zfunc/_cdma"),
}  # fmt: skip


def all_examples() -> dict[str, tuple[str, ...]]:
    """Those of all commands, the wings' among them."""
    return {**_EXAMPLES, **examples()}


def add_examples(parser: argparse.ArgumentParser) -> None:
    """Puts the examples below the help of every command of a parser."""
    known = all_examples()
    for command in commands_of(parser):
        lines = known.get(command.prog.removeprefix(f"{parser.prog} "), ())
        if lines:
            command.epilog = "\n  ".join(
                ["examples:", *(f"{command.prog} {line}".rstrip() for line in lines)]
            )
