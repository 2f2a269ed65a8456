"""Queues and stream registers, the check of a word of a memory, and counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.hdl import Assert, Assume, C, Cat, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring

from cdma.hdl.blocks.arithmetic import WideCounter
from cdma.hdl.blocks.memories import WordCheck, checks_of
from cdma.hdl.blocks.queues import Credit, Fifo, MemoryQueue
from cdma.hdl.blocks.registers import Beat, BeatSlice, ElasticBuffer, SkidBuffer, StreamRegister
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, free, hold, last_cycle, obey, started
from .proof import Proof

#: Bits of an entry. The blocks never look at them: two bits already tell an entry from its neighbours.
_BITS = 2


@dataclass(eq=False)
class Queue(Bench):
    """A block that passes transfers on, with a ghost that follows any one of them.

    ``capacity``: Entries that it can hold.
    ``accepts``: Entries below which it accepts another one. The block's ``ready`` comes a cycle after the reset.
    ``latency``: Cycles from the transfer of an entry until it is offered, if it is first in line by then, and in each
        cycle from there on: there is never a bubble.
    ``reserved``: The writer counts, and never has more than this many entries inside; 0 where the block shows when it
        is full.

    Ghost state: ``inside`` counts the entries in the block. Once the tracked entry has gone in, ``word`` is its value,
    ``ahead`` counts the entries before it, and ``age`` the cycles since. Each entry that comes out is either one of
    those ahead, or the tracked one with ``word``.
    """

    block: Callable[[], wiring.Component]
    capacity: int
    accepts: int
    latency: int
    reserved: int = 0

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.block()
        entering = dut.input
        leaving = dut.output
        if self.reserved:
            free(m, "input_payload", entering.payload)
            free(m, "input_valid", entering.valid)
        else:
            obey(m, entering, "input")
        hold(m, leaving, "output")
        put = Signal()
        take = Signal()
        inside = Signal(range(self.capacity + 2))
        m.d.comb += [put.eq(entering.valid & entering.ready), take.eq(leaving.valid & leaving.ready)]
        m.d.sync += inside.eq(inside + put - take)

        follow = free(m, "follow")
        tracked = Signal()
        came, leaves = Value.cast(entering.payload), Value.cast(leaving.payload)
        word = Signal(len(came))
        ahead = Signal(range(self.capacity + 1))
        age = Signal(range(self.latency + 1))
        came_out = Signal()
        with m.If(~tracked & put & follow):
            m.d.sync += [tracked.eq(1), word.eq(came), ahead.eq(inside - take), age.eq(1)]
        with m.Elif(tracked):
            m.d.sync += age.eq(Mux(age == self.latency, age, age + 1))
            with m.If(take):
                m.d.sync += ahead.eq(ahead - 1)
                with m.If(ahead == 0):
                    m.d.sync += [tracked.eq(0), came_out.eq(1)]
        first = tracked & (ahead == 0)
        m.d.comb += [
            # No overflow, and nothing that did not go in.
            Assert(inside <= self.capacity),
            Assert(~leaving.valid | (inside != 0)),
            # In order, and unchanged.
            Assert(~(first & leaving.valid) | (leaves == word)),
            # No bubble and no deadlock: what is first in line is offered as soon as the latency allows.
            Assert(~(first & (age == self.latency)) | leaving.valid),
            Cover(came_out & (word == 1)),
            Cover(first & (age == self.latency)),
            Cover(inside == self.capacity),
        ]
        if self.reserved:
            m.d.comb += Assume(~put | (inside < self.reserved))
        else:
            m.d.comb += Assert(~(started(m) & (inside < self.accepts)) | entering.ready)


def _queue(
    kind: type[wiring.Component],
    name: str,
    config: str,
    block: Callable[[], wiring.Component],
    *shape: int,
    quick: bool = True,
) -> Proof:
    claim = "nothing lost, doubled or out of order; no overflow; the stream rules; an entry first in line is offered at once"
    return Proof(
        name=name, config=config, claim=claim, blocks=(kind,), bench=lambda: Queue(block, *shape), quick=quick
    )


#: Bits of a word. What a flip leaves does not depend on the word, so that the tests of the code show the rest.
_WIDTHS = (8, 16)


@dataclass(eq=False)
class FlippedWord(Bench):
    """A word with its checks, of which any two bits flip, or one, or none."""

    check: WordCheck

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.check
        count = len(dut.coded)
        word = free(m, "word", shape=dut.bits)
        places = [free(m, name, shape=range(count)) for name in ("one", "other")]
        flips = [free(m, f"flips_{name}") for name in ("one", "other")]
        one, two = flips[0] & ~flips[1], flips[0] & flips[1]
        coded = Cat(word, checks_of(word, dut.code))
        for place, flip in zip(places, flips, strict=True):
            coded ^= (C(1, 1) << place)[:count] & flip.replicate(count)
        m.d.comb += [
            dut.coded.eq(coded),
            *(Assume(place < count) for place in places),
            Assume(places[0] != places[1]),
            Assume(flips[0] | ~flips[1]),
            Assert(flips[0] | (dut.word == word)),
            Assert(flips[0] | ~(dut.corrected | dut.lost)),
            Cover(one & (dut.corrected | dut.lost)),
            Cover(~flips[0] & word.all()),
        ]
        if dut.code == "parity":
            m.d.comb += Assert(~one | dut.lost)
            return
        m.d.comb += [
            Assert(~one | ((dut.word == word) & dut.corrected & ~dut.lost)),
            Assert(~two | (dut.lost & ~dut.corrected)),
            Cover(two & dut.lost),
        ]


def _word_check(bits: int, code: str) -> Proof:
    return Proof(
        name="word_check",
        config=f"{bits} bits, {code}",
        claim="a word without a flipped bit is as it was; one with a flipped bit, of its own or of its checks, is put "
        "right, and lost with parity; one with two is lost, but with parity",
        blocks=(WordCheck,),
        built_so=lambda config: isinstance(config, EngineConfig) and config.coded_memories,
        bench=lambda: FlippedWord(WordCheck(bits, code)),
        cover=2,
        quick=bits <= _WIDTHS[0],
    )


@dataclass(eq=False)
class Sum(Bench):
    """The value is the sum of additions since the last clear, except in held cycles, modulo its width."""

    counter: WideCounter
    most: int

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.counter
        for name in ("clear", "first", "amount", "hold"):
            free(m, name, getattr(dut, name))
        total = Signal.like(dut.value)
        with m.If(~dut.hold):
            m.d.sync += total.eq(Mux(dut.clear, dut.first, total) + dut.amount)
        before = last_cycle(m, total, "total_before")
        m.d.comb += [
            Assume(dut.amount <= self.most),
            Assume(dut.first <= self.most),
            Assert(dut.value == total),
            # The carry has reached the upper half, and the counter has wrapped.
            Cover(total[-1] & ~before[-1]),
            Cover(before.all() & (total == 0) & ~last_cycle(m, dut.clear, "was_cleared")),
        ]


@dataclass(eq=False)
class Credits(Bench):
    """A writer that looks at ``there`` never spends more credits than there are entries.

    Ghost state: ``used`` counts the entries in use, by what was spent and returned, without a delay.
    """

    credit: Credit
    ahead: int

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.credit
        free(m, "spent", dut.spent)
        free(m, "returned", dut.returned)
        seen: Value = dut.available
        for number in range(self.ahead):
            seen = last_cycle(m, seen, f"there_{number + 1}_before", init=1)
        entries = dut.entries
        used = Signal(range(entries + dut.most + 1))
        m.d.sync += used.eq(used + dut.spent - dut.returned)
        quiet = Signal(range(4))
        with m.If((dut.spent != 0) | dut.returned):
            m.d.sync += quiet.eq(0)
        with m.Elif(quiet != 3):
            m.d.sync += quiet.eq(quiet + 1)
        m.d.comb += [
            Assume(dut.spent <= dut.most),
            Assume((dut.spent == 0) | seen),
            # An entry is free again at the earliest in the cycle after it was filled.
            Assume(~dut.returned | (used != 0)),
            Assert(used <= entries),
            # Once nothing has changed for three cycles, it says exactly whether enough is left: no deadlock.
            Assert((quiet != 3) | (dut.available == (entries - used >= dut.unknown))),
            Cover(used == entries - (dut.unknown - (2 + self.ahead) * dut.most) + 1),
            Cover((quiet == 3) & ~dut.available),
        ]


def _sum(most: int, width: int, lookahead: bool) -> Proof:
    return Proof(
        name="wide_counter",
        config=f"up to {most}, {width} bits" + (", lookahead" if lookahead else ""),
        claim="the value is the sum of all amounts since the last clear, but those while it is held",
        blocks=(WideCounter,),
        bench=lambda: Sum(WideCounter(most, width, pipelined=lookahead), most),
        cover=72,
    )


def _credits(entries: int, most: int, ahead: int) -> Proof:
    return Proof(
        name="credit",
        config=f"{entries} entries, {most} at once, {ahead} ahead",
        claim="no entry is spent twice, and a writer is held up only while fewer entries are free than it may be late by",
        blocks=(Credit,),
        bench=lambda: Credits(Credit(entries, most, ahead=ahead), ahead),
    )


PROOFS = [
    _queue(StreamRegister, "stream_register", "2 bits", lambda: StreamRegister(_BITS), 1, 1, 1),
    _queue(SkidBuffer, "skid_buffer", "2 bits", lambda: SkidBuffer(_BITS), 2, 2, 1),
    _queue(ElasticBuffer, "elastic_buffer", "2 bits", lambda: ElasticBuffer(_BITS), 2, 2, 1),
    _queue(
        ElasticBuffer,
        "elastic_buffer",
        "2 bits, in two parts",
        lambda: ElasticBuffer(_BITS, part_bits=1),
        2,
        2,
        1,
    ),
    _queue(BeatSlice, "beat_slice", "1 lane of 1 bit", lambda: BeatSlice(Beat(1, 1)), 2, 2, 1),
    _queue(Fifo, "fifo", "depth 2", lambda: Fifo(_BITS, 2), 3, 2, 2),
    _queue(Fifo, "fifo", "depth 4", lambda: Fifo(_BITS, 4), 5, 4, 2),
    _queue(Fifo, "fifo", "depth 4, ahead", lambda: Fifo(_BITS, 4, ahead=True), 5, 4, 3),
    _queue(Fifo, "fifo", "depth 4, block", lambda: Fifo(_BITS, 4, pipelined=True), 6, 4, 4),
    _queue(Fifo, "fifo", "depth 4, reserved", lambda: Fifo(_BITS, 4, reserved=True), 4, 4, 2, 4),
    _queue(
        Fifo,
        "fifo",
        "depth 8, late",
        lambda: Fifo(_BITS, 8, late_valid=True, late_ready=True),
        *(9, 8, 2),
        quick=False,
    ),
    _queue(MemoryQueue, "memory_queue", "depth 4", lambda: MemoryQueue(_BITS, 4), 4, 4, 3, 4),
    *(_word_check(bits, "secded") for bits in _WIDTHS),
    _word_check(_WIDTHS[0], "parity"),
    _sum(1, 6, False),
    _sum(1, 6, True),
    _sum(2, 7, False),
    _sum(2, 7, True),
    _credits(8, 1, 0),
    _credits(8, 2, 0),
    _credits(8, 1, 2),
]
