"""Turns completions into interrupts: after a number of them, or a time after the first."""

from typing import NamedTuple

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.interfaces import ChangeLayout
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.description import REGISTER_BITS
from cdma.hdl.spec.registers.map import register_map

_BYTES = REGISTER_BITS // 8
#: Cycles from one look at a channel's time to the next: a byte of each in turn.
_ROUND = _BYTES * len(CHANNELS)
#: Cycles that have passed at least since the first event, when the first look at the time is over.
_FIRST = _BYTES + 2


class Coalescing(wiring.Signature):
    """A channel as the coalescer serves it, seen from the channel.

    ``event``: Pulse: a completion that counts.
    ``count``: Completions per interrupt; 0 counts as 1.
    ``interrupt``: Pulse: ``count`` completions have come, or the first one since the last interrupt was as long ago as
        the register ``coalesce_cycles`` says (0: never), or up to 16 cycles longer.
    """

    def __init__(self) -> None:
        super().__init__({"event": Out(1), "count": Out(8), "interrupt": In(1)})


class _Look(NamedTuple):
    """The byte of a channel's time that is looked at: its place, the channel's number, and whether it is the first byte
    or the last."""

    place: Value
    number: Value
    first: Signal
    last: Signal


class Coalescer(wiring.Component):
    """Counts the events of both channels, and how long they have waited.

    The time is counted a byte per cycle, with one adder and one comparison, in memories. A new ``count``
    takes effect a cycle later. No transfer depends on its memories, so a word that is lost in them ends none: an interrupt
    comes early.

    ``changes``: All that is written into the memory of registers. A new time takes effect with the next look at it.
    ``waiting``: In an engine with a Q-channel: an interrupt comes when its time has passed.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.registers = register_map(config)
        self.quiescence = config.quiescence
        #: The limit of a channel's time, when it was looked at last, was one.
        self.timed = Signal(len(CHANNELS))
        self.waited = Memory(shape=8, depth=_ROUND, init=[])
        self.cycles = Memory(shape=REGISTER_BITS, depth=len(CHANNELS), init=[])
        super().__init__(
            {
                "changes": In(ChangeLayout()),
                **{name: In(Coalescing()) for name in CHANNELS},
                **optional(config.quiescence, waiting=Out(1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.waited = self.waited
        waited = self.waited.read_port(domain="sync")
        into = self.waited.write_port()
        cycles, limits = self._copy_limits(m)
        coding = coding_of(platform)
        for memory in (self.waited, self.cycles):
            coding.watch(memory)
        limits = coding.guarded(self.cycles, limits, 1)
        # The byte that is looked at, and the one that is read for the next cycle. The limit is read as a whole.
        step = Signal(range(_ROUND))
        following = Signal(range(_ROUND))
        look = _Look(
            place=step[: exact_log2(_BYTES)],
            number=step[exact_log2(_BYTES) :],
            first=Signal(name="first"),
            last=Signal(name="last"),
        )
        m.d.sync += step.eq(following)
        m.d.comb += [
            following.eq(step + 1),
            look.first.eq(look.place == 0),
            look.last.eq(look.place == _BYTES - 1),
            waited.addr.eq(following),
            waited.en.eq(1),
            cycles.addr.eq(following[len(look.place) :]),
            cycles.en.eq(look.last),
        ]
        # ``running``: the time in the memory counts from the first event that waits. It begins with a look that finds
        # an event, and no time running.
        running = Signal(len(CHANNELS))
        total, over, over_number = self._add(m, look, running, waited.data, limits)
        m.d.comb += [into.addr.eq(step), into.data.eq(total[:8]), into.en.eq(1)]
        self._interrupt(m, look, running, over, over_number)
        return m

    def _copy_limits(self, m: Module) -> tuple[wiring.PureInterface, Value]:
        """The limits of both channels in a memory of their own; gives the port that reads them, and what it reads."""
        m.submodules.cycles = memory = self.cycles
        change, cycles = memory.write_port(granularity=8), memory.read_port(domain="sync")
        m.d.comb += change.data.eq(self.changes.data)
        with m.Switch(self.changes.index):
            for number, name in enumerate(CHANNELS):
                with m.Case(self.registers.word(f"{name}.coalesce_cycles")):
                    m.d.comb += [change.addr.eq(number), change.en.eq(self.changes.enable)]
        return cycles, cycles.data

    def _add(
        self, m: Module, look: _Look, running: Signal, waited: Value, limits: Value
    ) -> tuple[Signal, Signal, Signal]:
        """Adds the cycles of a round to the time, and compares the sum with the limit; gives the sum and, two
        cycles after, whether a channel's limit is reached, and the channel's number."""
        first = look.first
        begins = Signal()
        began = Signal()
        carry = Signal()
        total = Signal(9)
        m.d.comb += [
            begins.eq(Mux(first, ~running.bit_select(look.number, 1), began)),
            total.eq(Mux(begins, Mux(first, _FIRST, 0), waited + Mux(first, _ROUND, carry))),
        ]
        m.d.sync += [began.eq(begins), carry.eq(total[-1])]
        summed = Signal(
            data.StructLayout({"total": 9, "limit": 8, "first": 1, "last": 1, "number": len(look.number)})
        )
        # The sum and the comparison take a cycle each.
        m.d.sync += [
            summed.total.eq(total),
            summed.limit.eq(limits.word_select(look.place, 8)),
            summed.first.eq(first),
            summed.last.eq(look.last),
            summed.number.eq(look.number),
        ]
        return total, *self._compare(m, summed)

    def _compare(self, m: Module, summed: data.View) -> tuple[Signal, Signal]:
        """Compares a byte of the time with that of the limit; gives, in the cycle after the last ones, whether the limit is
        reached, and the channel's number."""
        borrow = Signal()
        some = Signal()
        less = Signal(9)
        limited = Signal()
        over = Signal()
        over_number = Signal.like(summed.number)
        if self.quiescence:
            with m.If(summed.last):
                m.d.sync += self.timed.bit_select(summed.number, 1).eq(limited)
        m.d.comb += [
            less.eq(summed.total[:8] - summed.limit - (borrow & ~summed.first)),
            limited.eq((summed.limit != 0) | (some & ~summed.first)),
        ]
        m.d.sync += [
            # A time that no longer fits is longer than any limit.
            over.eq(summed.last & limited & (~less[-1] | summed.total[-1])),
            over_number.eq(summed.number),
            borrow.eq(less[-1]),
            some.eq(limited),
        ]
        return over, over_number

    def _interrupt(self, m: Module, look: _Look, running: Signal, over: Signal, over_number: Signal) -> None:
        """Counts the events of each channel, up to its interrupt."""
        _, number, first, _ = look
        if self.quiescence:
            m.d.comb += self.waiting.eq((running & self.timed).any())
        for index, name in enumerate(CHANNELS):
            channel = getattr(self, name)
            events = Signal(8, name=f"{name}_events")
            #: The next event is the last one before the interrupt: known ahead, because the comparison is long.
            last = Signal(init=1, name=f"{name}_last")
            late = Signal(name=f"{name}_late")
            interrupts = Signal(name=f"{name}_interrupts")
            missing = Signal(signed(9), name=f"{name}_missing")
            # The registers are far.
            count = Signal(8, name=f"{name}_limit")
            m.d.sync += count.eq(channel.count)
            m.d.comb += [
                missing.eq(count - events),
                late.eq(over & (over_number == index) & running[index]),
                interrupts.eq((channel.event & last) | late),
            ]
            m.d.sync += channel.interrupt.eq(interrupts)
            with m.If(interrupts):
                # An event that comes while the time is over belongs to this interrupt too.
                m.d.sync += [events.eq(0), running[index].eq(0), last.eq(count <= 1)]
            with m.Else():
                m.d.sync += [
                    events.eq(events + channel.event),
                    last.eq(Mux(channel.event, missing <= 2, missing <= 1)),
                ]
                with m.If(first & (number == index) & (events != 0)):
                    m.d.sync += running[index].eq(1)
