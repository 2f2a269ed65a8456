"""A run as one page for a browser, which needs no other file: the waveform, events, and where a tensor is.

``page.html`` gets ``page.css``, ``page.js``, ``page_panels.js`` and the data. The data are deflated, in base 64: the length
of a description, the description as JSON, the cycles of all changes, and their values.

A ``View`` is how a run is shown: groups of signals in the order in which data flow, names of values, events, tensors. The
save file for GTKWave and the page are made from it.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from vcd.gtkw import GTKWColor

from .vcd_trace import Changes, Trace

#: Signals that one looks at together; where there are more, the groups show no more than their boxes at first.
_MANY = 40

_HERE = Path(__file__).parent


def page(title: str, trace: Trace, view: View, total: int | None = None) -> str:
    """The text of the page. ``total`` are the words of the tensor of which the run has the first ones."""
    parts = {
        "title": escape(title),
        "style": (_HERE / "page.css").read_text(),
        "script": "\n".join((_HERE / name).read_text() for name in ("page.js", "page_panels.js")),
        "data": base64.b64encode(_data(title, trace, view, total)).decode(),
    }
    text = (_HERE / "page.html").read_text()
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    return text


def _data(title: str, trace: Trace, view: View, total: int | None) -> bytes:
    """Everything that the page shows. Every number has 32 bits, and a value as many bytes as its bits need."""
    kept = _Kept(trace)
    events = sorted(view.events, key=lambda event: event.cycle)
    many = sum(len(group.lines) for group in view.groups if not group.closed) > _MANY
    described = {
        "title": title,
        "cycles": len(trace.edges),
        "groups": [kept.group(group, closed=group.closed or many) for group in view.groups],
        "events": [_event(event, events) for event in events],
        "markers": list(view.markers.items()),
        "tensors": [_tensor(tensor) for tensor in view.tensors],
        "total": total,
        "signals": kept.signals(view),
    }
    described |= {
        "names": kept.names,
        "waves": [[changes.bits, len(changes.cycles)] for changes in kept.waves],
    }
    head = json.dumps(described, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 4)
    cycles = [np.diff(changes.cycles, prepend=0).astype("<u4").tobytes() for changes in kept.waves]
    values = [_values(changes) for changes in kept.waves]
    return zlib.compress(b"".join([struct.pack("<I", len(head)), head, *cycles, *values]), 9)


def _values(changes: Changes) -> bytes:
    """The values, first to last. Those of a signal of one bit take turns, so the page needs the first one alone."""
    if changes.bits == 1:
        return bytes(changes.values[:1])
    size = -(-changes.bits // 8)
    return b"".join(value.to_bytes(size, "little") for value in changes.values)


class _Kept:
    """What the signals of a page share: their changes, and what values are called."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.waves: list[Changes] = []
        self._places: dict[int, int] = {}
        self.names: list[dict[str, Any]] = []

    def signals(self, view: View) -> list[list[Any]]:
        """Every signal of the design: its path, its changes, its names; constants are left out."""
        names = names_of(self._trace, view)
        return [
            [path, self._wave(changes), self._name(names.get(f"{self._trace.top.name}.{path}"))]
            for path, changes in self._trace.signals.items()
            if not path.rpartition(".")[2].isupper()
        ]

    def group(self, group: Group, *, closed: bool) -> dict[str, Any]:
        """A group of the view, without the clock, in whose cycles the page counts."""
        return {
            "title": group.title,
            "closed": closed,
            "rows": [
                {
                    "title": row.title,
                    "boxes": [
                        [box.first, box.last, box.text, box.details, int(box.error), _whole(box.beats)]
                        for box in sorted(row.boxes, key=lambda box: (box.first, box.last))
                    ],
                }
                for row in group.rows
            ],
            "lines": [self._line(line) for line in group.lines if line.path != "aclk"],
        }

    def _line(self, line: Line) -> list[Any]:
        wave = self._wave(self._trace.signals[line.path])
        return [line.path, wave, line.color.name, line.base, self._name(line.names), line.title]

    def _wave(self, changes: Changes) -> int:
        if id(changes) not in self._places:
            self._places[id(changes)] = len(self.waves)
            self.waves.append(_tidy(changes))
        return self._places[id(changes)]

    def _name(self, names: Names | None) -> int:
        if names is None:
            return -1
        entry = {"values": dict(names.values), "errors": sorted(names.errors)}
        if entry not in self.names:
            self.names.append(entry)
        return self.names.index(entry)


