"""The rule of four-state simulations: after a reset no output is unknown (X) that anyone may look at.

The conditions are Verilog, so that the simulator evaluates them: in Python they would take longer than the bench.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cdma.hdl.verilog.ports import Port

__all__ = ["UNKNOWN", "UnknownError", "Unknowns", "channel_valid", "unknown_conditions"]

#: The name of the vector with a bit for each condition.
UNKNOWN = "four_state_unknown"


class UnknownError(AssertionError):
    """An output was X that someone may have looked at."""


def channel_valid(port: Port, ports: Sequence[Port]) -> Port | None:
    """The valid of the channel whose payload ``port`` is part of; None for everything else."""
    for valid in ports:
        channel = valid.name.removesuffix("valid")
        if (
            channel != valid.name
            and valid.direction == port.direction
            and port.name.startswith(channel)
            and port.name != valid.name
        ):
            return valid
    return None


def unknown_conditions(ports: Sequence[Port]) -> dict[str, str]:
    """For each output, the Verilog expression that is 1 while it is X and must not be.

    - A valid, a ready and whatever belongs to no channel is always known.
    - The payload of a channel is known while its valid is high, data only where keep or strobes say so.
    """
    names = {port.name: port for port in ports}
    conditions = {}
    for port in ports:
        if port.direction != "output":
            continue
        valid = channel_valid(port, ports)
        value = port.name
        if valid is not None and port.name.endswith("data"):
            channel = valid.name.removesuffix("valid")
            masks = [names[name] for part in ("keep", "strb") if (name := f"{channel}{part}") in names]
            for mask in masks:
                value = _kept(port, mask)
        condition = f"(^{value}) === 1'bx"
        conditions[port.name] = condition if valid is None else f"{valid.name} && {condition}"
    return conditions


def _kept(port: Port, mask: Port) -> str:
    """The bytes that the mask keeps. A byte that is left out is known to be 0, whatever it is."""
    bits = port.width // mask.width
    lanes = [
        f"{{{bits}{{{mask.name}{f'[{lane}]' if mask.width > 1 else ''}}}}}" for lane in range(mask.width)
    ]
    return f"({port.name} & {{{', '.join(reversed(lanes))}}})"


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
