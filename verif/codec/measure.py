"""Cycles and latency of a codec against the density of its data, measured under Verilator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.format import Format
from cdma.verif.simulator.run import measure

from .design import CodecDesign

__all__ = ["ROWS", "SHAPES", "measure_codec", "standard_designs"]

#: The rows of a measurement, one for each density 0, 0.1 … 1.
ROWS = 11
#: Bits of a word and lanes of the configurations that are always measured.
SHAPES = ((32, 8), (8, 32), (16, 16), (32, 32))


def measure_codec(
    design: CodecDesign, seed: int = 1, report: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """One row per density 0, 0.1 … 1: a packet of 64 windows with its literals anywhere.

    ``cycles`` counts from the first beat in to the last beat out, ``bound`` is what the contract allows,
    ``latency`` is from the first beat in to the first beat out, ``bytes_per_cycle`` is of raw data. ``report`` is
    called with the number of new rows.
    """
    config = design.config
    raw = 64 * config.format.window * config.format.word_bits // 8
    shape = {
        "direction": "compress" if design.block == "compressor" else "decompress",
        "word_bits": config.format.word_bits,
        "lanes": config.lanes,
        "window": config.format.window,
    }
    rows = measure(design, "cdma.verif.codec.measure_tests", report=report, seed=seed)
    return [{**shape, **row, "bytes_per_cycle": round(raw / row["cycles"], 2)} for row in rows]


def standard_designs() -> list[CodecDesign]:
    """Both directions of every shape, zero-value compression with windows of 32 words."""
    return [
        CodecDesign(block, CodecConfig(Format(word_bits=word_bits), lanes))
        for word_bits, lanes in SHAPES
        for block in BLOCKS
    ]