def _tidy(changes: Changes) -> Changes:
    """The same without a value that follows an equal one, which a change within a cycle may leave."""
    if all(one != other for one, other in zip(changes.values, changes.values[1:], strict=False)):
        return changes
    tidy = Changes(changes.bits, changes.cycles[:1], changes.values[:1])
    for cycle, value in zip(changes.cycles, changes.values, strict=True):
        tidy.put(cycle, value)
    return tidy


def _event(event: Event, events: Sequence[Event]) -> list[Any]:
    cause = events.index(event.cause) if event.cause else -1
    return [event.cycle, event.text, int(event.error), cause, event.kind]


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {
        "title": tensor.title,
        "places": tensor.places,
        "values": list(tensor.values),
        "entered": _whole(tensor.entered),
        "left": _whole(tensor.left),
        "stored": _whole(tensor.stored),
        "sizes": tensor.sizes,
    }


def _whole(numbers: Iterable[int]) -> list[int]:
    return [int(number) for number in numbers]


@dataclass(frozen=True)
class Names:
    """The names of values of a signal, and which of them are errors."""

    values: Mapping[int, str]
    errors: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Line:
    """One signal: path from the top, bits, colour, ``hex``, ``dec`` or ``analog``, names of values, and its label if its
    own name is not enough."""

    path: str
    bits: int
    color: GTKWColor = GTKWColor.normal
    base: str = "hex"
    names: Names | None = None
    label: str = ""

    @property
    def title(self) -> str:
        return self.label or self.path.rpartition(".")[2]


@dataclass(frozen=True)
class Box:
    """An interval of cycles, both ends included: a burst, a packet, a window. ``details`` are lines of text, and ``beats``
    the cycles of its beats."""

    first: int
    last: int
    text: str
    details: str = ""
    error: bool = False
    beats: Sequence[int] = ()


@dataclass(frozen=True)
class Row:
    """Boxes of one kind under a title."""

    title: str
    boxes: Sequence[Box]


@dataclass(frozen=True)
class Group:
    """Rows of boxes and signals under a title, if any."""

    title: str
    lines: Sequence[Line]
    closed: bool = False
    rows: Sequence[Row] = ()


@dataclass(frozen=True, eq=False)
class Event:
    """An event. An error may have another event as its cause; adjacent events of one ``kind``, a plural, are folded."""

    cycle: int
    text: str
    error: bool = False
    cause: Event | None = None
    kind: str = ""


@dataclass(frozen=True)
class Tensor:
    """Where each word of a tensor is over a run.

    ``places``: The names of its places before, in and after the block.
    ``entered``, ``left``: The cycles in which each word enters, and in which the last of it, or the header without it,
        leaves; -1 for never.
    ``stored``: Which words travel as literals, where the tensor is compressed.
    ``sizes``: Its bytes where it enters, and where it leaves.
    """

    title: str
    places: tuple[str, str, str]
    values: Sequence[str]
    entered: Sequence[int]
    left: Sequence[int]
    stored: Sequence[bool]
    sizes: tuple[int, int]


@dataclass(frozen=True)
class View:
    """All that is shown of a run. ``markers`` are cycles with names."""

    groups: Sequence[Group]
    events: Sequence[Event] = ()
    markers: Mapping[str, int] = field(default_factory=dict)
    tensors: Sequence[Tensor] = ()


def state_names(trace: Trace, path: str) -> Names | None:
    """The names of a signal's values by the parameters beside it: those of ``fsm_state`` are ``FSM_STATE_…``."""
    scope, _, name = path.rpartition(".")
    prefix = f"{name.upper()}_"
    found = {value: key for key, value in trace.constants(scope).items() if key.startswith(prefix)}
    return Names({value: key.removeprefix(prefix) for value, key in found.items()}) if found else None


def names_of(trace: Trace, view: View) -> dict[str, Names]:
    """The names of values of signals, by path with the top: those of the view, and all states."""
    shown = {line.path: line.names for group in view.groups for line in group.lines if line.names}
    states = {
        path: names
        for path in trace.signals
        if path.endswith("state") and (names := state_names(trace, path))
    }
    return {f"{trace.top.name}.{path}": names for path, names in (states | shown).items()}


def lines_of(
    trace: Trace,
    paths: Iterable[str],
    color: GTKWColor = GTKWColor.normal,
    base: str = "hex",
    names: Names | None = None,
    within: str = "",
) -> list[Line]:
    """The lines of those signals that this design has; titles are without the prefix ``within``."""
    return [
        Line(
            path,
            trace.signals[path].bits,
            color,
            base,
            names or state_names(trace, path),
            path.removeprefix(within) if within else "",
        )
        for path in paths
        if path in trace.signals
    ]
