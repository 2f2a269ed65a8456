"""Cycles and latency of a quantiser or a dequantiser by packet length, under Verilator, and a short run as pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from vcd.gtkw import GTKWColor

from cdma.hdl.spec.stage import NumberType
from cdma.verif.simulator.page import Row, View, lines_of
from cdma.verif.simulator.passage import Beat, Passage, beat_row, busy_cycles, copied_tensor, packets_of
from cdma.verif.simulator.simulate import measure
from cdma.verif.simulator.vcd_trace import Trace
from cdma.verif.simulator.waveform import KINDS, Scene, draw
from cdma.verif.stream.wave import diagram, report_row, stream_view

from .design import StageDesign

#: Beats of the packets that are measured, and how many packets of each length go in back to back.
BEATS = (1, 2, 4, 16, 64, 256)
PACKETS = 8


def measure_stage(
    design: StageDesign, seed: int = 1, report: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """One row for each length.

    ``cycles`` counts from the first beat out to the last one, ``bound`` is what the contract allows, ``latency`` is
    from the first beat in to the first beat out, ``bytes_per_cycle`` is of numbers. ``report`` is called with the
    number of new rows.
    """
    config = design.config
    shape = {
        "block": design.block,
        "number": config.form.number,
        "bits": config.form.bits,
        "lanes": config.lanes,
    }
    # A quantiser takes a cycle more for each packet, for its report.
    more = int(design.quantises)
    rows = measure(design, "cdma.verif.stream.stage.tests.single", report=report, seed=seed)
    return [
        {
            **shape,
            **row,
            "bound": PACKETS * row["beats"] + (PACKETS - 1) * more,
            "bytes_per_cycle": round(row["beats_per_cycle"] * config.number_bytes, 2),
        }
        for row in rows
    ]


#: Words of a beat that the diagram has room for.
_ROOM = 8


def stage_wave(design: StageDesign, directory: Path, kinds: Sequence[str] = KINDS) -> list[Path]:
    """Simulates the scenario, checked by the golden model, and writes ``BLOCK.vcd``, ``.gtkw`` and ``.svg``."""
    scene = Scene(
        name=design.block,
        module="cdma.verif.stream.stage.tests.single",
        test="scenario",
        view=partial(_view, design),
        diagram=partial(_diagram, design),
    )
    return draw(design, scene, directory, kinds)


class _Side:
    """One side of the stage: the bits of its words, and how one is spelt."""

    def __init__(self, design: StageDesign, prefix: str) -> None:
        form = design.config.form
        numbers = design.quantises == (prefix == "s_axis")
        self.title = ("numbers" if numbers else "integers") + (" in" if prefix == "s_axis" else " out")
        self._bits = design.bits_in if prefix == "s_axis" else design.bits_out
        self._number = form.number_type if numbers else None

    def words(self, data: int, keep: int) -> list[int]:
        count = keep.bit_count() // max(1, self._bits // 8)
        return [data >> (self._bits * lane) & ((1 << self._bits) - 1) for lane in range(count)]

    def spell(self, data: int, keep: int, last: bool = False) -> str:
        """The words of a beat, as far as there is room."""
        words = [self._spelt(word) for word in self.words(data, keep)]
        return " ".join([*words[:_ROOM], *(["…"] if len(words) > _ROOM else [])])

    def _spelt(self, word: int) -> str:
        sign = word >> (self._bits - 1)
        return _number(self._number, word) if self._number else str(word - (sign << self._bits))

    def row(self, packets: Sequence[Sequence[Beat]]) -> Row:
        return beat_row(packets, lambda beat: self.spell(beat.data, beat.keep))

    def passage(self, beats: Sequence[Beat]) -> Passage:
        pairs = [(word, beat.cycle) for beat in beats for word in self.words(beat.data, beat.keep)]
        words, cycles = zip(*pairs, strict=True) if pairs else ((), ())
        return Passage(np.array(words, np.int64), np.array(cycles, np.int64))


def _view(design: StageDesign, trace: Trace) -> View:
    sides = {prefix: _Side(design, prefix) for prefix in ("s_axis", "m_axis")}
    packets = {prefix: packets_of(trace.cycles, prefix) for prefix in (*sides, "m_report")}
    rows = {prefix: [side.row(packets[prefix])] for prefix, side in sides.items()}
    rows["m_report"] = [report_row(packets["m_report"], _report, lambda data: "")]
    titles = {prefix: side.title for prefix, side in sides.items()} | {"m_report": "report"}
    tensors = []
    for number, (before, after) in enumerate(zip(packets["s_axis"], packets["m_axis"], strict=False), 1):
        words, left = sides["s_axis"].passage(before), sides["m_axis"].passage(after).cycles.tolist()
        title, places = f"packet {number}: {len(left)} words", ("to come", f"in the {design.block}", "out")
        tensors.append(copied_tensor(title, places, words, left, (design.bits_in, design.bits_out)))
    return stream_view(trace, titles, rows, lines_of(trace, ("step",), GTKWColor.yellow, "dec"), tensors)


def _diagram(design: StageDesign, trace: Trace) -> dict[str, object]:
    cycles = busy_cycles(trace, ("s_axis_tvalid",), ("m_axis_tvalid", "m_report_tvalid"))
    steps = [cycle["step"] - design.config.form.number_type.bias for cycle in cycles]
    held = ["." if index and step == steps[index - 1] else "=" for index, step in enumerate(steps)]
    exponents = [f"2^{step}" for step, wave in zip(steps, held, strict=True) if wave == "="]
    spell: dict[str, Callable[..., str]] = {
        prefix: _Side(design, prefix).spell for prefix in ("s_axis", "m_axis")
    }
    if design.quantises:
        spell["m_report"] = _report
    lane = {"name": "step", "wave": "".join(held), "data": exponents}
    return diagram(cycles, str(design), spell, lane, scale=5)


def _report(data: int) -> str:
    return f"{data & 0xFFFFFFFF} out of range, first {data >> 32}"


def _number(number: NumberType, word: int) -> str:
    """A number in few characters."""
    if number.exponent_bits == 5:
        value = float(np.array(word, np.uint16).view(np.float16))
    else:
        value = float(np.array(word << (32 - number.bits), np.uint32).view(np.float32))
    return f"{value:.3g}".replace("0.", ".")
