"""Takes the jobs of all queues, one at a time, and steps through the words of each.

Calculates where in memory a record of a ring lies, and whether the engine may touch it, 16 bits at a time.

One of these serves all rings of an engine. A record needs its address once, and occupies the bus far longer than that
takes here. So one adder of 16 bits does for all rings what would otherwise be an adder and two comparisons of an
address's width for each.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import first_set
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.interfaces import StoredSignature
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.registers.description import REGISTER_BITS
from cdma.hdl.spec.registers.map import register_map

from .messages import RECORD_WORDS, Cause, Job, Wish, select

_LIMB = 16
_PAGE_LOG2 = 12
_RECORD_LOG2 = exact_log2(RECORD_BYTES)
#: The phases: the base is added; the window's base and limit are compared.
_BASE, _LOWEST, _HIGHEST = range(3)


class _Step(NamedTuple):
    """A limb of a phase, on its way through the pipeline. ``busy`` is high for a step, and low for a gap."""

    busy: Signal
    phase: Signal
    limb: Signal
    last_limb: Signal


class RingSlot(wiring.Component):
    """The address of a record. It takes three cycles for every 16 bits of an address, and three more after ``start``, or
    four in a pipelined engine. While it is being found, the address before is lost.

    A step is a pipeline of three stages: it asks for a register, selects a limb of that, and adds the limb.

    ``start``: Begins. ``channel`` and ``completions`` must not change from the next cycle on until ``done``.
    ``channel``, ``completions``, ``ring_log2``: The ring: its channel; of completions or of descriptors; it has
        ``2**ring_log2`` entries.
    ``index``: The record in it, counted on past the ring's entries: two cycles after ``start``.
    ``stored``: Reads the registers that say where the rings and the window are.
    ``word``: What these gave: in a pipelined engine a cycle later.
    ``word_lost``: With coded memories: the registers have lost a word, and no record is allowed that is being found.
    ``done``: High from two cycles before ``address`` and ``allowed`` are valid, until the next ``start``.
    ``address``: Where the record lies.
    ``allowed``: The record is inside the window of the host port and inside its address space.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.registers = register_map(config)
        self.address_bits = config.host_address_bits
        self.limbs = -(-self.address_bits // _LIMB)
        super().__init__(
            {
                "start": In(1),
                "channel": In(1),
                "completions": In(1),
                "index": In(config.index_bits),
                "ring_log2": In(4),
                "stored": Out(StoredSignature()),
                "word": Out(REGISTER_BITS),
                **optional(config.coded_memories, word_lost=In(1)),
                "done": Out(1),
                "allowed": Out(1),
                "address": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        limbs = self.limbs
        asks = self._ask(m)
        selects = self._follow(m, asks, "selects")
        pace = Pace(m, self.config)
        # The registers are in block RAM, which is slow.
        pace.d += self.word.eq(self.stored.data)
        if pace.pipelined:
            selects = self._follow(m, selects, "waits")
        adds = self._follow(m, selects, "adds")
        mask = Signal(len(self.index), reset_less=True)
        pace.d += mask.eq((C(1, len(self.index)) << self.ring_log2)[: len(self.index)] - 1)
        offset = Cat(C(0, _RECORD_LOG2), (self.index & mask)[: len(self.index)])
        # First the offset, then the address. It turns by a limb in each step, so it is whole again after each phase.
        turning = Signal(limbs * _LIMB, reset_less=True)
        carry = Signal(reset_less=True)
        outside = Signal(reset_less=True)
        total = self._add(m, selects, turning, carry)

        beyond = total[self.address_bits - (limbs - 1) * _LIMB :].any()
        # Where a search is given up, its steps may still come until the next one loads its offset.
        loads = Signal(2 + self.config.pipelined)
        m.d.sync += loads.eq(Cat(self.start, loads))
        finishes = Signal()
        known = Signal()
        m.d.comb += [
            finishes.eq(selects.busy & selects.last_limb & (selects.phase == _HIGHEST) & ~loads.any()),
            self.done.eq(finishes | known),
        ]
        m.d.sync += known.eq(~self.start & self.done)
        with m.If(adds.busy):
            into = Mux(adds.phase == _BASE, total[:_LIMB], turning[:_LIMB])
            m.d.sync += [turning.eq(Cat(turning[_LIMB:], into)), carry.eq(total[_LIMB])]
            with m.If(adds.last_limb):
                m.d.sync += [
                    # A sum begins without a carry; a comparison, which subtracts, begins with one.
                    carry.eq(1),
                    outside.eq(outside | Mux(adds.phase == _BASE, beyond, ~total[_LIMB])),
                ]
        with m.If(loads[1:].any()):
            m.d.sync += [
                turning.eq(offset),
                carry.eq(0),
                outside.eq(offset[limbs * _LIMB :].any()),
            ]
        if self.config.coded_memories:
            with m.If(self.word_lost):
                m.d.sync += outside.eq(1)
        m.d.comb += [self.address.eq(turning[: self.address_bits]), self.allowed.eq(~outside)]
        return m

    def _ask(self, m: Module) -> _Step:
        """Counts the limbs of each phase, and the phases, and asks for the registers."""
        step = self._new_step("asks")
        m.d.comb += step.last_limb.eq(step.limb == self.limbs - 1)
        with m.If(self.start):
            m.d.sync += [step.busy.eq(1), step.phase.eq(_BASE), step.limb.eq(0)]
        with m.Elif(step.last_limb):
            m.d.sync += [step.busy.eq(step.busy & (step.phase != _HIGHEST)), step.limb.eq(0)]
            m.d.sync += step.phase.eq(step.phase + 1)
        with m.Else():
            m.d.sync += step.limb.eq(step.limb + 1)
        self._look_up(m, step.phase, step.limb)
        return step

    def _new_step(self, name: str) -> _Step:
        return _Step(
            Signal(name=f"{name}_busy"),
            Signal(range(3), name=f"{name}_phase", reset_less=True),
            Signal(range(max(self.limbs, 2)), name=f"{name}_limb", reset_less=True),
            Signal(name=f"{name}_last_limb", reset_less=True),
        )

    def _follow(self, m: Module, before: _Step, name: str) -> _Step:
        """The stage after another one: it has its step a cycle later."""
        step = self._new_step(name)
        m.d.sync += [new.eq(old) for new, old in zip(step, before, strict=True)]
        return step

    def _add(self, m: Module, selects: _Step, turning: Signal, carry: Signal) -> Signal:
        """Adds a limb: of the base and the offset, or of the address and what it is compared with."""
        operand = Signal(_LIMB)
        right = Signal(_LIMB, reset_less=True)
        inverted = Signal(reset_less=True)
        total = Signal(_LIMB + 1)
        # The limit's register holds pages; the bytes within are ones.
        in_page = Mux(selects.limb == 0, (1 << _PAGE_LOG2) - 1, 0)
        m.d.comb += operand.eq(self.word.word_select(selects.limb[0], _LIMB))
        m.d.sync += inverted.eq(selects.phase == _HIGHEST)
        with m.Switch(selects.phase):
            with m.Case(_BASE):
                m.d.sync += right.eq(operand)
            with m.Case(_LOWEST):
                m.d.sync += right.eq(~operand)
            with m.Default():
                m.d.sync += right.eq(operand | in_page)
        m.d.comb += total.eq((turning[:_LIMB] ^ inverted.replicate(_LIMB)) + right + carry)
        return total

    def _look_up(self, m: Module, phase: Signal, limb: Signal) -> None:
        """Asks for the register that the next step needs."""
        per_word = REGISTER_BITS // _LIMB
        with m.Switch(Cat(phase, self.completions, self.channel)):
            for channel, name in enumerate(CHANNELS):
                for completions, ring in enumerate(("ring", "completion")):
                    for number, what in (
                        (_BASE, f"{name}.{ring}_base"),
                        (_LOWEST, "host_window.base"),
                        (_HIGHEST, "host_window.limit"),
                    ):
                        with m.Case(number | completions << 2 | channel << 3), m.Switch(limb):
                            for first in range(0, self.limbs, per_word):
                                half = "high" if first else "low"
                                for each in range(first, min(first + per_word, self.limbs)):
                                    with m.Case(each):
                                        m.d.comb += self.stored.index.eq(
                                            self.registers.word(f"{what}_{half}")
                                        )


class Sequencer:
    """The job in hand, as signals of one module. The methods add the statements that drive them, each once.

    A job begins with a cycle in which ``fresh`` is high, and ends with one in which ``over`` is high. That of another
    queue may begin in the cycle after ``over``. Whether a queue has a wish and the choice go through a register each, so the
    same queue's begins four cycles after ``over`` at the earliest.

    ``wishing``, ``waits``: Of each queue: it had a wish in the cycle before; one of them is chosen, and begins now unless
        the one in hand is ``refused``.
    ``begins``: High in the cycle before ``fresh``.
    ``queue``, ``following``: Number of the queue that the job belongs to; that of the job that ``begins``.
    ``busy``: High while there is a job, from ``fresh`` to ``over``.
    ``fresh``, ``over``: First and last cycle of the job. ``over`` follows ``ends`` by a cycle.
    ``ends``: High once nothing is left to do.
    ``word``: Number of the word that is moved next.
    ``advance``: High in each cycle that moves a word.
    ``last_word``: High in the cycle that moves the last word.
    ``copied``: High once all words are moved.
    ``stale``: High once the ring of the job was disabled, however shortly. The job then has no effect.
    ``skipped``: High, from the second cycle on, if the queue had an error in its registers when the job began. A
        further error leaves no record.
    ``is_``, ``by``: One register for each :class:`.Job`, and for each :class:`.Cause` of a ``LOG``: high while that is
        in hand.
    ``refused``: High in the last cycle of a job that becomes the ``LOG`` of its refusal.
    ``unlogged``: High for a ``LOG`` that leaves no record.
    """

    def __init__(self, bits: int, queues: int) -> None:
        self.wishing = Signal(queues)
        self.waits = Signal()
        self.queue = Signal(bits, name="queue")
        self.following = Signal(bits, name="following_queue")
        self.busy = Signal(name="has_job")
        self.fresh = Signal()
        self.ends = Signal()
        self.over = Signal()
        self.word = Signal(range(RECORD_WORDS))
        self.advance = Signal()
        self.last_word = Signal()
        self.copied = Signal()
        self.stale = Signal()
        self.begins = Signal()
        self.skipped = Signal()
        self.refused = Signal()
        self.is_ = {job: Signal(name=f"is_{job.name.lower()}") for job in Job.__members__.values()}
        self.by = {cause: Signal(name=f"by_{cause.name.lower()}") for cause in Cause.__members__.values()}
        self.unlogged = self.is_[Job.LOG] & self.skipped

    def take(self, m: Module, wishes: Sequence[Value], error: Value, moving: Value) -> None:
        """Begins a job when none is in hand or the one in hand is over, of the queues in turn; not while an index is
        ``moving``.

        ``wishes``: The next job of each queue. In the cycle after ``over`` it no longer asks for what is done. A queue
            may have its turn although its wish is gone by then: its job is stale.
        ``error``: High if the error registers of ``queue`` are in use.
        """
        count = len(wishes)
        valid, waits, chosen = self.wishing, self.waits, self.following
        able, ended = Signal(count, name="able"), Signal(name="ended")
        free = (~self.busy | (self.ends & ~self.over)) & ~waits & ~moving
        mine = Cat(self.queue == number for number in range(count))
        m.d.comb += able.eq(valid & free.replicate(count) & ~(mine & (self.busy | ended).replicate(count)))
        #: Those after the one in hand go first.
        later = able & ((C((1 << count) - 2, count) << self.queue)[:count])
        first = Mux(later.any(), later, able)
        wish = data.View(Wish, select(chosen, wishes))
        m.d.sync += [
            valid.eq(Cat(data.View(Wish, each).valid for each in wishes)),
            waits.eq(able.any()),
            chosen.eq(first_set(first)),
            self.fresh.eq(self.begins),
            ended.eq(self.over),
            self.over.eq(self.ends & ~self.over),
        ]
        m.d.comb += self.begins.eq(waits & ~self.refused)
        with m.If(self.begins):
            m.d.sync += [self.busy.eq(1), self.queue.eq(chosen), self.stale.eq(~wish.valid)]
            m.d.sync += [signal.eq(wish.job == each) for each, signal in self.is_.items()]
            m.d.sync += [
                signal.eq((wish.job == Job.LOG) & (wish.cause == each)) for each, signal in self.by.items()
            ]
        with m.If(self.fresh):
            m.d.sync += self.skipped.eq(error)

    def turn(self, m: Module, job: Any, cause: Any, when: Value) -> None:
        """Makes another job of the one in hand, whose words count anew."""
        with m.If(when):
            m.d.sync += [signal.eq(int(each is job)) for each, signal in self.is_.items()]
            m.d.sync += [self.by[cause].eq(1), self.word.eq(0)]

    def step(self, m: Module) -> None:
        """Counts the words that ``advance`` moves."""
        m.d.comb += self.last_word.eq(self.advance & (self.word == RECORD_WORDS - 1))
        with m.If(self.begins):
            m.d.sync += [self.word.eq(0), self.copied.eq(0)]
        with m.Elif(self.advance):
            m.d.sync += [self.word.eq(self.word + 1), self.copied.eq(self.last_word)]

    def holds(self, m: Module, wanted: Value) -> Value:
        """High in the cycle before the last one of a job that was ``wanted`` all the time."""
        with m.If(self.busy & ~self.begins & ~wanted):
            m.d.sync += self.stale.eq(1)
        return self.ends & ~self.over & wanted & ~self.stale

    def end(self, m: Module, refused: Value) -> None:
        """Ends the job when it is over; one that was ``refused`` becomes the ``LOG`` of that."""
        m.d.comb += self.refused.eq(refused)
        with m.If(self.over & ~self.begins):
            m.d.sync += [signal.eq(0) for signal in (*self.is_.values(), *self.by.values())]
            m.d.sync += [self.busy.eq(0), self.copied.eq(0)]
        with m.If(self.refused):
            m.d.sync += [
                self.busy.eq(1),
                self.is_[Job.LOG].eq(1),
                self.by[Cause.REFUSED].eq(1),
                self.word.eq(0),
            ]
