"""The top level of a block: flat ports with AXI names, and a clock domain.

:func:`~cdma.hdl.verilog.emit.emit` turns a ``Shell`` into Verilog.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, ClockDomain, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .ports import Port

__all__ = ["Shell"]


class Shell(wiring.Component):
    """A component with flat ports, of which the first two are its clock and a synchronous, active-low reset.

    ``ports``
        All ports, in the order of the Verilog.
    ``open``
        High outside reset: enables handshakes. It gates every valid and ready that no flip-flop resets.
    """

    def __init__(self, ports: Sequence[Port]) -> None:
        self._ports = tuple(ports)
        self.open = Signal()
        super().__init__(
            {port.name: (In if port.direction == "input" else Out)(port.width) for port in self._ports}
        )

    def ports(self) -> tuple[Port, ...]:
        """All ports, in the order of the Verilog."""
        return self._ports

    @property
    def clock(self) -> Signal:
        """The clock."""
        return self.port(self._ports[0].name)

    @property
    def resetn(self) -> Signal:
        """The reset, active low."""
        return self.port(self._ports[1].name)

    def port(self, name: str) -> Signal:
        """The signal of one port."""
        return getattr(self, name)

    def add_domain(
        self, m: Module, *, registered: bool = False, longer: bool = False, holding: Signal | None = None
    ) -> None:
        """Declares the domain ``sync`` from the clock and the reset, and drives ``open``.

        With ``registered`` a flip-flop registers the reset, which relaxes the timing of the port. The reset inside is then
        delayed by one cycle, and ``open`` stays low until it ends. A ``longer`` reset takes at least three cycles, for
        parts with resets derived from it. While ``holding`` is high, the reset goes on.
        """
        reset = ~self.resetn
        runs: Value = self.resetn
        if holding is not None:
            reset, runs = reset | holding, runs & ~holding
        domain = ClockDomain("sync")
        domain.clk = self.clock
        m.domains.sync = domain
        if registered:
            in_reset = Signal(init=1, reset_less=True)
            before = Signal(2, reset_less=True)
            if longer:
                m.d.sync += before.eq(Cat(~self.resetn, before))
            m.d.sync += in_reset.eq(reset | before.any())
            m.d.comb += [domain.rst.eq(in_reset), self.open.eq(self.resetn & ~in_reset)]
        else:
            m.d.comb += [domain.rst.eq(reset), self.open.eq(runs)]

    def accept(self, m: Module, name: str, inner: stream.Interface, *, registered: bool = False) -> None:
        """Connects the handshake of the input stream ``name``; during reset it takes nothing.

        With ``registered``, ready comes from a flip-flop that resets to low and needs no gate.
        """
        m.d.comb += [
            inner.valid.eq(self.port(f"{name}_tvalid")),
            self.port(f"{name}_tready").eq(inner.ready & (registered | self.open)),
        ]

    def offer(self, m: Module, name: str, inner: stream.Interface, *, registered: bool = False) -> None:
        """Connects the handshake of the output stream ``name``; during reset it offers nothing.

        With ``registered``, valid comes from a flip-flop that resets to low and needs no gate.
        """
        m.d.comb += [
            self.port(f"{name}_tvalid").eq(inner.valid & (registered | self.open)),
            inner.ready.eq(self.port(f"{name}_tready")),
        ]
