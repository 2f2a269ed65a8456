"""A short, telling run of a codec as pictures."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from vcd.gtkw import GTKWColor

from cdma.sim.codec.words import Words
from cdma.verif.simulator.stream_lanes import busy_cycles, inside_groups, number_lanes, packet_lanes
from cdma.verif.simulator.vcd_trace import Scope, Trace
from cdma.verif.simulator.waveform import KINDS, Group, Scene, draw, top_line

from .design import CodecDesign
from .speller import Speller

__all__ = ["wave"]


def wave(
    design: CodecDesign,
    directory: Path,
    kinds: Sequence[str] = KINDS,
    *,
    verilog: str | None = None,
    words: Words | None = None,
) -> list[Path]:
    """Simulates the scenario, checked by the golden model, and writes ``BLOCK.vcd``, ``.gtkw`` and ``.svg``.

    ``verilog`` is the design's text, for those who have it already. ``words`` take the place of those of the scenario,
    as one packet.
    """
    with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        module, test, settings = "scenario_tests", "scenario", {}
        if words is not None:
            path = Path(folder) / "words.npy"
            np.save(path, words)
            module, test, settings = "tensor_tests", "tensor", {"words": str(path)}
        scene = Scene(
            name=design.block,
            module=f"cdma.verif.codec.{module}",
            test=test,
            groups=partial(_groups, design),
            diagram=partial(_diagram, design),
            settings=settings,
        )
        return draw(design, scene, directory, kinds, verilog=verilog)


def _groups(design: CodecDesign, top: Scope) -> Iterator[Group]:
    """The clock, the streams, the table, and closed groups of all that is inside."""
    yield Group("", [top_line(top, signal) for signal in ("aclk", "aresetn")])
    into, out = "raw words in", "stream out"
    if design.block == "decompressor":
        into, out = "stream in", "raw words out"
    streams = [
        (into, "s_axis", GTKWColor.green),
        ("words asked for", "s_length", GTKWColor.yellow),
        (out, "m_axis", GTKWColor.blue),
        ("report", "m_report", GTKWColor.orange),
    ]
    for title, prefix, color in streams:
        names = (f"{prefix}_{field}" for field in ("tvalid", "tready", "tlast", "tkeep", "tdata"))
        lines = [
            top_line(top, name, color, "dec" if name == "s_length_tdata" else "hex")
            for name in names
            if name in top.signals
        ]
        if lines:
            yield Group(title, lines)
    if "values" in top.signals:
        yield Group("", [top_line(top, "values", GTKWColor.yellow)])
    yield from inside_groups(top)


def _diagram(design: CodecDesign, trace: Trace) -> dict[str, object]:
    cycles = busy_cycles(trace, ("s_axis_tvalid", "s_length_tvalid"), ("m_axis_tvalid", "m_report_tvalid"))
    compresses = design.block == "compressor"
    signal: list[object] = [{"name": "aclk", "wave": "p" + "." * (len(cycles) - 1)}, {}]
    signal.append(["s_axis", *packet_lanes(cycles, "s_axis", Speller(design, raw=compresses).beat)])
    if not compresses:
        signal += [{}, ["s_length", *number_lanes(cycles, "s_length", str)]]
    signal += [{}, ["m_axis", *packet_lanes(cycles, "m_axis", Speller(design, raw=not compresses).beat)]]

    def report(data: int) -> str:
        return f"{data & 0xFFFFFFFF} in, {data >> 32 & 0xFFFFFFFF} out"

    signal += [{}, ["m_report", *number_lanes(cycles, "m_report", report)]]
    text = f"{design}: H header word, L literal, . frequent value, - no word; cycle numbers below"
    return {"signal": signal, "config": {"hscale": 2}, "head": {"text": text}, "foot": {"tick": 0}}
