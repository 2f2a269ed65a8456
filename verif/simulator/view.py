"""How a run is shown, whoever shows it: groups of signals in the order in which data flow, names of values, events, tensors.

The save file for GTKWave, the commands for Surfer and the page are all made from this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vcd.gtkw import GTKWColor

from .vcd_trace import Trace

__all__ = [
    "Box",
    "Event",
    "Group",
    "Line",
    "Names",
    "Row",
    "Tensor",
    "View",
    "lines_of",
    "names_of",
    "state_names",
]


@dataclass(frozen=True)
class Names:
    """What the values of a signal are called, and which of them are errors."""

    values: Mapping[int, str]
    errors: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Line:
    """One signal: path from the top, bits, colour, ``hex``, ``dec`` or ``analog``, what its values are called, and its label
    if its own name does not say enough."""

    path: str
    bits: int
    color: GTKWColor = GTKWColor.normal
    base: str = "hex"
    names: Names | None = None
    label: str = ""

    @property
    def title(self) -> str:
        """What it is called where it is shown."""
        return self.label or self.path.rpartition(".")[2]


@dataclass(frozen=True)
class Box:
    """Something that lasts from one cycle to another, both of them with it: a burst, a packet, a window. ``details`` are
    lines of text, and ``beats`` the cycles in which its beats pass."""

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
    """Rows of boxes and signals under a title; without a title they stand by themselves."""

    title: str
    lines: Sequence[Line]
    closed: bool = False
    rows: Sequence[Row] = ()


@dataclass(frozen=True, eq=False)
class Event:
    """Something that happened. An error may have another event as its cause; events in a row of one ``kind``, which is
    said in the plural, are folded."""

    cycle: int
    text: str
    error: bool = False
    cause: Event | None = None
    kind: str = ""


@dataclass(frozen=True)
class Tensor:
    """Where each word of a tensor is over a run.

    ``places``
        Are where a word is before it enters the block, while it is in it, and afterwards.
    ``entered``, ``left``
        Have the cycle in which each word enters and that in which the last of it, or the header that says that it is not
        stored, leaves; -1 for never.
    ``stored``
        Says which words travel as literals, where the tensor is compressed.
    ``sizes``
        Are its bytes where it enters, and where it leaves.
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
    """What the values of a signal are called by the parameters beside it: those of ``fsm_state`` are ``FSM_STATE_…``."""
    scope, _, name = path.rpartition(".")
    prefix = f"{name.upper()}_"
    found = {value: key for key, value in trace.constants(scope).items() if key.startswith(prefix)}
    return Names({value: key.removeprefix(prefix) for value, key in found.items()}) if found else None


def names_of(trace: Trace, view: View) -> dict[str, Names]:
    """What the values of signals are called, by their paths with the top's name: those of the view, and all states."""
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
    """The lines of those signals that this design has. What their paths begin with, ``within``, is not in their titles."""
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
