"""A short, telling run of a codec as pictures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from vcd.gtkw import GTKWColor

from cdma.sim.codec.words import Words
from cdma.verif.simulator.stream_lanes import busy_cycles
from cdma.verif.simulator.vcd_trace import Scope, Trace
from cdma.verif.simulator.waveform import KINDS, Group, Scene, draw, top_line
from cdma.verif.stream.wave import diagram, groups

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
        test, settings = "scenario", {}
        if words is not None:
            path = Path(folder) / "words.npy"
            np.save(path, words)
            test, settings = "tensor", {"words": str(path)}
        scene = Scene(
            name=design.block,
            module="cdma.verif.stream.codec.tests.single",
            test=test,
            groups=partial(_groups, design),
            diagram=partial(_diagram, design),
            settings=settings,
        )
        return draw(design, scene, directory, kinds, verilog=verilog)


def _groups(design: CodecDesign, top: Scope) -> Iterator[Group]:
    into, out = ("stream in", "raw words out") if design.decompresses else ("raw words in", "stream out")
    titles = {"s_axis": into, "s_length": "words asked for", "m_axis": out, "m_report": "report"}
    table = [Group("", [top_line(top, "values", GTKWColor.yellow)])] if "values" in top.signals else []
    return groups(top, titles, after=table)


def _diagram(design: CodecDesign, trace: Trace) -> dict[str, object]:
    cycles = busy_cycles(trace, ("s_axis_tvalid", "s_length_tvalid"), ("m_axis_tvalid", "m_report_tvalid"))
    raw_in = not design.decompresses
    spell: dict[str, Callable[..., str]] = {
        "s_axis": Speller(design, raw=raw_in).beat,
        **({"s_length": str} if design.decompresses else {}),
        "m_axis": Speller(design, raw=not raw_in).beat,
        # Longer words would not fit into the box of a cycle.
        "m_report": lambda data: f"{data & 0xFFFFFFFF} → {data >> 32 & 0xFFFFFFFF}",
    }
    text = f"{design}: H header word, L literal, . frequent value, - no word; reports have words in → out"
    return diagram(cycles, text, spell, scale=2)
