"""The counters of both channels: 64 bits each, kept in small memories, with one adder for all of them."""

from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.elaboration import Pace
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelEvents, Completion
from cdma.hdl.spec.options import COUNTERS
from cdma.hdl.spec.records import LENGTH_BITS, NO_OPTIONS, RecordOptions, Status

from .interfaces import CounterPort

#: Counters of a channel for which the memory has rows; a power of two.
_SLOTS = 16

#: A counter is added to in limbs, a limb in each stage of the pipeline.
_LIMB_BITS = 16
_LIMBS = 64 // _LIMB_BITS

#: The event that counts a cycle or a beat.
_EVENTS = {
    "cycles": "in_flight",
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
    """What is added to the counter that is visited: the lowest limbs of numbers, single bits, and what numbers have above
    a limb, which is added a cycle later. No two numbers are other than 0 at once, nor two bits."""

    addends: list[Value]
    ones: list[Value]
    uppers: list[Value]


class ChannelCounting(wiring.Signature):
    """The counters of one channel, seen from the channel.

    ``events``
        What happens in this cycle.
    ``input``, ``words``, ``coded``
        A completion, its raw words, and whether they passed through the codec: only then they count.
    ``output``
        The completion, at once. All its numbers are added at most 38 cycles later, and it stays at the input until then.
    ``extra_error``
        Pulse: an error that has no completion.
    ``hold``
        Asks for ``held``, which follows within two rounds of 32 cycles, or three after ``clear``.
    ``held``
        While high, ``read`` sees all counters as they were in the round before it rose, and they go on counting.
    ``read``
        Reads the counters.
    """

    def __init__(self, ports: int = 1, *, options: RecordOptions = NO_OPTIONS) -> None:
        super().__init__(
            {
                "events": Out(ChannelEvents(ports)),
                "input": Out(stream.Signature(Completion(options))),
                "words": Out(32),
                "coded": Out(1),
                "extra_error": Out(1),
                "output": In(stream.Signature(Completion(options))),
                "hold": Out(1),
                "held": In(1),
                "read": Out(CounterPort()),
            }
        )


class _Visit(NamedTuple):
    """The row that is visited in one stage of the pipeline, and what becomes of it there: all counters become 0, and
    the copies of both channels are held."""

    row: Signal
    clearing: Signal
    held: Signal


class Counters(wiring.Component):
    """Counts the events of both channels, and completions as they pass.

    The rows are visited round and round, one per cycle. Events wait in a few bits of their own until their counter is
    visited. A completion goes on at once, and the next one waits until all of its counters are visited, at most 38 cycles.

    A visit is a pipeline. In its first stage what is to be added is collected; after that a limb is added in each
    stage, the lowest first, and its carry is kept for the next stage. Each limb has memories of its own, because all
    stages are at different rows. A row is visited again long after its highest limb is written.

    Reads have copies of their own, which are written with the counters unless they are held. A read takes a limb per
    cycle as well, in the same order, so it never sees the limbs of two visits. What the last read of a low half left in
    the memories' registers gives the high half, which is 0 before the first of them.

    ``pipelined``
        What is collected goes through one more register: a visit takes a cycle more.
    ``options``
        Completions have their fields, which are not counted.
    ``clear``
        Pulse: all counters are 0 within two rounds, as they are after a reset. What is held stays.
    """

    def __init__(
        self, ports: int = 1, *, pipelined: bool = False, options: RecordOptions = NO_OPTIONS
    ) -> None:
        self.ports = ports
        self.pipelined = pipelined
        counting = ChannelCounting(ports, options=options)
        super().__init__({**{name: In(counting) for name in CHANNELS}, "clear": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        names = [name for name, _ in COUNTERS]
        assert len(names) <= _SLOTS
        visits = self._visits(m)
        # Which counter is visited is decoded one cycle ahead.
        ahead = Signal.like(visits[0].row)
        m.d.comb += ahead.eq(visits[0].row + 1)

        collected = _Terms([], [], [])
        for index, name in enumerate(CHANNELS):
            channel = getattr(self, name)
            first = index * _SLOTS
            at = {counter: Signal(name=f"{name}_at_{counter}") for counter in names}
            # The visits of a channel's counters follow each other.
            m.d.sync += at[names[0]].eq(ahead == first)
            m.d.sync += [at[after].eq(at[before]) for before, after in pairwise(names)]
            for terms in (self._completions(m, name, channel, at), self._events(m, name, channel, at)):
                for all_terms, some in zip(collected, terms, strict=True):
                    all_terms += some
        values = self._add(m, visits, collected)
        for index in range(len(CHANNELS)):
            self._copy(m, index, visits, values)
        return m

    def _visits(self, m: Module) -> list[_Visit]:
        """The visit that is in each stage: the first collects (or two, if ``pipelined``), each of the others adds a limb."""
        rows = len(CHANNELS) * _SLOTS
        visits = [
            _Visit(
                Signal(range(rows), name=f"row_{stage}"),
                Signal(name=f"clearing_{stage}", init=1),
                Signal(len(CHANNELS), name=f"held_{stage}"),
            )
            for stage in range(_LIMBS + 1 + self.pipelined)
        ]
        row, clearing, held = visits[0]
        asked = Signal(init=1)
        last = Signal()
        m.d.comb += last.eq(row == rows - 1)
        m.d.sync += row.eq(row + 1)
        # A clearing round goes from one row 0 to the next; the first is after reset. A hold waits for it.
        with m.If(last):
            hold = Cat(getattr(self, name).hold for name in CHANNELS)
            m.d.sync += [
                clearing.eq(asked),
                asked.eq(0),
                held.eq(hold & (held | (~asked).replicate(len(CHANNELS)))),
            ]
        with m.If(self.clear):
            m.d.sync += asked.eq(1)
        for before, after in pairwise(visits):
            m.d.sync += [new.eq(old) for new, old in zip(after, before, strict=True)]
        return visits

    def _add(self, m: Module, visits: list[_Visit], terms: _Terms) -> list[Signal]:
        """Adds to the counters, a limb per stage; gives what each stage writes."""
        values = []
        addend = Signal(_LIMB_BITS, reset_less=True)
        carry = Signal(name="one_more", reset_less=True)
        upper = Signal(LENGTH_BITS - _LIMB_BITS, reset_less=True)
        for total, some in zip((addend, carry, upper), terms, strict=True):
            m.d.sync += total.eq(reduce(or_, self._halved(m, total, some)))
        for limb, (before, visit) in enumerate(pairwise(visits[self.pipelined :])):
            memory = Memory(shape=_LIMB_BITS, depth=1 << len(visit.row), init=[])
            m.submodules[f"limb_{limb}"] = memory
            write, fetch = memory.write_port(), memory.read_port(domain="sync")
            total = Signal(_LIMB_BITS + 1, name=f"total_{limb}")
            value = Signal(_LIMB_BITS, name=f"value_{limb}")
            m.d.comb += [
                fetch.addr.eq(before.row),
                fetch.en.eq(1),
                total.eq(fetch.data + addend[:_LIMB_BITS] + carry),
                value.eq(Mux(visit.clearing, 0, total[:_LIMB_BITS])),
                write.addr.eq(visit.row),
                write.data.eq(value),
                write.en.eq(1),
            ]
            values.append(value)
            carry = Signal(name=f"carry_{limb}", reset_less=True)
            m.d.sync += carry.eq(total[_LIMB_BITS] & ~visit.clearing)
            # What is left to add moves on to the next stage; above the lowest limb it comes a cycle later by itself.
            if limb == 0:
                addend = upper
            else:
                rest = Signal(max(len(addend) - _LIMB_BITS, 0), name=f"rest_{limb}", reset_less=True)
                m.d.sync += rest.eq(addend[_LIMB_BITS:])
                addend = rest
        return values

    def _halved(self, m: Module, total: Signal, terms: list[Value]) -> list[Value]:
        """The terms or, if ``pipelined``, both halves of them in registers."""
        if not self.pipelined:
            return terms
        halves: list[Value] = []
        for number in range(2):
            half = Signal.like(total, name=f"{total.name}_half_{number}")
            m.d.sync += half.eq(reduce(or_, terms[number::2]))
            halves.append(half)
        return halves

    def _copy(self, m: Module, index: int, visits: list[_Visit], values: list[Signal]) -> None:
        """The copy that is read. It begins to be held, and ends, between two rounds."""
        name = CHANNELS[index]
        channel = getattr(self, name)
        port = channel.read
        # A token goes through the steps of a read. Its last step is the answer.
        steps = Signal(_LIMBS + 1, name=f"{name}_steps")
        begins = Signal(name=f"{name}_reads")
        m.d.comb += [
            begins.eq(port.request & ~port.word[0] & ~steps.any()),
            port.done.eq(steps[-1] | port.word[0]),
            channel.held.eq(visits[1 + self.pipelined].held[index]),
        ]
        m.d.sync += steps.eq(Cat(begins, steps))
        # After a reset the memories' registers hold anything until a first row is read.
        loaded = Signal(name=f"{name}_loaded")
        with m.If(steps[-1]):
            m.d.sync += loaded.eq(1)
        limbs = []
        for limb, (visit, value) in enumerate(zip(visits[1 + self.pipelined :], values, strict=True)):
            m.submodules[f"{name}_copy_{limb}"] = copy = Memory(shape=_LIMB_BITS, depth=_SLOTS, init=[])
            into, out = copy.write_port(), copy.read_port(domain="sync")
            place = len(into.addr)
            # The sum is in the counter's memory by then, and need not reach the copy in the same cycle.
            domain = Pace(m, self.pipelined).d
            domain += [
                into.addr.eq(visit.row[:place]),
                into.data.eq(value),
                into.en.eq((visit.row[place:] == index) & ~visit.held[index]),
            ]
            m.d.comb += [
                out.addr.eq(port.word[1:]),
                out.en.eq(steps[limb]),
            ]
            limbs.append(out.data)
        row = Cat(limbs)
        low, high = port.request & ~port.word[0], port.request & port.word[0] & loaded
        m.d.comb += port.data.eq(Mux(low, row[:32], 0) | Mux(high, row[32:], 0))

    def _completions(
        self,
        m: Module,
        name: str,
        channel: wiring.PureInterface,
        at: dict[str, Signal],
    ) -> _Terms:
        """Adds the numbers of a completion, which stays at the input while its counters are visited."""
        completion = channel.input.payload
        waits, adding, added, given = (
            Signal(name=f"{name}_{what}") for what in ("waits", "adding", "added", "given")
        )
        begins = Signal(name=f"{name}_begins")
        now = Signal(name=f"{name}_now")
        m.d.comb += [
            waits.eq(channel.input.valid & ~added),
            begins.eq(waits & at[_OF_COMPLETIONS[0]]),
            now.eq(begins | adding),
            channel.output.payload.eq(completion),
            channel.output.valid.eq(channel.input.valid & ~given),
            channel.input.ready.eq(added & (given | channel.output.ready)),
        ]
        last = at[_OF_COMPLETIONS[-1]]
        m.d.sync += adding.eq(now & ~last)
        with m.If(channel.input.valid & channel.input.ready):
            m.d.sync += [added.eq(0), given.eq(0)]
        with m.Else():
            m.d.sync += [
                added.eq(added | (now & last)),
                given.eq(given | (channel.output.valid & channel.output.ready)),
            ]
        numbers = {
            "bytes_read": completion.bytes_read[:LENGTH_BITS],
            "bytes_written": completion.bytes_written[:LENGTH_BITS],
            "literals": completion.literals,
        }
        # The counter that is visited a cycle later; ``adding`` is ``now`` of a cycle before.
        following = dict(pairwise(_OF_COMPLETIONS))
        picks = [
            (now & at[counter], adding & at[following[counter]], numbers[counter]) for counter in numbers
        ]
        words = channel.words
        picks.append(
            (now & at["raw_words"] & channel.coded, adding & at["descriptors"] & channel.coded, words)
        )
        return _Terms(
            addends=[Mux(pick, number[:_LIMB_BITS], 0) for pick, _, number in picks],
            uppers=[Mux(pick, number[_LIMB_BITS:], 0) for _, pick, number in picks],
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
        terms = _Terms([], [], [])
        rounds = len(CHANNELS) * _SLOTS
        # The events come from deep in the channel, and the counters may know them a cycle later.
        events = Signal(ChannelEvents(self.ports), name=f"{name}_seen")
        m.d.sync += events.eq(channel.events)
        for counter, event in _EVENTS.items():
            happens = Value.cast(events[event])
            if len(happens) == 1:
                count = Signal(range(rounds), name=f"{name}_{counter}_events")
                m.d.sync += count.eq(Mux(at[counter], 0, count + happens))
                terms.ones.append(at[counter] & happens)
            else:
                # What happens in the cycle of the visit waits for the next one.
                count = Signal(range(rounds * self.ports + 1), name=f"{name}_{counter}_events")
                m.d.sync += count.eq(Mux(at[counter], 0, count) + happens)
            terms.addends.append(Mux(at[counter], count, 0))
        extra = Signal(_EXTRA_BITS, name=f"{name}_extra_errors")
        m.d.sync += extra.eq(Mux(at["errors"], C(0), extra) + channel.extra_error)
        terms.addends.append(Mux(at["errors"], extra, 0))
        return terms
