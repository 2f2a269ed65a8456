"""Turns completions into interrupts: after a number of them, or a time after the first."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.memories import PlainMemories, coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.interfaces import ChangeLayout
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import REGISTER_BITS
from cdma.hdl.spec.registers.map import register_map

from .messages import queue_bits

_BYTES = REGISTER_BITS // 8
_COUNT_BITS = 8
#: What is kept of a queue: the events since its last interrupt; and whether its time runs, which begins with a look that
#: finds an event.
_Row = data.StructLayout({"events": _COUNT_BITS, "running": 1})


class _Look(NamedTuple):
    """The byte of a queue's time that is looked at: its place and the queue's number."""

    place: Value
    number: Value

    @property
    def first(self) -> Value:
        return self.place == 0

    @property
    def last(self) -> Value:
        return self.place == _BYTES - 1


class Coalescer(wiring.Component):
    """Counts the events of all queues, and how long they have waited.

    What belongs to a queue is a row of memories. A look at its time takes four cycles, a byte in each, with one adder and
    one comparison; the queues have their turns. In these cycles one event is counted, too. No transfer depends on the
    memories, so a word that is lost in them ends none: an interrupt comes early.

    ``changes``: All that is written into the memory of registers. A new time takes effect with the next look at it.
    ``events``: The queue of each completion that counts.
    ``clear``: Pulse: forgets the events of a pair.
    ``interrupts``: Pulses, one bit for each queue: as many completions have come as the register ``coalesce_count`` says
        (0 counts as 1), or the first one since the last interrupt was as long ago as ``coalesce_cycles`` says (0:
        never), or up to 16 cycles longer for each pair.
    ``waiting``: In an engine with a Q-channel: an interrupt comes when its time has passed.
    ``pair``: With coded memories and several pairs: that whose words are read.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.queues = 2 * config.channels
        #: Cycles from one look at a queue's time to the next.
        self.round = _BYTES * self.queues
        self.registers = register_map(config.of_pair(1))
        self.waited = Memory(shape=8, depth=self.round, init=[])
        self.cycles = Memory(shape=REGISTER_BITS, depth=self.queues, init=[])
        self.counts = Memory(shape=_COUNT_BITS, depth=self.queues, init=[])
        self.rows = Memory(shape=_Row, depth=self.queues, init=[])
        super().__init__(
            {
                "changes": In(ChangeLayout(queue_bits(config) - 1)),
                "events": In(stream.Signature(queue_bits(config))),
                "clear": In(config.channels),
                "interrupts": Out(self.queues),
                **optional(config.quiescence, waiting=Out(1)),
                **optional(config.coded_memories and config.channels > 1, pair=Out(range(config.channels))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = coding_of(platform)
        for name in ("waited", "cycles", "counts", "rows"):
            m.submodules[name] = memory = getattr(self, name)
            coding.watch(memory)
        number = Signal(queue_bits(self.config))
        place = Signal(exact_log2(_BYTES))
        following = Signal.like(number)
        look = _Look(place, number)
        m.d.comb += following.eq(Mux(look.last, Mux(number == self.queues - 1, 0, number + 1), number))
        m.d.sync += [place.eq(place + 1), number.eq(following)]
        waited, into = self.waited.read_port(domain="sync"), self.waited.write_port()
        cycles = self.cycles.read_port(domain="sync")
        counts = self.counts.read_port(domain="sync")
        changes = self._copy_limits(m)
        # A limit that is read while it is written may be anything: a look without one ends nothing.
        sure, sure_before = Signal(init=1, name="sure"), Signal(init=1, name="sure_before")
        with m.If(look.last):
            m.d.sync += [sure.eq(~changes["cycles"]), sure_before.eq(sure)]
        m.d.comb += [
            waited.addr.eq(Cat((place + 1)[: len(place)], following)),
            waited.en.eq(1),
            cycles.addr.eq(following),
            cycles.en.eq(look.last),
            counts.addr.eq(self.events.payload),
            counts.en.eq(1),
        ]
        begins, over = Signal(name="begins"), Signal(name="over")
        total = self._add(m, look, begins, waited.data)
        limits = coding.guarded(self.cycles, cycles.data, 1).word_select(place, 8)
        timed = self._compare(m, look, total, limits, over)
        count = coding.guarded(self.counts, counts.data)
        whose = self._count(
            m, coding, look, following, begins, count, over & sure_before, timed, ~changes["count"]
        )
        m.d.comb += [into.addr.eq(Cat(place, number)), into.data.eq(total[:8]), into.en.eq(1)]
        if "pair" in self.signature.members:
            m.d.comb += self.pair.eq(whose[1:])
        return m

    def _copy_limits(self, m: Module) -> dict[str, Value]:
        """The limits of all queues, in memories of their own; gives whether one of each kind is written."""
        changes, pair = self.changes, self.changes.pair
        writes = {}
        for what, memory in (("cycles", self.cycles), ("count", self.counts)):
            change = memory.write_port(granularity=8)
            m.d.comb += change.data.eq(changes.data)
            with m.Switch(changes.index):
                for direction, name in enumerate(CHANNELS):
                    with m.Case(self.registers.word(f"{name}.coalesce_{what}")):
                        m.d.comb += [change.addr.eq(Cat(C(direction, 1), pair))]
                        m.d.comb += change.en.eq(changes.enable)
            writes[what] = change.en.any()
        return writes

    def _add(self, m: Module, look: _Look, begins: Signal, waited: Value) -> Signal:
        """Adds the cycles of a round to the time, or begins it anew; gives the sum."""
        carry = Signal()
        began = Signal()
        total = Signal(9)
        # Cycles that have passed at least since the first event, when the first look at the time is over.
        first = _BYTES + 2
        steps = [self.round >> low & 0xFF for low in range(0, REGISTER_BITS, 8)]
        step: Value = Mux(look.first, steps[0], carry)
        if steps[1]:
            step = Mux(look.place == 1, steps[1] + carry, step)
        m.d.comb += total.eq(Mux(Mux(look.first, begins, began), Mux(look.first, first, 0), waited + step))
        m.d.sync += [began.eq(Mux(look.first, begins, began)), carry.eq(total[-1])]
        return total

    def _compare(self, m: Module, look: _Look, total: Signal, limits: Value, over: Signal) -> Signal:
        """Compares a byte of the time with that of the limit. ``over`` is high, two cycles after the last ones, if the limit
        is reached. Gives, a cycle earlier, whether there is a limit."""
        # The sum and the comparison take a cycle each.
        summed = Signal(data.StructLayout({"total": 9, "limit": 8, "first": 1, "last": 1}))
        borrow = Signal()
        some = Signal()
        less = Signal(9)
        limited = Signal()
        m.d.comb += [
            less.eq(summed.total[:8] - summed.limit - (borrow & ~summed.first)),
            limited.eq((summed.limit != 0) | (some & ~summed.first)),
        ]
        m.d.sync += [
            summed.total.eq(total),
            summed.limit.eq(limits),
            summed.first.eq(look.first),
            summed.last.eq(look.last),
            # A time that no longer fits is longer than any limit.
            over.eq(summed.last & limited & (~less[-1] | summed.total[-1])),
            borrow.eq(less[-1]),
            some.eq(limited),
        ]
        return limited

    def _count(
        self,
        m: Module,
        coding: PlainMemories,
        look: _Look,
        following: Signal,
        begins: Signal,
        limit: Value,
        over: Value,
        timed: Signal,
        sure: Value,
    ) -> Signal:
        """Reads and writes the rows; gives the queue whose row is read.

        Of the four cycles of a look, the last one of the look before reads its row, and the first one writes it. The second
        one writes that of the look before, if its time is ``over``, or reads that of an event, which the third one writes,
        if the limit of events is ``sure``."""
        events = self.events
        read, write = self.rows.read_port(domain="sync"), self.rows.write_port()
        #: The row has been written since a reset.
        known = Signal(self.queues)
        #: The queue whose row is read.
        whose = Signal.like(events.payload)
        row = Signal(_Row)
        kept = data.View(_Row, coding.guarded(self.rows, read.data, (1 << _Row.size) - 1))
        before = Signal.like(events.payload)
        # Of the queue that is looked at, and of the one before.
        runs, ran, late, counts, enough, reached, serves, rings = (
            Signal(name=name)
            for name in ("runs", "ran", "late", "counts_event", "enough", "reached", "serves", "rings")
        )
        pace = Pace(m, self.config)
        known_next = Signal.like(known, name="known_next")
        is_known: Value
        if pace.pipelined:
            # An event has waited for a cycle before it is served, in which its limit is lowered by one.
            least, is_known = Signal(_COUNT_BITS, name="least"), Signal(name="is_known")
            m.d.sync += [
                least.eq(Mux(limit == 0, 0, limit - 1)),
                is_known.eq(known_next.bit_select(read.addr, 1)),
            ]
            m.d.comb += enough.eq(least <= row.events)
        else:
            is_known = known.bit_select(whose, 1)
            m.d.comb += enough.eq(limit <= row.events + 1)
        rung = Signal.like(events.payload)
        m.d.comb += [
            read.en.eq(1),
            read.addr.eq(Mux(look.last, following, events.payload)),
            Value.cast(row).eq(Mux(is_known, Value.cast(kept), 0)),
            begins.eq(~row.running),
            late.eq((look.place == 1) & over & ran & known.bit_select(before, 1)),
            counts.eq((look.place == 2) & serves),
            reached.eq(counts & enough),
            events.ready.eq(counts),
            write.en.eq(look.first | late | counts),
            write.addr.eq(Mux(late, before, whose)),
            write.data.eq(0),
        ]
        with m.If(look.first):
            m.d.comb += [
                write.data.events.eq(row.events),
                write.data.running.eq(row.running | row.events.any()),
            ]
            m.d.sync += [runs.eq(write.data.running), ran.eq(runs)]
        with m.Elif(counts & ~reached):
            m.d.comb += [write.data.events.eq(row.events + 1), write.data.running.eq(row.running)]
        with m.If(reached & (whose == look.number)):
            m.d.sync += runs.eq(0)
        with m.If(look.last):
            m.d.sync += before.eq(look.number)
        forgets = Cat(each.replicate(2) for each in self.clear)
        ones = Signal(self.queues)
        m.d.comb += [
            ones.eq(Mux(write.en, 1 << write.addr, 0)),
            known_next.eq((known | ones) & ~forgets),
            self.interrupts.eq(Mux(rings, 1 << rung, 0)),
        ]
        m.d.sync += [
            whose.eq(read.addr),
            serves.eq(
                (look.place == 1)
                & ~late
                & pace.late(events.valid, "valid_before")
                & pace.late(sure, "limit_sure")
            ),
            known.eq(known_next),
            rings.eq(late | reached),
            rung.eq(write.addr),
        ]
        if self.config.quiescence:
            #: Queues that have events, and those that have a limit of their time.
            some, limited = (Signal(self.queues, name=name) for name in ("some", "limited_queues"))
            m.d.sync += some.eq((some | Mux(counts & ~reached, ones, 0)) & ~self.interrupts & ~forgets)
            with m.If(look.first):
                m.d.sync += limited.bit_select(before, 1).eq(timed)
            m.d.comb += self.waiting.eq((some & limited).any())
        return whose
