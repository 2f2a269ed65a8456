"""Keeps write data behind their addresses where both pass through register slices."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .ports import WriteData

__all__ = ["AddressFirst"]


class AddressFirst(wiring.Component):
    """Passes the data of a burst on once the bus has taken the address of that burst.

    ``taken``
        Is high in each cycle in which the bus takes an address.
    ``most``
        Bounds the addresses that the bus has taken before the last data of their bursts pass.

    No latency, and no path from ``taken`` to the streams: data pass from the cycle after it on.
    """

    def __init__(self, shape: WriteData, most: int) -> None:
        self.most = most
        super().__init__(
            {
                "taken": In(1),
                "input": In(stream.Signature(shape)),
                "output": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bursts = Signal(range(self.most + 1))
        may_pass = Signal()
        ends = Signal()
        m.d.comb += [
            may_pass.eq(bursts.any()),
            self.output.payload.eq(self.input.payload),
            self.output.valid.eq(self.input.valid & may_pass),
            self.input.ready.eq(self.output.ready & may_pass),
            ends.eq(self.output.valid & self.output.ready & self.output.payload.last),
        ]
        with m.If(self.taken & ~ends):
            m.d.sync += bursts.eq(bursts + 1)
        with m.Elif(ends & ~self.taken):
            m.d.sync += bursts.eq(bursts - 1)
        return m
