"""The counters of all pairs: 64 bits each, kept in small memories, with one adder for all of them."""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelEvents, Completion
from cdma.hdl.spec.options import COUNTERS
from cdma.hdl.spec.records import LENGTH_BITS, NO_OPTIONS, RecordOptions, Status

from .interfaces import CounterPort

#: Visits of a channel in a round; a power of two.
_SLOTS = 16
_ROUND = len(CHANNELS) * _SLOTS

#: A counter is added to in limbs, a limb in each stage of the pipeline.
_LIMB_BITS = 16
_LIMBS = 64 // _LIMB_BITS

_NAMES = [name for name, _ in COUNTERS]
assert len(_NAMES) <= _SLOTS

#: The event that counts a cycle or a beat.
_EVENTS = {
    "cycles": "in_flight",
    "read_beats": "read_beat",
    "write_beats": "write_beat",
    "stall_source": "stall_source",
    "stall_codec": "stall_codec",
    "stall_sink": "stall_sink",
}

#: The first of the counters that the first pair alone has, because they are of the whole data path. The rows of a pair and
#: a channel are one fewer than a power of two, and these fit into as many, too.
_SHARED = _NAMES.index("read_beats")
_ROWS_LOG2 = 3

#: The counters that a completion adds to. They are neighbours in the memory, so they are visited one after the other.
_OF_COMPLETIONS = ("bytes_read", "bytes_written", "literals", "raw_words", "descriptors", "errors")

#: Bits that count errors without a completion until they are visited: enough for more than the rings can report.
_EXTRA_BITS = 4


class _Terms(NamedTuple):
    """What is added to the counter that is visited: the lowest limbs of numbers, single bits, and what numbers have above
    a limb, which is added a cycle later. No two numbers are other than 0 at once, nor two bits."""

    addends: list[Value]
    ones: list[Value]
    uppers: list[Value]


class ChannelCounting(wiring.Signature):
    """The counters of one channel, seen from the channel and the ``pairs`` that share it.

    ``events``: What happens in this cycle.
    ``input``, ``words``, ``coded``: A completion, its raw words, and whether they passed through the codec: only then
        they count.
    ``output``: The completion, at once. All its numbers are added at most 40 cycles later, or 72 with several pairs,
        and it stays at the input until then.
    ``extra_errors``: Pulses, one bit per pair: an error that has no completion.
    ``hold``: Each bit asks for that of ``held``, which follows within two rounds of 32 cycles for each pair that asks
        at once, and one more after ``clear``.
    ``held``: While high, reads see all counters of the pair as they were in the round before it rose, and they go on
        counting.
    ``takers``: Several pairs: the pair that takes the completion, in the cycle in which it leaves; none if it does not
        count.
    ``starters``, ``in_flight``: Several pairs: pulse, the pair whose descriptor starts; and from the cycle after, the
        pairs that have any in flight.
    ``adding``: Several pairs: the pair whose completion has left and is not added yet.
    """

    def __init__(self, ports: int = 1, pairs: int = 1, *, options: RecordOptions = NO_OPTIONS) -> None:
        super().__init__(
            {
                "events": Out(ChannelEvents(ports)),
                "input": Out(stream.Signature(Completion(options))),
                "words": Out(32),
                "coded": Out(1),
                "extra_errors": Out(pairs),
                "output": In(stream.Signature(Completion(options))),
                "hold": Out(pairs),
                "held": In(pairs),
                **optional(
                    pairs > 1,
                    takers=Out(pairs),
                    starters=Out(pairs),
                    in_flight=Out(pairs),
                    adding=In(pairs),
                ),
            }
        )


class _Visit(NamedTuple):
    """The row that is visited in one stage of the pipeline, and what becomes of it there: it becomes 0, and its copy is
    held."""

    row: Value
    clearing: Value
    held: Value


class _Turn(NamedTuple):
    """Whose rows are visited: those of ``channel``, which is known by its number, and of a pair.

    ``step``, ``ends``: The cycle of the round, and its last cycle of a channel, in which the pair of the next one is
        chosen: ``following``.
    ``pair``, ``clearing``: The pair, and whether all its counters become 0.
    ``serves``: One bit per channel: its completion is added. ``serving`` is that in the next turn.
    ``at``: High while a counter is visited, by its name.
    """

    step: Signal
    ends: Value
    following: Signal
    pair: Signal
    clearing: Signal
    serves: Signal
    serving: Signal
    at: dict[str, Signal]

    def visits(self, counter: str, index: int) -> Value:
        """High while the ``counter`` of the channel of that number is visited."""
        return self.at[counter] & (self.step[-1] == index)


