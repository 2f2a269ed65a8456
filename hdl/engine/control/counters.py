"""The counters of both channels: 64 bits each, kept in one small memory, with a single adder."""

from functools import reduce
from operator import or_
from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.channel.descriptor import Completion
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelEvents
from cdma.hdl.spec.counters import COUNTERS
from cdma.hdl.spec.records import LENGTH_BITS, Status

from .interfaces import CounterPort

__all__ = ["ChannelCounting", "Counters"]

#: Counters of a channel for which the memory has rows; a power of two.
_SLOTS = 16

#: The event that counts a cycle or a beat.
_EVENTS = {
    "cycles": "under_way",
    "read_beats": "read_beat",
    "write_beats": "write_beat",
    "stall_source": "stall_source",
    "stall_codec": "stall_codec",
    "stall_sink": "stall_sink",
}

#: The counters that a completion adds to. They are neighbours in the memory, so they are visited one after the other.
_OF_COMPLETIONS = ("bytes_read", "bytes_written", "literals", "raw_words", "descriptors", "errors")

#: Bits that count errors without a completion in one round: enough for more than the rings can report.
_EXTRA_BITS = 4


class _Terms(NamedTuple):
    """What is added to the counter that is visited: numbers, and single bits. No two numbers are other than 0 at once,
    nor two bits."""

    addends: list[Value]
    ones: list[Value]


