"""Examples of each command, which its ``--help`` shows."""

from __future__ import annotations

import argparse

from .verbosity import commands_of

__all__ = ["EXAMPLES", "add_examples"]

#: By command, without ``cdma``: what comes after it, a line each.
EXAMPLES: dict[str, tuple[str, ...]] = {
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
    "linux": ("", "--waves linux.vcd --first 9", "--torch", "--measure 10000 --json", "--feed 99999", "--run python3 my.py"),
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
    "bench queue": ("",),
    "bench engine": ("--densities 0 0.5 1 --bytes 65536", "--plot utilisation.svg"),
    "bench units": ("--unit-counts 2 4 --densities 0.5",),
    "bench formats": ("",),
    "bench words": ("", "--markdown"),
    "bench bounded": ("", "--relative -4 --json"),
    "bench software": ("", "--input activations.npy"),
    "bench lossy": ("--networks vgg", "--seeds 5 --resume trainings.jsonl"),
    "bench swap": ("", "--link 0.1 --policies vdnn_all cdma cswap --json"),
    "bench advisor": ("", "--cuda --networks vgg16 resnet50 --json"),
    "bench batch": ("--json", "--cpu --networks small --memory 0.004"),
    "bench saved": ("--json", "--networks resnet50 --ways saved comet"),
    "bench stream": ("", "--what optimiser cache", "--layers 6 --link 0.05 --policies raw compressed --json"),
    "bench kernels": ("", "--cuda --size 256 --json"),
    "bench gpu": ("", "--formats bf16 --densities 1 --json", "--hostile 1000"),
    "profile": ("activations/", "activations.npz --link 25 --units 2 --html report.html"),
    "characterise": ("", "--figures figures"),
    "model step": ("", "--network vgg16 --policy cdma", "--link pcie3 nvlink2 --json"),
    "model tensors": ("--network vgg16",),
    "model trace": ("step.json --network vgg16 --policy cdma",),
    "model several": ("--network vgg16 --devices 1 4 --links 1 2",),
    "model decode": ("65536 --network gpt2",),
    "model residuals": ("rows.json", "rows.json --machine mine.toml --json"),
    "model pictures": ("pictures rows.json",),
    "model figures": ("figures",),
    "model list": ("",),
    "model assumptions": ("> mine.toml",),
    "model measure": ("engine cycles.json",),
    "tune hardware": ("--network vgg16 --area 400 -o engine.toml", "--compare --sampler tpe"),
    "tune software": ("--size 64 --density 0.3", "--sampler grid -o best.toml", "--compare"),
    "tune gpu": (
        "--kernel both --keep",
        "--format bf16 --density 1 --sampler random --trials 30",
        "--kernel both --compare --network vgg16 --json",
    ),
    "completion": ("bash > ~/.local/share/bash-completion/completions/cdma", "zsh > ~/.zfunc/_cdma"),
}  # fmt: skip


def add_examples(parser: argparse.ArgumentParser) -> None:
    """Puts the examples below the help of every command of a parser."""
    for command in commands_of(parser):
        lines = EXAMPLES.get(command.prog.removeprefix(f"{parser.prog} "), ())
        if lines:
            command.epilog = "\n  ".join(
                ["examples:", *(f"{command.prog} {line}".rstrip() for line in lines)]
            )
