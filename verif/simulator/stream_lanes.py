"""Streams of a run as pictures: the lanes of a timing diagram, and the groups of what is inside a design."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vcd.gtkw import GTKWColor

from .vcd_trace import Scope, Trace
from .waveform import Group, Line, levels

__all__ = ["Cycle", "busy_cycles", "inside_groups", "number_lanes", "packet_lanes"]

#: The values of all ports in one clock cycle.
Cycle = dict[str, int]


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


def inside_groups(top: Scope) -> Iterator[Group]:
    """A closed group for each module inside the design."""
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
