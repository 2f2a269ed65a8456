"""AXI-Stream around the blocks: flat ports with the names of the standard, and a clock domain of their own.

``Shell`` is what ``cdma.hdl.verilog.emit.emit`` turns into Verilog; other engines derive from it too.
"""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Member, Out

__all__ = ["Shell", "axis_ports"]


def axis_ports(name: str, flow: wiring.Flow, **fields: int) -> dict[str, Member]:
    """The flat ports of an AXI-Stream called ``name`` whose data moves as ``flow`` says.

    ``fields`` are its payload: the width of ``data``, ``keep``, ``last`` and so on.
    """
    back = In if flow == Out else Out
    payload = {f"{name}_t{field}": flow(width) for field, width in fields.items()}
    return {**payload, f"{name}_tvalid": flow(1), f"{name}_tready": back(1)}


class Shell(wiring.Component):
    """A component with flat ports, a clock ``aclk`` and a synchronous, active-low reset ``aresetn``.

    ``ports``
        The other ports; the Verilog lists them in this order, after clock and reset.
    """

    aclk: Signal
    aresetn: Signal

    def __init__(self, ports: Mapping[str, Member]) -> None:
        members = {"aclk": In(1), "aresetn": In(1), **ports}
        self.port_order = tuple(members)
        super().__init__(members)

    def port(self, name: str) -> Signal:
        """The signal of one port."""
        return getattr(self, name)

    def add_domain(self, m: Module) -> None:
        """Declares the domain ``sync`` from ``aclk`` and ``aresetn``."""
        domain = ClockDomain("sync")
        domain.clk = self.aclk
        m.domains.sync = domain
        m.d.comb += domain.rst.eq(~self.aresetn)

    def accept(self, m: Module, name: str, inner: stream.Interface) -> None:
        """Connects the handshake of the input stream ``name``; during reset it takes nothing."""
        m.d.comb += [
            inner.valid.eq(self.port(f"{name}_tvalid")),
            self.port(f"{name}_tready").eq(inner.ready & self.aresetn),
        ]

    def offer(self, m: Module, name: str, inner: stream.Interface) -> None:
        """Connects the handshake of the output stream ``name``; during reset it offers nothing."""
        m.d.comb += [
            self.port(f"{name}_tvalid").eq(inner.valid & self.aresetn),
            inner.ready.eq(self.port(f"{name}_tready")),
        ]
