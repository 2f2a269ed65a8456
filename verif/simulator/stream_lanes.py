"""Streams of a run as pictures: the lanes of a timing diagram, and the groups of what is inside a design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from vcd.gtkw import GTKWColor

from .page import Box, Group, Line, Row, lines_of
from .vcd_trace import Trace
from .waveform import levels

__all__ = [
    "Beat",
    "Cycle",
    "beat_row",
    "busy_cycles",
    "inside_groups",
    "level_lines",
    "number_lanes",
    "packet_lanes",
    "packet_row",
    "packets_of",
]

#: The values of all ports in one clock cycle.
Cycle = dict[str, int]

#: What signals are called that say how full something is, and how much may still be sent. What a packer has placed and not
#: put out is ``placed_remaining``.
_LEVELS, _CREDITS = ("level", "held", "free", "in_flight", "placed_remaining"), ("credit",)


def busy_cycles(trace: Trace, sources: Sequence[str], sinks: Sequence[str]) -> list[Cycle]:
    """The cycles from just before the first valid of a source to just after the last one of a sink."""
    first = next(
        index for index, cycle in enumerate(trace.cycles) if any(cycle.get(name) for name in sources)
    )
    final = max(index for index, cycle in enumerate(trace.cycles) if any(cycle.get(name) for name in sinks))
    return list(trace.cycles[first - 2 : final + 2])


def packet_lanes(
    cycles: Sequence[Cycle], prefix: str, spell: Callable[[int, int, bool], str]
) -> list[object]:
    """The lanes of a stream of packets; ``spell`` gets data, keep and last of a beat."""

    def label(cycle: Cycle) -> str:
        data, keep, last = (cycle[f"{prefix}_{field}"] for field in ("tdata", "tkeep", "tlast"))
        return spell(data, keep, bool(last))

    ends = [cycle[f"{prefix}_tlast"] & cycle[f"{prefix}_tvalid"] for cycle in cycles]
    return [
        *_handshake(cycles, prefix),
        _payload(cycles, prefix, label),
        {"name": "tlast", "wave": levels(ends)},
    ]


def number_lanes(cycles: Sequence[Cycle], prefix: str, spell: Callable[[int], str]) -> list[object]:
    """The lanes of a stream of numbers, without packets."""

    def label(cycle: Cycle) -> str:
        return spell(cycle[f"{prefix}_tdata"])

    return [*_handshake(cycles, prefix), _payload(cycles, prefix, label)]


def inside_groups(trace: Trace) -> Iterator[Group]:
    """A closed group for each module inside the design."""
    scopes: dict[str, list[str]] = {}
    for path in trace.signals:
        scope, _, name = path.rpartition(".")
        if scope and name not in ("aclk", "clk", "rst") and not name.isupper():
            scopes.setdefault(scope, []).append(path)
    for scope, paths in sorted(scopes.items()):
        yield Group(f"inside {scope}", lines_of(trace, sorted(paths), GTKWColor.violet), closed=True)


def level_lines(trace: Trace, scope: str) -> list[Line]:
    """What fills and empties inside an instance: levels as analogue traces, credits as numbers, and states by name."""
    inside = [path for path in trace.signals if path.startswith(f"{scope}.")]
    states = [path for path in inside if path.endswith(".fsm_state")]
    levels = [path for path in inside if path.rpartition(".")[2] in _LEVELS and trace.signals[path].bits > 1]
    credits = [path for path in inside if path.rpartition(".")[2] in _CREDITS]
    return [
        *lines_of(trace, states, GTKWColor.orange, within=f"{scope}."),
        *lines_of(trace, levels, GTKWColor.violet, "analog", within=f"{scope}."),
        *lines_of(trace, credits, GTKWColor.violet, "dec", within=f"{scope}."),
    ]


def _handshake(cycles: Sequence[Cycle], prefix: str) -> list[dict[str, str]]:
    return [
        {"name": field, "wave": levels([cycle[f"{prefix}_{field}"] for cycle in cycles])}
        for field in ("tvalid", "tready")
    ]


def _payload(cycles: Sequence[Cycle], prefix: str, label: Callable[[Cycle], str]) -> dict[str, object]:
    """One lane with a box per transfer, which lasts as long as it waits for ready."""
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


@dataclass(frozen=True)
class Beat:
    """One transfer of a stream: from the cycle in which it is offered to the one in which it is taken."""

    first: int
    cycle: int
    data: int
    keep: int
    last: bool


def packets_of(cycles: Sequence[Cycle], prefix: str) -> list[list[Beat]]:
    """The beats of each packet of a stream; those of the last one may be too few. A stream without packets has one each."""
    packets: list[list[Beat]] = [[]]
    offered = None
    for number, cycle in enumerate(cycles):
        if not cycle.get(f"{prefix}_tvalid"):
            continue
        offered = number if offered is None else offered
        if cycle[f"{prefix}_tready"]:
            last = bool(cycle.get(f"{prefix}_tlast", 1))
            beat = Beat(offered, number, cycle[f"{prefix}_tdata"], cycle.get(f"{prefix}_tkeep", 0), last)
            packets[-1].append(beat)
            offered = None
            if last:
                packets.append([])
    return [packet for packet in packets if packet]


def packet_row(packets: Sequence[Sequence[Beat]], title: str = "packets") -> Row:
    """A box for each packet."""
    return Row(
        title,
        [
            Box(
                packet[0].first,
                packet[-1].cycle,
                f"packet {number}: {len(packet)} beats",
                beats=[beat.cycle for beat in packet],
            )
            for number, packet in enumerate(packets, 1)
        ],
    )


def beat_row(packets: Sequence[Sequence[Beat]], spell: Callable[[Beat], str], title: str = "beats") -> Row:
    """A box for each beat, from the cycle in which it is offered."""
    return Row(title, [Box(beat.first, beat.cycle, spell(beat)) for packet in packets for beat in packet])
