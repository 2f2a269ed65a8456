"""Timing diagrams: a WaveDrom source becomes the text of an SVG picture.

Reads the VCD of a simulation: the hierarchy, and every signal as the clock's edges see it.

It reads what Verilator writes; pyvcd's own reader refuses the scope that Verilator puts the top's ports in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

import wavedrom


def timing_diagram(source: Mapping[str, object]) -> str:
    """Draws a WaveDrom ``source`` on a white background, so that its black lines are visible in a dark theme."""
    drawing = wavedrom.render(json.dumps(source))
    background = drawing.rect(size=(drawing["width"], drawing["height"]), fill="#fff")
    # The first element holds the definitions; what follows is painted in order, the background first.
    drawing.elements.insert(1, background)
    return str(drawing.tostring())


@dataclass
class Scope:
    """One instance: its signals with their widths, and the instances in it."""

    name: str
    signals: dict[str, int] = field(default_factory=dict)
    scopes: list[Scope] = field(default_factory=list)


@dataclass(frozen=True)
class Changes:
    """The values of a signal, each from its cycle on; the first one is from cycle 0 on."""

    bits: int
    cycles: list[int] = field(default_factory=lambda: [0])
    values: list[int] = field(default_factory=lambda: [0])

    def put(self, cycle: int, value: int) -> None:
        """Sets the value from a cycle on, which must not precede the last; the last call of a cycle counts."""
        if self.cycles[-1] == cycle:
            self.values[-1] = value
        elif self.values[-1] != value:
            self.cycles.append(cycle)
            self.values.append(value)


@dataclass(frozen=True)
class Trace:
    """A run, cycle by cycle: values are those just before the clock's edge. With several clocks each edge of one of them
    is a cycle.

    ``cycles``: By cycle the values of the requested signals. Where their own clock has no edge, nothing is ``ready``.
    ``signals``: Every signal by its path from the top, without the top's name. Signals that are always equal share
        their changes.
    ``edges``: The time of each cycle's edge, in the dump's unit, in which the run ends at ``end``.
    """

    top: Scope
    cycles: Sequence[dict[str, int]]
    signals: Mapping[str, Changes]
    edges: Sequence[int]
    end: int

    def constants(self, scope: str) -> dict[str, int]:
        """The parameters of the instance at a path: names in capitals, each with its value."""
        inside = f"{scope}." if scope else ""
        names = (name for name in self.signals if name.startswith(inside))
        return {
            name[len(inside) :]: self.signals[name].values[-1]
            for name in names
            if name[len(inside) :].isupper() and "." not in name[len(inside) :]
        }


def read_trace(
    path: Path, top: str, ports: Sequence[str], clocks: Mapping[str, str] = MappingProxyType({})
) -> Trace:
    """Reads the VCD of the module ``top``: ``ports``, and signals inside as ``instance.instance.signal``. ``clocks`` has
    the clock of each that is not ``aclk``."""
    with path.open() as file:
        found, signals, codes = _definitions(file, top)
        if found is None:
            raise ValueError(f"{path} has no instance of {top}")
        edges: list[int] = []
        used = {clocks.get(port, "aclk") for port in ports} or {"aclk"}
        code_of = {id(changes): code for code, changes in codes.items()}
        rising = {clock: code_of[id(signals[clock])] for clock in used}
        #: In each cycle, the clocks that have no edge.
        idle: list[set[str]] = []
        time = 0
        for time, pending in _instants(file):
            # The clock's edge sees the values before the changes of its instant.
            resting = {clock for clock, code in rising.items() if pending.get(code) != 1}
            if resting != used:
                edges.append(time)
                idle.append(resting)
            for code, value in pending.items():
                codes[code].put(len(edges), value)
    rows = _rows(signals, ports, len(edges))
    for row, resting in zip(rows, idle, strict=True):
        if resting:
            row |= {
                port: 0 for port in ports if port.endswith("ready") and clocks.get(port, "aclk") in resting
            }
    return Trace(found, rows, signals, edges, time)


def _definitions(file: TextIO, top: str) -> tuple[Scope | None, dict[str, Changes], dict[str, Changes]]:
    """The top instance, its signals by path, and the changes of all signals by their code in the file."""
    stack: list[Scope] = [Scope("")]
    found: Scope | None = None
    signals: dict[str, Changes] = {}
    codes: dict[str, Changes] = {}
    #: The instances from the top to the one that is read.
    depth = 0
    for line in file:
        match line.split():
            case ["$scope", _, name, "$end"]:
                scope = Scope(name)
                stack[-1].scopes.append(scope)
                stack.append(scope)
                if found is None and name == top:
                    found, depth = scope, len(stack)
            case ["$upscope", "$end"]:
                stack.pop()
            case ["$var", _, width, code, name, *_]:
                stack[-1].signals[name] = int(width)
                changes = codes.setdefault(code, Changes(int(width)))
                if found is not None and stack[depth - 1 : depth] == [found]:
                    signals[".".join([*(scope.name for scope in stack[depth:]), name])] = changes
            case ["$enddefinitions", *_]:
                break
    return found, signals, codes


def _instants(file: TextIO) -> Iterator[tuple[int, dict[str, int]]]:
    """The changes of each instant, by the codes of signals."""
    time = 0
    pending: dict[str, int] = {}
    for line in file:
        first = line[0]
        if first == "#":
            yield time, pending
            time, pending = int(line[1:]), {}
        elif first in "01":
            pending[line[1:].rstrip()] = int(first)
        elif first in "bB":
            bits, code = line[1:].split()
            pending[code] = int(bits, 2)
    yield time, pending


def _rows(signals: Mapping[str, Changes], names: Sequence[str], count: int) -> list[dict[str, int]]:
    """The values of the signals with these names, cycle by cycle."""
    news: list[dict[str, int]] = [{} for _ in range(count + 1)]
    for name in names:
        if name in signals:
            for cycle, value in zip(signals[name].cycles, signals[name].values, strict=True):
                news[cycle][name] = value
    values = dict.fromkeys(names, 0)
    rows = []
    for new in news[:count]:
        values.update(new)
        rows.append(dict(values))
    return rows
