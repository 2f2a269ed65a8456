"""Which proofs say something about a design: those of its own configuration, and those of its blocks in smaller ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cdma.hdl.codec.generate import codec_shell
from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.spec.codecs import BLOCKS
from cdma.verif.proofs.equivalence import Equivalence
from cdma.verif.proofs.ports import codec_ports_proof
from cdma.verif.proofs.proof import Proof
from cdma.verif.proofs.registry import PROOFS
from cdma.verif.proofs.source import codec_source, module_source
from cdma.verif.simulator.design import Design

__all__ = ["own_proofs", "smaller_proofs"]

#: Names the configuration of a design's own proofs.
OWN = "this configuration"

#: Cycles from the reset for which the ports of a codec of any size are looked at, and within which a packet gets through.
_DEPTH, _COVER = 8, 30

#: The proofs about the blocks of each kind of design, by the beginnings of their names.
_ANY = ("stream_register", "skid_buffer", "wide_counter")
_PIPELINED = ("elastic_buffer", "fifo", "memory_queue", "credit")
_PLAIN = {
    "compressor": ("window_store", "packer", "compressor_any_stream", "compressor_ports", "lossless"),
    "decompressor": ("decompressor", "lossless"),
}
_ENGINE = ("fifo", "widen", "narrow", "credit", "axi_reader", "axi_writer")


def own_proofs(design: Design) -> list[Proof | Equivalence]:
    """The proofs of exactly this configuration: its butterflies where they have a proof, its Verilog against its source, and
    for a codec the rules at its ports."""
    lanes = f"{_units(design)} lanes"
    found: list[Proof | Equivalence] = [
        proof for proof in PROOFS if proof.name in _butterflies(design) and proof.config == lanes
    ]
    if design.block not in BLOCKS:
        shell = partial(engine_shell, design.config)
        return [*found, module_source(design.block, shell, OWN)]
    ports = codec_ports_proof(design.block, design.config, OWN, depth=_DEPTH, cover=_COVER)
    if design.config.pipelined:
        shell = partial(codec_shell, design.block, design.config)
        return [*found, ports, module_source(design.block, shell, OWN)]
    return [*found, ports, codec_source(design.block, design.config, OWN)]


def smaller_proofs(design: Design) -> list[Proof | Equivalence]:
    """The proofs of the design's blocks in other configurations, mostly smaller ones."""
    names = tuple(_parts(design))
    own = {(proof.name, proof.config) for proof in own_proofs(design)}
    return [
        proof
        for proof in PROOFS
        if any(proof.name == name or proof.name.startswith(f"{name}_") for name in names)
        and (proof.name, proof.config) not in own
    ]


def _units(design: Design) -> int:
    """The lanes of the butterflies."""
    codec = design.config if design.block in BLOCKS else design.config.codec
    return int(codec.units)


def _butterflies(design: Design) -> list[str]:
    names = {"compressor": "butterfly_concentrate", "decompressor": "butterfly_expand"}
    return [name for block, name in names.items() if design.block in (block, "engine")]


def _parts(design: Design) -> Iterator[str]:
    """The names of the proofs, or their beginnings."""
    yield from _ANY
    yield from _butterflies(design)
    blocks = BLOCKS if design.block not in BLOCKS else (design.block,)
    if design.config.pipelined:
        yield from _PIPELINED
    else:
        for block in blocks:
            yield from _PLAIN[block]
    if design.block not in BLOCKS:
        yield from _ENGINE
        if design.config.alignment == "word":
            yield "realign"
        if design.config.registers:
            yield "registers_port"
