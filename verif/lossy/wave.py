"""A short, telling run of a quantiser or a dequantiser as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from vcd.gtkw import GTKWColor

from cdma.hdl.spec.quantisation import NumberType
from cdma.verif.simulator.stream_lanes import busy_cycles, inside_groups, number_lanes, packet_lanes
from cdma.verif.simulator.vcd_trace import Scope, Trace
from cdma.verif.simulator.waveform import KINDS, Group, Scene, draw, levels, top_line

from .design import StageDesign

__all__ = ["stage_wave"]

#: Words of a beat that the diagram has room for.
_ROOM = 8


def stage_wave(design: StageDesign, directory: Path, kinds: Sequence[str] = KINDS) -> list[Path]:
    """Simulates the scenario, checked by the golden model, and writes ``BLOCK.vcd``, ``.gtkw`` and ``.svg``."""
    scene = Scene(
        name=design.block,
        module="cdma.verif.lossy.scenario_tests",
        test="scenario",
        groups=partial(_groups, design),
        diagram=partial(_diagram, design),
    )
    return draw(design, scene, directory, kinds)


def _groups(design: StageDesign, top: Scope) -> Iterator[Group]:
    """The clock, the step, the streams, and closed groups of all that is inside."""
    yield Group("", [top_line(top, signal) for signal in ("aclk", "aresetn")])
    yield Group("", [top_line(top, "step", GTKWColor.yellow, "dec")])
    numbers, integers = "numbers in", "integers out"
    if not design.quantises:
        numbers, integers = "integers in", "numbers out"
    streams = [
        (numbers, "s_axis", GTKWColor.green),
        (integers, "m_axis", GTKWColor.blue),
        ("report", "m_report", GTKWColor.orange),
    ]
    for title, prefix, color in streams:
        names = (f"{prefix}_{field}" for field in ("tvalid", "tready", "tlast", "tkeep", "tdata"))
        lines = [top_line(top, name, color) for name in names if name in top.signals]
        if lines:
            yield Group(title, lines)
    yield from inside_groups(top)


def _diagram(design: StageDesign, trace: Trace) -> dict[str, object]:
    cycles = busy_cycles(trace, ("s_axis_tvalid",), ("m_axis_tvalid", "m_report_tvalid"))
    form = design.config.form
    number, integer = partial(_number, form.number_type), partial(_integer, form.bits)
    into, out = (number, integer) if design.quantises else (integer, number)
    steps = [cycle["step"] - form.number_type.bias for cycle in cycles]
    held = ["." if index and step == steps[index - 1] else "=" for index, step in enumerate(steps)]
    exponents = [f"2^{step}" for step, wave in zip(steps, held, strict=True) if wave == "="]
    signal: list[object] = [
        {"name": "aclk", "wave": levels(["p"] + ["."] * (len(cycles) - 1))},
        {"name": "step", "wave": "".join(held), "data": exponents},
        {},
        ["s_axis", *packet_lanes(cycles, "s_axis", partial(_spell, design.bits_in, into))],
        {},
        ["m_axis", *packet_lanes(cycles, "m_axis", partial(_spell, design.bits_out, out))],
    ]
    if design.quantises:

        def report(data: int) -> str:
            return f"{data & 0xFFFFFFFF} out of range, first {data >> 32}"

        signal += [{}, ["m_report", *number_lanes(cycles, "m_report", report)]]
    text = f"{design}; cycle numbers below"
    return {"signal": signal, "config": {"hscale": 5}, "head": {"text": text}, "foot": {"tick": 0}}


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
