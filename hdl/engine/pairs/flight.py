"""The descriptors in flight, kept until their completion is delivered."""

from amaranth.hdl import Array, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.coded_memory import MemoryCoding
from cdma.hdl.engine.channel.descriptor import Request
from cdma.hdl.spec.records import RecordOptions, Status

__all__ = ["Flight"]


class Flight(wiring.Component):
    """Keeps what a channel has taken, so that all of it whose completion is not delivered can start again, in its order,
    after an abort that was another one's. The channel takes everything from here.

    ``put``, ``new``
        Pulse, only while nothing starts ``again`` and ``full`` is low: what the channel may take next.
    ``shown``, ``add``
        That, from the second cycle after; pulse: the channel has taken it.
    ``again``, ``taken``
        ``shown`` is one that is to start again; pulse: the channel has taken it. ``owed`` is high while there are any, for
        some cycles before ``again`` too.
    ``known``, ``done``, ``delivered``
        High while a completion may be taken; pulse: that of the oldest one in flight is, and whether it is delivered.
    ``restart``
        Pulse: nothing is in flight any more, and what is not delivered is to start again.
    """

    def __init__(self, options: RecordOptions, count: int, depth: int) -> None:
        self.depth = depth
        self.entry = data.StructLayout({"request": Request(options), "owner": count})
        super().__init__(
            {
                "put": In(1),
                "new": In(self.entry),
                "shown": Out(self.entry),
                "add": In(1),
                "full": Out(1),
                "owed": Out(1),
                "again": Out(1),
                "taken": In(1),
                "known": Out(1),
                "done": In(1),
                "delivered": In(1),
                "restart": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low = exact_log2(self.depth)
        coded = isinstance(platform, MemoryCoding)
        kept, shown = (Value.cast(each.request if coded else each) for each in (self.new, self.shown))
        m.submodules.entries = memory = Memory(shape=len(kept), depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        #: Of each place, whether its completion is not delivered.
        live = Array(Signal(name=f"live_{place}") for place in range(self.depth))
        # From the oldest that is kept to the oldest in flight, the next one that the channel takes, and the end.
        bottom, head, following, end = (
            Signal(low + 1, name=name) for name in ("bottom", "head", "following", "end")
        )
        settled = Signal()
        moves = Signal()
        m.d.comb += [
            write.addr.eq(end[:low]),
            write.data.eq(kept),
            write.en.eq(self.put),
            read.addr.eq(following[:low]),
            shown.eq(read.data),
            self.full.eq(end - bottom == self.depth),
            self.owed.eq(following != end),
            self.again.eq(self.owed & live[following[:low]] & settled),
            self.known.eq((head != following) & live[head[:low]]),
            moves.eq(self.restart | self.add | self.taken | (self.owed & ~live[following[:low]])),
        ]
        m.d.sync += settled.eq(~moves)
        if isinstance(platform, MemoryCoding):
            self._lose(m, platform.watch(memory), following[:low], end[:low])
            # What the checker looks at stays as it is.
            m.d.sync += read.en.eq(moves | self.put)
        else:
            m.d.comb += read.en.eq(1)
        with m.If(self.add):
            m.d.sync += [end.eq(end + 1), live[end[:low]].eq(1)]
        with m.If(self.done & self.delivered):
            m.d.sync += live[head[:low]].eq(0)
        with m.If((bottom != following) & ~live[bottom[:low]]):
            m.d.sync += bottom.eq(bottom + 1)
        with m.If(self.restart):
            m.d.sync += [head.eq(bottom), following.eq(bottom)]
        with m.Else():
            with m.If(moves):
                m.d.sync += following.eq(following + 1)
            with m.If(self.done | ((head != following) & ~live[head[:low]])):
                m.d.sync += head.eq(head + 1)
        return m

    def _lose(self, m: Module, lost: Signal, shown: Value, put: Value) -> None:
        """Gives a request that is ``lost`` the fault ``MEMORY``. Whose any is lies in flip-flops, by the place that is
        ``shown`` or ``put``, so that its completion comes to whom it belongs."""
        owners = Array(Signal.like(self.new.owner, name=f"owner_{place}") for place in range(self.depth))
        with m.If(self.put):
            m.d.sync += owners[put].eq(self.new.owner)
        m.d.comb += self.shown.owner.eq(owners[shown])
        with m.If(lost):
            m.d.comb += self.shown.request.fault.eq(Status.MEMORY)
