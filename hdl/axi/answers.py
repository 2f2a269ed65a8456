"""Answers: those that do not come, and those of a port that is shut off."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import WideCounter

from .ports import ReadPort, Response, WritePort

#: A watchdog's time is measured in eighths.
_PARTS_LOG2 = 3


class Timebase(wiring.Component):
    """The time that all watchdogs and time stamps share.

    ``watchdog_cycles``: The time of the watchdogs, in cycles; 0 turns them off.
    ``now``: Counts cycles.
    ``tick``: Pulse from a register, each time that a part of ``watchdog_cycles`` has passed: an eighth, rounded down,
        and a cycle.
    """

    watchdog_cycles: In(32)
    now: Out(32)
    tick: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(32 - _PARTS_LOG2)
        # The count may be greater, because the time may have become shorter meanwhile.
        over = count >= self.watchdog_cycles[_PARTS_LOG2:]
        m.d.sync += [
            count.eq(Mux(over, 0, count + 1)),
            self.tick.eq(over & (self.watchdog_cycles != 0)),
        ]
        m.submodules.time = time = WideCounter(1, len(self.now))
        m.d.comb += [time.amount.eq(1), self.now.eq(time.value)]
        return m


class Watchdog(wiring.Component):
    """Notices that nothing has happened for too long. It waits for nine ticks, because the first may come at once.

    ``tick``: That of the :class:`Timebase`.
    ``waiting``: Something is expected.
    ``progress``: Something has happened.
    ``fired``: High once ``waiting`` has been high without ``progress`` for the ``watchdog_cycles`` of the timebase, or
        up to an eighth of that and ten cycles longer, until either changes.
    """

    tick: In(1)
    waiting: In(1)
    progress: In(1)
    fired: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = Signal(range((1 << _PARTS_LOG2) + 1))
        with m.If(~self.waiting | self.progress):
            m.d.sync += [parts.eq(0), self.fired.eq(0)]
        with m.Elif(self.tick):
            with m.If(parts[-1]):
                m.d.sync += self.fired.eq(1)
            with m.Else():
                m.d.sync += parts.eq(parts + 1)
        return m


class Answering(wiring.Component):
    """Answers what is open when the port is lost, with SLVERR; what comes later waits until it is back.

    A burst of reads ends with one beat that has ``last``. Data of writes are dropped to the end of their bursts.

    ``read``, ``write``: The engine.
    ``far_read``, ``far_write``: The other domain.
    ``open``: Low while the port is lost.
    ``settled``: Nothing is open.
    ``ids``: Those that transactions have.
    ``most``: Bounds the transactions of an ID that are open at once.
    """

    def __init__(self, read: ReadPort, write: WritePort, ids: Sequence[int], most: int) -> None:
        self.ids, self.most = ids, most
        super().__init__(
            {
                "read": In(read),
                "write": In(write),
                "far_read": Out(read),
                "far_write": Out(write),
                "open": In(1),
                "settled": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked = self._ask(m, self.read.ar, self.far_read.ar)
        begun = self._ask(m, self.write.aw, self.far_write.aw)
        w, far = self.write.w, self.far_write.w
        #: Bursts whose data have not all come.
        owed = Signal(range(self.most * len(self.ids) + 1))
        m.d.comb += [
            far.payload.eq(w.payload),
            far.valid.eq(w.valid & self.open),
            w.ready.eq(Mux(self.open, far.ready, owed.any())),
        ]
        m.d.sync += owed.eq(owed + begun - (w.valid & w.ready & w.payload.last))
        reads = self._answer(m, "read", self.read.r, self.far_read.r, asked, self.read.ar.payload.id, True)
        writes = self._answer(
            m, "write", self.write.b, self.far_write.b, begun, self.write.aw.payload.id, ~owed.any()
        )
        m.d.comb += self.settled.eq(~(reads | writes | owed.any()))
        return m

    def _ask(self, m: Module, near: stream.Interface, far: stream.Interface) -> Value:
        """Passes addresses on; high when one is taken."""
        m.d.comb += [
            far.payload.eq(near.payload),
            far.valid.eq(near.valid & self.open),
            near.ready.eq(far.ready & self.open),
        ]
        return near.valid & near.ready

    def _answer(
        self,
        m: Module,
        name: str,
        near: stream.Interface,
        far: stream.Interface,
        asked: Value,
        asked_id: Value,
        may: Value | bool,
    ) -> Value:
        """Passes answers on, or makes them once it ``may``; high while any is due."""
        counts = [Signal(range(self.most + 1), name=f"{name}s_{id}") for id in self.ids]
        due = Cat(counts).any()
        #: What was offered is still offered when the port is lost.
        held = Signal(name=f"{name}_held")
        passes = self.open | held
        payload = near.payload
        m.d.comb += [
            payload.eq(far.payload),
            near.valid.eq(Mux(passes, far.valid, due & may)),
            far.ready.eq(near.ready & passes),
        ]
        with m.If(~passes):
            m.d.comb += payload.resp.eq(Response.SLVERR)
            if "last" in payload.shape().members:
                m.d.comb += payload.last.eq(1)
            for id, count in zip(reversed(self.ids), reversed(counts), strict=True):
                with m.If(count.any()):
                    m.d.comb += payload.id.eq(id)
        m.d.sync += held.eq(passes & near.valid & ~near.ready)
        ends = near.valid & near.ready
        if "last" in payload.shape().members:
            ends &= payload.last
        for id, count in zip(self.ids, counts, strict=True):
            m.d.sync += count.eq(count + (asked & (asked_id == id)) - (ends & (payload.id == id)))
        return due
