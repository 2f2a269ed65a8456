"""Cycles and latency of a codec against the density of its data, measured under Verilator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.verif.simulator.run import measure

from .design import CodecDesign

__all__ = ["SHAPES", "cases", "measure_codec", "packet_windows", "standard_designs"]

#: Shares of words that are not zero, and of those whose field is in the table, that formats with a field and a code of
#: zero are measured at.
_DENSITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
_COVERAGES = (0.0, 0.5, 0.9, 1.0)
#: Bits of a word and lanes of the configurations that are always measured.
SHAPES = ((32, 8), (8, 32), (16, 16), (32, 32))


def measure_codec(
    design: CodecDesign, seed: int = 1, report: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """One row for each of :func:`cases`: a packet of 64 windows with its literals anywhere, or of 256 with a field.

    ``cycles`` counts from the first beat in to the last beat out, ``bound`` is what the contract allows,
    ``port`` is the share of the cycles in which the busier port moves a beat, ``latency`` is from the first beat in to the
    first beat out, ``bytes_per_cycle`` is of raw data. ``report`` is called with the number of new rows.
    """
    config = design.config
    raw = packet_windows(config.format) * config.format.window * config.format.word_bits // 8
    shape = {
        "direction": "compress" if design.block == "compressor" else "decompress",
        "word_bits": config.format.word_bits,
        "lanes": config.lanes,
        "window": config.format.window,
    }
    rows = measure(design, "cdma.verif.stream.codec.tests.single", report=report, seed=seed)
    return [{**shape, **row, "bytes_per_cycle": round(raw / row["cycles"], 2)} for row in rows]


def cases(format: StreamFormat) -> list[dict[str, float]]:
    """The densities 0, 0.1 … 1 of literals; with a field and a code of zero, densities of words that are not zero, each with
    coverages of the table."""
    if not (format.zero and format.values):
        return [{"density": tenths / 10} for tenths in range(11)]
    return [
        {"density": density, "coverage": coverage}
        for density in _DENSITIES
        for coverage in (_COVERAGES if density else _COVERAGES[-1:])
    ]


def packet_windows(format: StreamFormat) -> int:
    """Windows of a packet that is measured; with a field enough for the cycles at its ends to be a small share."""
    return 256 if format.zero and format.values else 64


def standard_designs() -> list[CodecDesign]:
    """Both directions of every shape, zero-value compression with windows of 32 words."""
    return [
        CodecDesign(block, CodecConfig(Format(word_bits=word_bits), lanes))
        for word_bits, lanes in SHAPES
        for block in BLOCKS
    ]