class Counters(wiring.Component):
    """Counts the events of both channels, and completions as they pass.

    The rows of a pair are visited in a round, one per cycle. Events wait in a few bits of their own until their counter is
    visited. A completion goes on at once, and the next one waits until all of its counters are visited. Its pair is
    visited next; else the pairs have their turn, and first those of which software wants anything. The cycles in which a
    pair has descriptors in flight are counted from its last visit to the next.

    A visit is a pipeline. In its first stage what is to be added is collected; after that a limb is added in each
    stage, the lowest first, and its carry is kept for the next stage. Each limb has memories of its own, because all
    stages are at different rows. A row is visited again long after its highest limb is written.

    Reads have copies of their own, which are written with the counters unless they are held. A read takes a limb per
    cycle as well, in the same order, so it never sees the limbs of two visits. The upper half of what was read last of each
    channel and pair is kept in one more memory.

    ``pipelined``: What is collected goes through one more register: a visit takes a cycle more.
    ``options``: Completions have their fields, which are not counted.
    ``clear``: Pulse, one bit per pair: all its counters are 0 within two rounds for each pair that asks at once, as
        they are after a reset. What is held stays.
    ``read``, ``reader``: Reads a counter of the channel in bit 0 of ``reader`` and the pair in its other bits.
    """

    def __init__(
        self, ports: int = 1, pairs: int = 1, *, pipelined: bool = False, options: RecordOptions = NO_OPTIONS
    ) -> None:
        self.ports = ports
        self.pairs = pairs
        self.pipelined = pipelined
        counting = ChannelCounting(ports, pairs, options=options)
        super().__init__(
            {
                **{name: In(counting) for name in CHANNELS},
                "clear": In(pairs),
                "read": In(CounterPort()),
                "reader": In(range(2 * pairs)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        waits = [Signal(name=f"{name}_waits") for name in CHANNELS]
        takers = [Signal(range(self.pairs), name=f"{name}_taker") for name in CHANNELS]
        extras = [
            [Signal(_EXTRA_BITS, name=f"{name}_extra_errors_{pair}") for pair in range(self.pairs)]
            for name in CHANNELS
        ]
        many = Cat(Cat(of_pair[-1] for of_pair in pair).any() for pair in zip(*extras, strict=True))
        turn, starts = self._take_turns(m, waits, takers, many)
        collected = _Terms([], [], [])
        for index in range(len(CHANNELS)):
            for terms in (
                self._completions(m, index, turn, waits[index], takers[index]),
                self._events(m, index, turn, extras[index]),
            ):
                for all_terms, some in zip(collected, terms, strict=True):
                    all_terms += some
        visits = self._visits(m, turn)
        values = self._add(m, visits, collected)
        self._copy(m, turn, starts, visits, values)
        return m

    def _row(self, slot: Value, channel: Value, pair: Value) -> Value:
        """The row of a counter; those of the whole data path come after the last pair's."""
        return Cat(slot[:_ROWS_LOG2], channel, Mux(slot >= _SHARED, self.pairs, pair))

    @property
    def _depth(self) -> int:
        return len(CHANNELS) * (self.pairs + 1) << _ROWS_LOG2

    def _take_turns(
        self, m: Module, waits: list[Signal], takers: list[Signal], many: Value
    ) -> tuple[_Turn, Signal]:
        """Chooses the pair whose rows are visited, by the completions that wait, and by what software asks for or which pair
        has ``many`` errors; gives a signal that is high until all counters are 0 after a reset, too."""
        numbers = range(self.pairs)
        step = Signal(range(_ROUND))
        ends = step[:-1].all()
        following, pair, target = (Signal(numbers, name=name) for name in ("following", "pair", "target"))
        serves, serving = (Signal(len(CHANNELS), name=name) for name in ("serves", "serving"))
        clears = Signal(self.pairs, init=-1)
        starts = Signal(init=1)
        clearing = Signal()
        #: This round is of the pair that asks for it, whatever completion waits.
        forced: Value = C(1)
        m.d.sync += [step.eq(step + 1), clears.eq(clears | self.clear)]
        held = [getattr(self, name).held for name in CHANNELS]
        holds = [getattr(self, name).hold for name in CHANNELS]
        if self.pairs > 1:
            forced = Signal(name="forced")
            asking = Signal(numbers)
            asks = reduce(or_, (hold ^ now for hold, now in zip(holds, held, strict=True)), clears | many)
            last = step == _ROUND - 2
            asked = asks.bit_select(asking, 1)
            with m.If(last):
                m.d.sync += [target.eq(asking), forced.eq(asked & ~forced)]
            with m.If(last | (asks.any() & ~asked)):
                m.d.sync += asking.eq(Mux(asking == self.pairs - 1, 0, asking + 1))
        with m.If(step.all()):
            m.d.sync += [clearing.eq(forced & clears.bit_select(target, 1)), starts.eq(clears.any())]
            with m.If(forced):
                m.d.sync += clears.bit_select(target, 1).eq(self.clear.bit_select(target, 1))
        m.d.comb += following.eq(target)
        for index, wait in enumerate(waits):
            begins = step[-1] != index
            served = wait & ~forced if self.pairs > 1 else wait
            m.d.comb += serving[index].eq(served & begins)
            with m.If(serving[index]):
                m.d.comb += following.eq(takers[index])
            with m.If(ends & begins):
                now = held[index].bit_select(following, 1)
                blocked = clears.bit_select(following, 1) | (clearing if index else 0)
                m.d.sync += now.eq(holds[index].bit_select(following, 1) & (now | ~blocked))
        with m.If(ends):
            m.d.sync += [pair.eq(following), serves.eq(serving)]
        at = {counter: Signal(name=f"at_{counter}") for counter in _NAMES}
        m.d.sync += at[_NAMES[0]].eq(ends)
        m.d.sync += [at[after].eq(at[before]) for before, after in pairwise(_NAMES)]
        return _Turn(step, ends, following, pair, clearing, serves, serving, at), starts

    def _visits(self, m: Module, turn: _Turn) -> list[_Visit]:
        """The visit that is in each stage: the first collects (or two, if ``pipelined``), each of the others adds a limb."""
        slot, channel = turn.step[:-1], turn.step[-1]
        held = Cat(getattr(self, name).held.bit_select(turn.pair, 1) for name in CHANNELS)
        first = Cat(getattr(self, name).held[0] for name in CHANNELS)
        shared = slot >= _SHARED
        visits = [
            _Visit(
                self._row(slot, channel, turn.pair),
                turn.clearing & (~shared | (turn.pair == 0)),
                Mux(shared, first, held).bit_select(channel, 1),
            )
        ]
        for stage in range(_LIMBS + self.pipelined):
            before = visits[-1]
            visit = _Visit(
                *(Signal.like(old, name=f"{field}_{stage}") for field, old in before._asdict().items())
            )
            m.d.sync += [new.eq(old) for new, old in zip(visit, before, strict=True)]
            visits.append(visit)
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
            memory = Memory(shape=_LIMB_BITS, depth=self._depth, init=[])
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

    def _copy(
        self, m: Module, turn: _Turn, starts: Signal, visits: list[_Visit], values: list[Signal]
    ) -> None:
        """The copies that are read. They begin to be held, and end, between two rounds."""
        port, slot = self.read, self.read.word[1:]
        # A token goes through the steps of a read. Its last step is the answer.
        steps = Signal(_LIMBS + 1)
        m.d.comb += port.done.eq(steps[-1])
        m.d.sync += steps.eq(Cat(port.request & ~steps.any(), steps))
        place = self._row(slot, self.reader[0], self.reader[1:])
        limbs = []
        for limb, (visit, value) in enumerate(zip(visits[1 + self.pipelined :], values, strict=True)):
            m.submodules[f"copy_{limb}"] = copy = Memory(shape=_LIMB_BITS, depth=self._depth, init=[])
            into, out = copy.write_port(), copy.read_port(domain="sync")
            # The sum is in the counter's memory by then, and need not reach the copy in the same cycle.
            domain = Pace(m, self.pipelined).d
            domain += [into.addr.eq(visit.row), into.data.eq(value), into.en.eq(~visit.held)]
            m.d.comb += [out.addr.eq(place), out.en.eq(steps[limb])]
            limbs.append(out.data)
        low, high = Cat(limbs[: _LIMBS // 2]), Cat(limbs[_LIMBS // 2 :])
        m.submodules.uppers = uppers = Memory(shape=len(high), depth=len(CHANNELS) * self.pairs, init=[])
        keep, kept = uppers.write_port(), uppers.read_port(domain="sync")
        # The whole data path is the first pair's.
        foreign = (slot >= _SHARED) & self.reader[1:].any()
        ends = steps[-1]
        m.d.comb += [
            keep.addr.eq(Mux(ends, self.reader, Cat(turn.step[-1], turn.pair))),
            keep.data.eq(Mux(ends & ~foreign, high, 0)),
            keep.en.eq(Mux(ends, ~port.word[0], starts & turn.clearing)),
            kept.addr.eq(self.reader),
            kept.en.eq(steps[0]),
        ]
        with m.If(port.request & ~(foreign & ~port.word[0])):
            m.d.comb += port.data.eq(Mux(port.word[0], kept.data, low))

    def _completions(self, m: Module, index: int, turn: _Turn, waits: Signal, taker: Signal) -> _Terms:
        """Adds the numbers of a completion, which stays at the input while its counters are visited."""
        name = CHANNELS[index]
        channel = getattr(self, name)
        completion = channel.input.payload
        added, given = (Signal(name=f"{name}_{what}") for what in ("added", "given"))
        leaves = channel.output.valid & channel.output.ready
        adds = turn.visits(_OF_COMPLETIONS[-1], index) & turn.serves[index]
        done: Value = added
        waiting = channel.input.valid & ~added
        if self.pairs > 1:
            # Whose it is shows as it leaves.
            waiting &= given
            counts = channel.takers.any()
            done |= ~given & ~counts
            with m.If(leaves):
                m.d.sync += taker.eq(one_of(*((bit, C(n)) for n, bit in enumerate(channel.takers))))
            m.d.comb += channel.adding.eq(Mux(given & ~added, 1 << taker, 0))
        m.d.comb += [
            waits.eq(waiting),
            channel.output.payload.eq(completion),
            channel.output.valid.eq(channel.input.valid & ~given),
            channel.input.ready.eq(done & (given | channel.output.ready)),
        ]
        with m.If(channel.input.valid & channel.input.ready):
            m.d.sync += [added.eq(0), given.eq(0)]
        with m.Else():
            m.d.sync += [added.eq(added | adds), given.eq(given | leaves)]
        numbers = {
            "bytes_read": completion.bytes_read[:LENGTH_BITS],
            "bytes_written": completion.bytes_written[:LENGTH_BITS],
            "literals": completion.literals,
            "raw_words": channel.words,
        }
        # The counter that is visited a cycle later.
        following = dict(pairwise(_OF_COMPLETIONS))
        served = {counter: Signal(name=f"{CHANNELS[index]}_{counter}_served") for counter in _OF_COMPLETIONS}
        m.d.comb += [
            each.eq(turn.visits(counter, index) & turn.serves[index]) for counter, each in served.items()
        ]
        counted = {counter: channel.coded if counter == "raw_words" else C(1) for counter in numbers}
        return _Terms(
            addends=[
                Mux(served[counter] & counted[counter], number[:_LIMB_BITS], 0)
                for counter, number in numbers.items()
            ],
            uppers=[
                Mux(served[following[counter]] & counted[counter], number[_LIMB_BITS:], 0)
                for counter, number in numbers.items()
            ],
            ones=[served["descriptors"], served["errors"] & (completion.status != Status.OK)],
        )

    def _events(self, m: Module, index: int, turn: _Turn, extras: list[Signal]) -> _Terms:
        """Adds the events since the last visit of their counter, and that of this cycle."""
        terms = _Terms([], [], [])
        name = CHANNELS[index]
        channel = getattr(self, name)
        # The events come from deep in the channel, and the counters may know them a cycle later.
        events = Signal(ChannelEvents(self.ports), name=f"{name}_seen")
        m.d.sync += events.eq(channel.events)
        for counter, event in _EVENTS.items():
            visits = turn.visits(counter, index)
            happens = Value.cast(events[event])
            if counter == "cycles" and self.pairs > 1:
                count: Value = self._elapsed(m, index, turn)
            elif len(happens) == 1:
                count = Signal(range(_ROUND), name=f"{name}_{counter}_events")
                m.d.sync += count.eq(Mux(visits, 0, count + happens))
                terms.ones.append(visits & happens)
            else:
                # What happens in the cycle of the visit waits for the next one.
                count = Signal(range(_ROUND * self.ports + 1), name=f"{name}_{counter}_events")
                m.d.sync += count.eq(Mux(visits, 0, count) + happens)
            terms.addends.append(Mux(visits, count, 0))
        cases = []
        for pair, extra in enumerate(extras):
            visits = turn.visits("errors", index) & (turn.pair == pair)
            m.d.sync += extra.eq(Mux(visits, 0, extra) + channel.extra_errors[pair])
            cases.append((visits, extra))
        terms.addends.append(one_of(*cases))
        return terms

    def _elapsed(self, m: Module, index: int, turn: _Turn) -> Value:
        """The cycles since the last visit of the pair that is visited or, if it had nothing in flight then, since it has.
        Their number fits, as all pairs are visited often enough."""
        name = CHANNELS[index]
        channel = getattr(self, name)
        clock = Signal(_LIMB_BITS, name=f"{name}_clock")
        since = Memory(shape=_LIMB_BITS, depth=self.pairs, init=[])
        m.submodules[f"{name}_since"] = since
        write, read = since.write_port(), since.read_port(domain="sync")
        # A completion that is not added yet has been in flight until then.
        begins = (channel.starters & ~channel.in_flight & ~channel.adding).any()
        starter = one_of(*((bit, C(pair)) for pair, bit in enumerate(channel.starters)))
        visited, late, runs = (Signal(name=f"{name}_{what}") for what in ("visited", "late", "runs"))
        m.d.comb += [
            visited.eq(turn.visits("cycles", index)),
            read.addr.eq(turn.following),
            read.en.eq(turn.ends),
            write.addr.eq(Mux(begins, starter, turn.pair)),
            write.data.eq(clock),
            write.en.eq(begins | visited | late),
        ]
        m.d.sync += [
            clock.eq(clock + 1),
            late.eq(begins & (visited | late)),
            runs.eq(channel.in_flight.bit_select(turn.following, 1) | turn.serving[index]),
        ]
        return Mux(runs, (clock - read.data)[:_LIMB_BITS], 0)


class PairCounting(wiring.Signature):
    """What the counters have for a direction of a pair, seen from the pair. See :class:`ChannelCounting`."""

    def __init__(self) -> None:
        super().__init__(
            {
                "extra_error": Out(1),
                "hold": Out(1),
                "held": In(1),
                "in_flight": Out(1),
                "adding": In(1),
            }
        )


def count_channel(m: Module, counting: wiring.PureInterface, channel: wiring.PureInterface) -> None:
    """Has the completions and events of a ``channel`` counted."""
    done = channel.done
    m.d.comb += [
        counting.input.valid.eq(done.valid),
        counting.input.payload.eq(done.payload.completion),
        done.ready.eq(counting.input.ready),
        counting.words.eq(done.payload.words),
        counting.coded.eq(done.payload.coded),
        counting.events.eq(channel.events),
    ]


def connect_pairs(
    m: Module, counters: Counters, clears: Sequence[Value], pairs: Sequence[Sequence[wiring.PureInterface]]
) -> None:
    """Connects the ``counters`` with the :class:`PairCounting` of each direction of each of the ``pairs``."""
    m.d.comb += counters.clear.eq(Cat(clears))
    for index, name in enumerate(CHANNELS):
        channel = getattr(counters, name)
        mine = [pair[index] for pair in pairs]
        m.d.comb += [
            channel.extra_errors.eq(Cat(counting.extra_error for counting in mine)),
            channel.hold.eq(Cat(counting.hold for counting in mine)),
            Cat(counting.held for counting in mine).eq(channel.held),
        ]
        if len(pairs) > 1:
            m.d.comb += [
                channel.in_flight.eq(Cat(counting.in_flight for counting in mine)),
                Cat(counting.adding for counting in mine).eq(channel.adding),
            ]
