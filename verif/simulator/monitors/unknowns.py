"""The rule of four-state simulations: after a reset no output is unknown (X) that anyone may look at.

The conditions are Verilog, so that the simulator evaluates them: in Python they would take longer than the bench.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cdma.hdl.verilog.ports import Port

from .observed import observed
from .pins import number

__all__ = ["UNKNOWN", "UnknownError", "Unknowns", "unknown_conditions", "unknowns_at"]

#: The name of the vector with a bit for each condition.
UNKNOWN = "four_state_unknown"


class UnknownError(AssertionError):
    """An output was X that someone may have looked at."""


def unknown_conditions(ports: Sequence[Port]) -> dict[str, str]:
    """For each output, the Verilog expression that is 1 while what anyone may look at of it is X."""
    conditions = {}
    for output in observed(ports):
        condition = f"(^{output.value()}) === 1'bx"
        conditions[output.port.name] = (
            condition if output.valid is None else f"{output.valid.name} && {condition}"
        )
    return conditions


@dataclass
class Unknowns:
    """Watches the outputs of one design. Whoever steps the clock calls :meth:`cycle` at each rising edge.

    ``ports``
        Are the ports of the design.
    ``cycles``
        Counts the edges that were looked at.
    """

    ports: Sequence[Port]
    cycles: int = field(default=0, init=False)
    _in_reset: bool = field(default=False, init=False)
    _was_reset: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._names = list(unknown_conditions(self.ports))

    def cycle(self, unknown: int, reset: bool) -> None:
        """Looks at one rising edge: the bits of :data:`UNKNOWN`, and whether the reset is applied."""
        # A reset makes itself known to what is clocked only by its first edge.
        begins = reset and not self._in_reset
        self._in_reset = reset
        self._was_reset |= reset
        if begins or not self._was_reset:
            return
        self.cycles += 1
        if unknown:
            found = [name for bit, name in enumerate(self._names) if unknown >> bit & 1]
            when = "in reset" if reset else "after reset"
            raise UnknownError(f"{', '.join(found)} unknown (X) {when}")


def unknowns_at(dut: Any, ports: Sequence[Port], clock: str | None = None) -> Callable[[bool], None]:
    """What looks at the outputs of a clock, or of the only one, at one of its rising edges, given whether its reset is
    applied; at nothing in two states."""
    if not hasattr(dut, UNKNOWN):
        return lambda in_reset: None
    unknowns, bits = Unknowns(ports), number(getattr(dut, UNKNOWN))
    own = sum((clock in (None, each.port.clock)) << bit for bit, each in enumerate(observed(ports)))
    return lambda in_reset: unknowns.cycle(bits() & own, in_reset)
