"""Parts of a design whose clock stops while they rest."""

from __future__ import annotations

from typing import TypeVar

from amaranth.hdl import (
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Elaboratable,
    Instance,
    Module,
    Mux,
    ResetSignal,
    Signal,
    Value,
)

__all__ = ["ALWAYS", "ClockGates", "declare_always", "reset_around"]

_Component = TypeVar("_Component", bound=Elaboratable)


#: The domain of what goes on while all around it rests, because its phase shows.
ALWAYS = "always"


def declare_always(m: Module) -> None:
    """Declares that domain: it is ``sync`` of ``m``, whatever ``sync`` is further inside."""
    domain = ClockDomain(ALWAYS)
    domain.clk, domain.rst = Signal(name=f"{ALWAYS}_aclk"), Signal(name=f"{ALWAYS}_rst")
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal())]
    m.domains += domain


def reset_around(m: Module, name: str, component: _Component, clear: Value) -> _Component:
    """Gives ``component`` as a submodule that is reset by ``clear`` too, with all in it that has a gated clock."""
    domain = ClockDomain(name, local=True)
    domain.clk, domain.rst = Signal(name="aclk"), Signal(name="rst")
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal() | clear)]
    m.domains += domain
    return DomainRenamer(name)(component)


class ClockGates:
    """Makes gated clocks, each by an instance of the cell ``kind``, which all are open while ``scan_enable`` is high."""

    def __init__(self, kind: str, scan_enable: Value) -> None:
        self.kind = kind
        self.scan_enable = scan_enable

    def gated(
        self,
        m: Module,
        name: str,
        component: _Component,
        active: Value,
        settling: int,
        *,
        clear: Value | None = None,
        local: bool = True,
    ) -> _Component:
        """Gives ``component`` as a submodule whose clock is that of ``m`` in the cycles in which it is ``active``, in so
        many after them, and in reset. In other cycles nothing may change in it. It is reset by ``clear`` too. Others may be
        in the domain of that ``name``, unless it is ``local``.
        """
        reset = ResetSignal() if clear is None else ResetSignal() | clear
        runs = Signal(name=f"{name}_runs")
        left = Signal(range(settling + 1), name=f"{name}_settles", init=settling)
        m.d.sync += left.eq(Mux(active, settling, left - left.any()))
        m.d.comb += runs.eq(active | left.any() | reset)
        return self.stopping(m, name, component, runs, reset, local=local)

    def stopping(
        self, m: Module, name: str, component: _Component, runs: Value, reset: Value, *, local: bool
    ) -> _Component:
        """Gives ``component`` as a submodule with a clock in the cycles in which it ``runs``, and with that ``reset``."""
        domain = ClockDomain(name, local=local)
        # The names within are those of a design without gates.
        domain.clk, domain.rst = Signal(name="aclk"), Signal(name="rst")
        m.submodules[f"{name}_clock"] = Instance(
            self.kind,
            i_clk=ClockSignal(),
            i_enable=runs,
            i_scan_enable=self.scan_enable,
            o_gated=domain.clk,
        )
        m.d.comb += domain.rst.eq(reset)
        m.domains += domain
        return DomainRenamer(name)(component)
