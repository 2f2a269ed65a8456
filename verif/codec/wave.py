"""A short, telling run of a codec as pictures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from vcd.gtkw import GTKWColor

from cdma.sim.codec.words import Words
from cdma.verif.simulator.vcd_trace import Scope, Trace
from cdma.verif.simulator.waveform import KINDS, Group, Line, Scene, draw, levels, top_line

from .design import CodecDesign
from .speller import Speller

__all__ = ["wave"]

Cycle = dict[str, int]


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
    for path, scope in _inside(top, top.name):
        lines = [
            Line(f"{path}.{signal}", bits, GTKWColor.violet)
            for signal, bits in sorted(scope.signals.items())
            if signal not in ("aclk", "rst")
        ]
        yield Group(f"inside {path.removeprefix(top.name + '.')}", lines, closed=True)


def _inside(scope: Scope, path: str) -> Iterator[tuple[str, Scope]]:
    for inner in scope.scopes:
        yield f"{path}.{inner.name}", inner
        yield from _inside(inner, f"{path}.{inner.name}")


def _diagram(design: CodecDesign, trace: Trace) -> dict[str, object]:
    starts = ("s_axis_tvalid", "s_length_tvalid")
    ends = ("m_axis_tvalid", "m_report_tvalid")
    first = next(index for index, cycle in enumerate(trace.cycles) if any(cycle.get(name) for name in starts))
    final = max(index for index, cycle in enumerate(trace.cycles) if any(cycle[name] for name in ends))
    cycles = trace.cycles[first - 2 : final + 2]
    compresses = design.block == "compressor"
    signal: list[object] = [{"name": "aclk", "wave": "p" + "." * (len(cycles) - 1)}, {}]
    signal.append(["s_axis", *_stream(cycles, "s_axis", Speller(design, raw=compresses))])
    if not compresses:
        signal += [{}, ["s_length", *_numbers(cycles, "s_length", str)]]
    signal += [{}, ["m_axis", *_stream(cycles, "m_axis", Speller(design, raw=not compresses))]]

    def report(data: int) -> str:
        return f"{data & 0xFFFFFFFF} in, {data >> 32 & 0xFFFFFFFF} out"

    signal += [{}, ["m_report", *_numbers(cycles, "m_report", report)]]
    text = f"{design}: H header word, L literal, . frequent value, - no word; cycle numbers below"
    return {"signal": signal, "config": {"hscale": 2}, "head": {"text": text}, "foot": {"tick": 0}}


def _handshake(cycles: Sequence[Cycle], prefix: str, fields: tuple[str, ...]) -> list[dict[str, str]]:
    return [
        {"name": field, "wave": levels([cycle[f"{prefix}_{field}"] for cycle in cycles])} for field in fields
    ]


def _payload(cycles: Sequence[Cycle], prefix: str, label: Callable[[Cycle], str]) -> dict[str, object]:
    """One lane of the diagram with a box per transfer, which lasts as long as it waits for ready."""
    wave, labels, waiting = "", [], False
    for cycle in cycles:
        if not cycle[f"{prefix}_tvalid"]:
            wave += "." if wave and wave.rstrip(".")[-1:] == "x" else "x"
            waiting = False
            continue
        if waiting:
            wave += "."
        else:
            wave += "="
            labels.append(label(cycle))
        waiting = not cycle[f"{prefix}_tready"]
    return {"name": "tdata", "wave": wave, "data": labels}


def _stream(cycles: Sequence[Cycle], prefix: str, speller: Speller) -> list[object]:
    def label(cycle: Cycle) -> str:
        data, keep, last = (cycle[f"{prefix}_{field}"] for field in ("tdata", "tkeep", "tlast"))
        return speller.beat(data, keep, bool(last))

    handshake = _handshake(cycles, prefix, ("tvalid", "tready"))
    return [*handshake, _payload(cycles, prefix, label), *_last(cycles, prefix)]


def _last(cycles: Sequence[Cycle], prefix: str) -> list[dict[str, str]]:
    last = [cycle[f"{prefix}_tlast"] & cycle[f"{prefix}_tvalid"] for cycle in cycles]
    return [{"name": "tlast", "wave": levels(last)}]


def _numbers(cycles: Sequence[Cycle], prefix: str, spell: Callable[[int], str]) -> list[object]:
    def label(cycle: Cycle) -> str:
        return spell(cycle[f"{prefix}_tdata"])

    return [*_handshake(cycles, prefix, ("tvalid", "tready")), _payload(cycles, prefix, label)]
