"""Reads and writes of a memory port in groups: a DRAM's controller loses cycles each time that it turns between them."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class BurstTurns(wiring.Component):
    """Lets read and write addresses of a port pass in turns.

    A turn begins when nothing of the other direction is in flight. Its first ``group`` bursts pass; more pass as long as
    the other direction has no address. It ends when the other direction has one, all its own bursts have ended, and
    ``group`` have passed or no further address is there. So a direction alone never waits, and one that waits does so for
    at most the bursts in flight and ``group`` more.

    An address that was offered stays so until it is taken. Each burst must end without an address of the other direction:
    a reader has room for its data, a writer has its data.

    ``most``: The most bursts in flight of a direction.
    ``group``: 0: both pass at any time.
    ``read_waits``, ``write_waits``: The direction has an address.
    ``reads``, ``writes``: Its addresses may pass.
    ``read_taken``, ``write_taken``: One is taken at the port; only while it may pass.
    ``read_ended``, ``write_ended``: The last beat of data, or the response, is taken.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        inputs = {f"{way}_{name}": In(1) for way in _WAYS for name in ("waits", "taken", "ended")}
        super().__init__({"group": In(9), **inputs, "reads": Out(1), "writes": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        in_flight: dict[str, Signal] = {}
        for way in _WAYS:
            count = Signal(range(self._most + 1), name=f"{way}s_in_flight")
            m.d.sync += count.eq(count + getattr(self, f"{way}_taken") - getattr(self, f"{way}_ended"))
            in_flight[way] = count
        writing = Signal()
        left = Signal(9)
        passes: dict[str, Signal] = {}
        for way, other, of_turn in (("read", "write", ~writing), ("write", "read", writing)):
            waits, taken = getattr(self, f"{way}_waits"), getattr(self, f"{way}_taken")
            held = Signal(name=f"{way}_held")
            free = Signal(name=f"{way}_free")
            m.d.comb += [
                free.eq(of_turn & ((left != 0) | ~getattr(self, f"{other}_waits") | held)),
                getattr(self, f"{way}s").eq(free | held | (self.group == 0)),
            ]
            m.d.sync += held.eq(waits & getattr(self, f"{way}s") & ~taken)
            passes[way] = free
        ends = Signal()
        read_ends = self.write_waits & (in_flight["read"] == 0) & ~(self.read_waits & passes["read"])
        write_ends = self.read_waits & (in_flight["write"] == 0) & ~(self.write_waits & passes["write"])
        m.d.comb += ends.eq(Mux(writing, write_ends, read_ends))
        with m.If(ends):
            m.d.sync += [writing.eq(~writing), left.eq(self.group)]
        with m.Elif(Mux(writing, self.write_taken, self.read_taken) & (left != 0)):
            m.d.sync += left.eq(left - 1)
        return m


_WAYS = ("read", "write")
