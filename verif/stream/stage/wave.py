"""A short, telling run of a quantiser or a dequantiser as pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from vcd.gtkw import GTKWColor

from cdma.hdl.spec.quantisation import NumberType
from cdma.verif.simulator.stream_lanes import busy_cycles
from cdma.verif.simulator.vcd_trace import Scope, Trace
from cdma.verif.simulator.waveform import KINDS, Group, Scene, draw, top_line
from cdma.verif.stream.wave import diagram, groups

from .design import StageDesign

__all__ = ["stage_wave"]

#: Words of a beat that the diagram has room for.
_ROOM = 8


def stage_wave(design: StageDesign, directory: Path, kinds: Sequence[str] = KINDS) -> list[Path]:
    """Simulates the scenario, checked by the golden model, and writes ``BLOCK.vcd``, ``.gtkw`` and ``.svg``."""
    scene = Scene(
        name=design.block,
        module="cdma.verif.stream.stage.tests.single",
        test="scenario",
        groups=partial(_groups, design),
        diagram=partial(_diagram, design),
    )
    return draw(design, scene, directory, kinds)


def _groups(design: StageDesign, top: Scope) -> Iterator[Group]:
    into, out = ("numbers in", "integers out") if design.quantises else ("integers in", "numbers out")
    step = Group("", [top_line(top, "step", GTKWColor.yellow, "dec")])
    return groups(top, {"s_axis": into, "m_axis": out, "m_report": "report"}, step)


def _diagram(design: StageDesign, trace: Trace) -> dict[str, object]:
    cycles = busy_cycles(trace, ("s_axis_tvalid",), ("m_axis_tvalid", "m_report_tvalid"))
    form = design.config.form
    number, integer = partial(_number, form.number_type), partial(_integer, form.bits)
    into, out = (number, integer) if design.quantises else (integer, number)
    steps = [cycle["step"] - form.number_type.bias for cycle in cycles]
    held = ["." if index and step == steps[index - 1] else "=" for index, step in enumerate(steps)]
    exponents = [f"2^{step}" for step, wave in zip(steps, held, strict=True) if wave == "="]
    spell: dict[str, Callable[..., str]] = {
        "s_axis": partial(_spell, design.bits_in, into),
        "m_axis": partial(_spell, design.bits_out, out),
    }
    if design.quantises:
        spell["m_report"] = lambda data: f"{data & 0xFFFFFFFF} out of range, first {data >> 32}"
    lane = {"name": "step", "wave": "".join(held), "data": exponents}
    return diagram(cycles, str(design), spell, lane, scale=5)


def _spell(bits: int, spell: object, data: int, keep: int, last: bool) -> str:
    """The words of a beat that are kept, from lane 0 on."""
    assert callable(spell)
    count = keep.bit_count() // max(1, bits // 8)
    words = [spell(data >> (bits * lane) & ((1 << bits) - 1)) for lane in range(count)]
    return " ".join([*words[:_ROOM], *(["…"] if count > _ROOM else [])])


def _integer(bits: int, word: int) -> str:
    return str(word - (word >> (bits - 1) << bits))


def _number(number: NumberType, word: int) -> str:
    """A number in few characters."""
    if number.exponent_bits == 5:
        value = float(np.array(word, np.uint16).view(np.float16))
    else:
        value = float(np.array(word << (32 - number.bits), np.uint32).view(np.float32))
    return f"{value:.3g}".replace("0.", ".")
