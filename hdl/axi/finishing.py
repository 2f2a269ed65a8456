"""The bus side of a memory port, while the engine in another clock domain may be reset."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.fifo import Fifo

from .ports import ReadPort, WritePort

__all__ = ["Finishing"]

#: Addresses of writes that are ahead of their data at most.
_AHEAD = 4


class Finishing(wiring.Component):
    """Finishes on the bus what is open when the engine is lost: data without strobes follow addresses that the bus has seen,
    and answers are dropped. Data follow their addresses.

    ``read``, ``write``
        The engine's domain.
    ``bus_read``, ``bus_write``
        The bus.
    ``open``
        Low while the engine is lost.
    ``settled``
        Nothing is open on the bus.
    ``most``
        Bounds the transactions of a kind that are open at once.
    """

    def __init__(self, read: ReadPort, write: WritePort, most: int) -> None:
        self.most = most
        super().__init__(
            {
                "read": In(read),
                "write": In(write),
                "bus_read": Out(read),
                "bus_write": Out(write),
                "open": In(1),
                "settled": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lengths = lengths = Fifo(8, _AHEAD)
        aw, r, b = self.bus_write.aw, self.bus_read.r, self.bus_write.b
        asked, asking = self._ask(m, "read", self.read.ar, self.bus_read.ar, True)
        begun, beginning = self._ask(m, "write", self.write.aw, aw, lengths.input.ready)
        m.d.comb += [lengths.input.valid.eq(begun), lengths.input.payload.eq(aw.payload.len)]
        self._send(m, lengths.output)
        for bus, near in ((r, self.read.r), (b, self.write.b)):
            m.d.comb += [
                near.payload.eq(bus.payload),
                near.valid.eq(bus.valid & self.open),
                bus.ready.eq(near.ready | ~self.open),
            ]
        due = []
        for name, begins, ends in (
            ("read", asked, r.valid & r.ready & r.payload.last),
            ("write", begun, b.valid & b.ready),
        ):
            due.append(count := Signal(range(self.most + 1), name=f"{name}s"))
            m.d.sync += count.eq(count + begins - ends)
        m.d.comb += self.settled.eq(~(asking | beginning | due[0].any() | due[1].any()))
        return m

    def _ask(
        self, m: Module, name: str, near: stream.Interface, bus: stream.Interface, able: Value | bool
    ) -> tuple[Value, Signal]:
        """Passes addresses on while ``able``; whether one is taken, and whether one waits."""
        held = Signal(name=f"{name}_held")
        passes = (self.open | held) & able
        m.d.comb += [
            bus.payload.eq(near.payload),
            bus.valid.eq(near.valid & passes),
            near.ready.eq(bus.ready & passes),
        ]
        m.d.sync += held.eq(bus.valid & ~bus.ready)
        return bus.valid & bus.ready, held

    def _send(self, m: Module, length: stream.Interface) -> None:
        """Sends the data of a burst of so many beats less one."""
        near, bus = self.write.w, self.bus_write.w
        held = Signal(name="data_held")
        passes = Signal(name="data_passes")
        sent = Signal(8)
        m.d.comb += [
            passes.eq(self.open | held),
            bus.valid.eq(length.valid & (near.valid | ~passes)),
            bus.payload.data.eq(Mux(passes, near.payload.data, 0)),
            bus.payload.keep.eq(Mux(passes, near.payload.keep, 0)),
            bus.payload.last.eq(sent == length.payload),
            near.ready.eq(length.valid & bus.ready & passes),
            length.ready.eq(bus.valid & bus.ready & bus.payload.last),
        ]
        m.d.sync += held.eq(passes & bus.valid & ~bus.ready)
        with m.If(bus.valid & bus.ready):
            m.d.sync += sent.eq(Mux(bus.payload.last, 0, sent + 1))