class ChannelCounting(wiring.Signature):
    """The counters of one channel, seen from the channel.

    ``events``
        What happens in this cycle.
    ``input``, ``words``
        A completion, and the raw words of it that passed through the codec.
    ``output``
        The completion, once all its numbers are added.
    ``extra_error``
        Pulse: an error that has no completion.
    ``hold``
        Asks for ``held``, which follows within two rounds of 32 cycles, or three after ``clear``.
    ``held``
        While high, ``read`` sees all counters as they were in the round before it rose, and they go on counting.
    ``read``
        Reads the counters.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "events": Out(ChannelEvents),
                "input": Out(stream.Signature(Completion)),
                "words": Out(32),
                "extra_error": Out(1),
                "output": In(stream.Signature(Completion)),
                "hold": Out(1),
                "held": In(1),
                "read": Out(CounterPort()),
            }
        )


class Counters(wiring.Component):
    """Counts the events of both channels, and completions as they pass.

    The memory is visited round and round, a counter per cycle. Events wait in a few bits of their own until their
    counter is visited. A completion waits until all of its counters are visited, at most 38 cycles.

    Reads have a copy of their own, which is written with the memory unless it is held. It is read a row at a time, and
    the row that the last read of a low half left in the memory's register gives the high half.

    ``clear``
        Pulse: all counters are 0 within two rounds, as they are after a reset. What is held stays.
    """

    def __init__(self) -> None:
        super().__init__({**{name: In(ChannelCounting()) for name in CHANNELS}, "clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = len(CHANNELS) * _SLOTS
        m.submodules.memory = memory = Memory(shape=64, depth=rows, init=[])
        write, fetch = memory.write_port(), memory.read_port(domain="sync")
        names = [name for name, _ in COUNTERS]
        assert len(names) <= _SLOTS
        slot = Signal(range(rows))
        value = Signal(64)
        addend = Signal(LENGTH_BITS)
        one_more = Signal()
        # `slot` is written now; the next one is read for the next cycle.
        m.d.sync += slot.eq(slot + 1)
        m.d.comb += [fetch.addr.eq(slot + 1), fetch.en.eq(1), write.addr.eq(slot), write.en.eq(1)]

        # A clearing round goes from one slot 0 to the next; the first is after reset. A hold waits for it.
        asked = Signal(init=1)
        clearing = Signal(init=1)
        with m.If(slot == rows - 1):
            m.d.sync += [clearing.eq(asked), asked.eq(0)]
        with m.If(self.clear):
            m.d.sync += asked.eq(1)
        # ``one_more`` takes the place of a carry.
        total = (Cat(C(1, 1), fetch.data) + Cat(one_more, addend))[1:65]
        m.d.comb += [value.eq(Mux(clearing, 0, total)), write.data.eq(value)]

        addends: list[Value] = []
        ones: list[Value] = []
        for index, name in enumerate(CHANNELS):
            channel = getattr(self, name)
            first = index * _SLOTS
            at = {counter: Signal(name=f"{name}_at_{counter}") for counter in names}
            m.d.comb += [at[counter].eq(slot == first + place) for place, counter in enumerate(names)]
            for terms in (self._completions(m, name, channel, at), self._events(m, name, channel, at)):
                addends += terms.addends
                ones += terms.ones
            self._copy(m, index, slot, value, asked)
        m.d.comb += [addend.eq(reduce(or_, addends)), one_more.eq(reduce(or_, ones))]
        return m

    def _copy(self, m: Module, index: int, slot: Signal, value: Signal, clear_asked: Signal) -> None:
        """The copy that is read. It begins to be held, and ends, between two rounds."""
        name = CHANNELS[index]
        channel = getattr(self, name)
        m.submodules[f"{name}_copy"] = copy = Memory(shape=64, depth=_SLOTS, init=[])
        into, out = copy.write_port(), copy.read_port(domain="sync")
        port = channel.read
        fresh = Signal(name=f"{name}_fresh")
        with m.If(slot == len(CHANNELS) * _SLOTS - 1):
            m.d.sync += channel.held.eq(channel.hold & (channel.held | ~clear_asked))
        m.d.sync += fresh.eq(port.request & ~fresh)
        m.d.comb += [
            into.addr.eq(slot[: len(into.addr)]),
            into.data.eq(value),
            into.en.eq((slot[len(into.addr) :] == index) & ~channel.held),
            out.addr.eq(port.word[1:]),
            out.en.eq(port.request & ~port.word[0] & ~fresh),
            port.done.eq(fresh | port.word[0]),
            port.data.eq(Mux(port.word[0], out.data[32:], out.data[:32])),
        ]

    def _completions(
        self,
        m: Module,
        name: str,
        channel: wiring.PureInterface,
        at: dict[str, Signal],
    ) -> _Terms:
        """Adds the numbers of a completion, which stays at the input while its counters are visited."""
        completion = channel.input.payload
        waits, adding, added = (Signal(name=f"{name}_{what}") for what in ("waits", "adding", "added"))
        begins = Signal(name=f"{name}_begins")
        now = Signal(name=f"{name}_now")
        m.d.comb += [
            waits.eq(channel.input.valid & ~added),
            begins.eq(waits & at[_OF_COMPLETIONS[0]]),
            now.eq(begins | adding),
            channel.output.payload.eq(completion),
            channel.output.valid.eq(channel.input.valid & added),
            channel.input.ready.eq(channel.output.ready & added),
        ]
        last = at[_OF_COMPLETIONS[-1]]
        m.d.sync += adding.eq(now & ~last)
        with m.If(now & last):
            m.d.sync += added.eq(1)
        with m.Elif(channel.output.valid & channel.output.ready):
            m.d.sync += added.eq(0)
        numbers = {
            "bytes_read": completion.bytes_read[:LENGTH_BITS],
            "bytes_written": completion.bytes_written[:LENGTH_BITS],
            "literals": completion.literals,
            "raw_words": channel.words,
        }
        return _Terms(
            addends=[Mux(now & at[counter], number, 0) for counter, number in numbers.items()],
            ones=[now & at["descriptors"], now & at["errors"] & (completion.status != Status.OK)],
        )

    def _events(
        self,
        m: Module,
        name: str,
        channel: wiring.PureInterface,
        at: dict[str, Signal],
    ) -> _Terms:
        """Adds the events since the last visit of their counter, and that of this cycle."""
        terms = _Terms([], [])
        full = range(len(CHANNELS) * _SLOTS)
        for counter, event in _EVENTS.items():
            count = Signal(full, name=f"{name}_{counter}_events")
            happens = channel.events[event]
            m.d.sync += count.eq(Mux(at[counter], 0, count + happens))
            terms.addends.append(Mux(at[counter], count, 0))
            terms.ones.append(at[counter] & happens)
        extra = Signal(_EXTRA_BITS, name=f"{name}_extra_errors")
        m.d.sync += extra.eq(Mux(at["errors"], C(0), extra) + channel.extra_error)
        terms.addends.append(Mux(at["errors"], extra, 0))
        return terms
