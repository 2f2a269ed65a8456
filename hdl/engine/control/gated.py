"""The clock of registers and rings, where it stops while these rest."""

from amaranth.hdl import Value
from amaranth.lib import wiring

from .registers import RegisterBlock

__all__ = ["CONTROL", "accessed", "settling_cycles"]

#: The clock domain of registers, rings and windows, and in an engine with one queue pair of the arbiters.
CONTROL = "control"

#: Registers, rings and arbiters have done within so many cycles what follows from the last that they were given.
_SETTLING_CYCLES = 64


def settling_cycles(registers: RegisterBlock) -> int:
    """Cycles for which that clock runs on: after a reset the registers get their values one by one."""
    return len(registers.registers.kept) + _SETTLING_CYCLES


def accessed(bus: wiring.PureInterface) -> list[Value]:
    """What is high while registers are accessed."""
    return [getattr(bus, f"{channel}valid") for channel in ("aw", "w", "b", "ar", "r")]
