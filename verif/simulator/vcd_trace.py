"""Reads the VCD of a simulation: the hierarchy, and the signals asked for as every clock edge sees them.

It reads what Verilator writes; pyvcd's own reader refuses the scope that Verilator puts the top's ports in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Scope", "Trace", "read_trace"]


@dataclass
class Scope:
    """One instance: its signals with their widths, and the instances in it."""

    name: str
    signals: dict[str, int] = field(default_factory=dict)
    scopes: list[Scope] = field(default_factory=list)


@dataclass(frozen=True)
class Trace:
    """The top instance, and per clock cycle the values of the signals asked for just before the edge."""

    top: Scope
    cycles: Sequence[dict[str, int]]


def read_trace(path: Path, top: str, ports: Sequence[str], clock: str = "aclk") -> Trace:
    """Reads the VCD that a simulation of the module ``top`` wrote.

    ``ports`` are ports of the top, and signals inside it, as ``instance.instance.signal``.
    """
    stack: list[Scope] = [Scope("")]
    watched: dict[str, list[str]] = {}
    found: Scope | None = None
    #: The instances from the top to the one that is read.
    depth = 0
    values = dict.fromkeys(ports, 0)
    before = dict(values)
    cycles: list[dict[str, int]] = []
    rising = False
    with path.open() as file:
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
                    inside = found is not None and stack[depth - 1 : depth] == [found]
                    full = ".".join([*(scope.name for scope in stack[depth:]), name])
                    if inside and full in values:
                        watched.setdefault(code, []).append(full)
                case [time] if time.startswith("#"):
                    # The changes of an instant follow its time; the clock's edge sees the values before them.
                    if rising:
                        cycles.append(before)
                        rising = False
                    before = dict(values)
                case [first, *rest] if first[0] in "01bB":
                    code, bits = (rest[0], first[1:]) if rest else (first[1:], first[0])
                    for name in watched.get(code, ()):
                        value = int(bits, 2)
                        rising |= name == clock and value == 1
                        values[name] = value
    if rising:
        cycles.append(before)
    if found is None:
        raise ValueError(f"{path} has no instance of {top}")
    return Trace(found, cycles)
