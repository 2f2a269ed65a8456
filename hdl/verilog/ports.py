"""Ports of modules as plain data: what a shell, an instantiation template and a bench are made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["CLOCK_AND_RESET", "SCAN_ENABLE", "Direction", "Port", "axis_ports", "clocked", "handshaken"]

Direction = Literal["input", "output"]


@dataclass(frozen=True)
class Port:
    """A port of a module.

    ``name``
        Its name in the Verilog.
    ``direction``
        ``input`` or ``output``.
    ``width``
        Its bits.
    ``clock``
        The port that clocks it.
    """

    name: str
    direction: Direction
    width: int = 1
    clock: str = "aclk"

    @property
    def times(self) -> bool:
        """Whether it is a clock or a reset."""
        return self.name in (self.clock, self.clock.replace("aclk", "aresetn"))

    @property
    def range(self) -> str:
        """What a declaration has before the name: the range of a vector, or nothing."""
        return "" if self.width == 1 else f"[{self.width - 1}:0] "


#: A clock, and a synchronous, active-low reset: the first ports of every module.
CLOCK_AND_RESET = (Port("aclk", "input"), Port("aresetn", "input"))

#: Opens all clock gates for test.
SCAN_ENABLE = Port("scan_enable", "input")


def clocked(ports: Iterable[Port], clock: str) -> tuple[Port, ...]:
    """The same ports with another clock."""
    return tuple(replace(port, clock=clock) for port in ports)


def handshaken(name: str, direction: Direction, fields: dict[str, int]) -> tuple[Port, ...]:
    """The fields of a stream that moves in ``direction``, then its ``valid`` and, the other way, its ``ready``.

    ``name`` is what every port's name begins with, ``fields`` has the width of each field by its name.
    """
    back: Direction = "output" if direction == "input" else "input"
    return (
        *(Port(f"{name}{field}", direction, width) for field, width in fields.items()),
        Port(f"{name}valid", direction),
        Port(f"{name}ready", back),
    )


def axis_ports(name: str, direction: Direction, **fields: int) -> tuple[Port, ...]:
    """The ports of an AXI-Stream called ``name`` whose data moves in ``direction``.

    ``fields`` has the widths of ``data``, ``keep``, ``last`` and so on.
    """
    return handshaken(f"{name}_t", direction, fields)
