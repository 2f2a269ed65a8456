"""Resets that come from a flip-flop for each part of a design."""

from typing import TypeVar

from amaranth.hdl import ClockDomain, DomainRenamer, Elaboratable, Module, ResetInserter, Signal, Value

__all__ = ["reset_with"]

_Component = TypeVar("_Component", bound=Elaboratable)


def reset_with(
    m: Module, name: str, component: _Component, clear: Value, clock: Signal | None = None
) -> _Component:
    """Gives ``component`` as a submodule that is reset by ``clear`` too.

    ``clock``
        The clock of the design. Where it is given, the component has a clock domain of this ``name``, whose reset is a
        flip-flop of its own: it begins a cycle later than ``clear`` and than the reset of ``m``, and ends two cycles later.
        Without it, two resets meet in a gate, whose output goes to all flip-flops of the component in the same cycle: on an
        FPGA, that net is the longest.
    """
    if clock is None:
        return ResetInserter(clear)(component)
    domain = ClockDomain(name, local=True)
    domain.clk = clock
    cleared = Signal(name=f"{name}_cleared", init=1)
    before = Signal(name=f"{name}_clear_before", init=1)
    # It depends on itself, because synthesis makes one flip-flop of those that are equal.
    m.d.sync += [before.eq(clear), cleared.eq(clear | (before & cleared))]
    m.d.comb += domain.rst.eq(cleared)
    m.domains += domain
    return DomainRenamer(name)(component)
