"""Cycles and latency of a codec against the density of its data, under Verilator, and a short run as pictures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from vcd.gtkw import GTKWColor

from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.sim.codec.headers import from_memory
from cdma.sim.codec.model import CODE, PADDING, TRAILING, TRUNCATED
from cdma.sim.codec.words import Words
from cdma.verif.simulator.page import Row, View, lines_of
from cdma.verif.simulator.passage import (
    Beat,
    Passage,
    beat_row,
    busy_cycles,
    compressed_tensor,
    corruption,
    packets_of,
    window_boxes,
)
from cdma.verif.simulator.simulate import measure
from cdma.verif.simulator.vcd_trace import Trace
from cdma.verif.simulator.waveform import KINDS, Scene, draw
from cdma.verif.stream.wave import diagram, report_row, stream_view

from .design import CodecDesign
from .stimulus import MALFORMED, Speller

#: Shares of words that are not zero, and of those whose field is in the table, that formats with a field and a code of
#: zero are measured at.
_DENSITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
_COVERAGES = (0.0, 0.5, 0.9, 1.0)
#: Shares of words that are not zero which formats with two levels are measured at: they are for what changed.
_CHANGES = (0.0, 0.001, 0.01, 0.1, 1.0)
#: Bits of a word and lanes of the configurations that are always measured.
SHAPES = ((32, 8), (8, 32), (16, 16), (32, 32))


def measure_codec(
    design: CodecDesign, seed: int = 1, report: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """One row for each of :func:`cases`: a packet of :func:`packet_windows` with its literals anywhere.

    ``cycles`` counts from the first beat in to the last beat out, ``bound`` is what the contract allows, ``port`` is
    the share of the cycles in which the busier port moves a beat, ``latency`` is from the first beat in to the first
    beat out, ``bytes_per_cycle`` is of raw data. ``report`` is called with the number of new rows.
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
    """The densities 0, 0.1 … 1 of literals, with two levels five low ones; with a field and a code of zero, densities of
    nonzero words, each with coverages of the table."""
    if format.levels == 2:
        return [{"density": density} for density in _CHANGES]
    if not (format.zero and format.values):
        return [{"density": tenths / 10} for tenths in range(11)]
    return [
        {"density": density, "coverage": coverage}
        for density in _DENSITIES
        for coverage in (_COVERAGES if density else _COVERAGES[-1:])
    ]


def packet_windows(format: StreamFormat) -> int:
    """Windows of a packet that is measured; with a field or two levels enough for the cycles at its ends to be a small
    share."""
    if format.levels == 2:
        return 32 * format.group
    return 256 if format.zero and format.values else 64


def standard_designs() -> list[CodecDesign]:
    """Both directions of every shape, zero-value compression with windows of 32 words."""
    return [
        CodecDesign(block, CodecConfig(Format(word_bits=word_bits), lanes))
        for word_bits, lanes in SHAPES
        for block in BLOCKS
    ]


#: What the errors of a report are called.
_ERRORS = {
    TRUNCATED: "truncated",
    TRAILING: "trailing",
    CODE: "code",
    MALFORMED: "malformed",
    PADDING: "padding",
}


def wave(
    design: CodecDesign,
    directory: Path,
    kinds: Sequence[str] = KINDS,
    *,
    verilog: str | None = None,
    words: Words | None = None,
    total: int | None = None,
) -> list[Path]:
    """Simulates the scenario, checked by the golden model, and writes ``BLOCK.vcd``, ``.gtkw`` and ``.svg``.

    ``verilog`` is the design's text, if known. ``words``, the first of ``total`` ones, replace those of the scenario,
    as one packet.
    """
    with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        test, settings = "scenario", {}
        if words is not None:
            path = Path(folder) / "words.npy"
            np.save(path, words)
            test, settings = "tensor", {"words": str(path)}
        scene = Scene(
            name=design.block,
            module="cdma.verif.stream.codec.tests.single",
            test=test,
            view=partial(_view, design),
            diagram=partial(_diagram, design),
            settings=settings,
            total=total,
        )
        return draw(design, scene, directory, kinds, verilog=verilog)


def _view(design: CodecDesign, trace: Trace) -> View:
    form, compresses = design.config.format, not design.decompresses
    into, out = ("raw words in", "stream out") if compresses else ("stream in", "raw words out")
    titles = {"s_axis": into, "s_length": "words asked for", "m_axis": out, "m_report": "report"}
    packets = {prefix: packets_of(trace.cycles, prefix) for prefix in titles}
    raw, coded = ("s_axis", "m_axis") if compresses else ("m_axis", "s_axis")
    asked = [packet[0].data for packet in packets["s_length"]]
    places = ("to come", f"in the {design.block}", "out")
    windows, tensors = [], []
    for number, stream_beats in enumerate(packets[coded]):
        words = _passage(design, packets[raw][number] if number < len(packets[raw]) else [], form.word_bits)
        stream = _passage(design, stream_beats, form.stream_bits)
        count = asked[number] if asked else len(words.words)
        error = None if compresses else corruption(stream.words, count, form)
        windows += window_boxes(stream, words.words, count, form, error)
        title = f"packet {number + 1}: {len(words.words)} words"
        tensors.append(compressed_tensor(title, places, words, stream, form, compresses=compresses))
    speller = Speller(design, raw=True)
    rows = {
        raw: [beat_row(packets[raw], lambda beat: speller.beat(beat.data, beat.keep, beat.last))],
        coded: [Row("windows", windows)],
        "m_report": [report_row(packets["m_report"], _report, _error)],
    }
    return stream_view(trace, titles, rows, lines_of(trace, ("values",), GTKWColor.yellow), tensors)


def _passage(design: CodecDesign, beats: Sequence[Beat], bits: int) -> Passage:
    """The words of a packet, with the cycles of their beats."""
    size = design.config.data_bits // 8
    parts = [
        from_memory(beat.data.to_bytes(size, "little"), bits)[: beat.keep.bit_count() // max(1, bits // 8)]
        for beat in beats
    ]
    cycles = [np.full(len(part), beat.cycle, np.int64) for part, beat in zip(parts, beats, strict=True)]
    nothing = np.empty(0, np.dtype(f"u{max(1, bits // 8)}"))
    return Passage(np.concatenate([nothing, *parts]), np.concatenate([np.empty(0, np.int64), *cycles]))


def _report(data: int) -> str:
    """The words that came in and went out; longer words would not fit into the box of a cycle."""
    return f"{data & 0xFFFFFFFF} → {data >> 32 & 0xFFFFFFFF}"


def _error(data: int) -> str:
    return _ERRORS.get(data >> 96, "")


def _diagram(design: CodecDesign, trace: Trace) -> dict[str, object]:
    cycles = busy_cycles(trace, ("s_axis_tvalid", "s_length_tvalid"), ("m_axis_tvalid", "m_report_tvalid"))
    raw_in = not design.decompresses
    spell: dict[str, Callable[..., str]] = {
        "s_axis": Speller(design, raw=raw_in).beat,
        **({"s_length": str} if design.decompresses else {}),
        "m_axis": Speller(design, raw=not raw_in).beat,
        "m_report": _report,
    }
    text = f"{design}: H header word, L literal, . frequent value, - no word; reports have words in → out"
    return diagram(cycles, text, spell, scale=2)
