"""Takes the jobs of both channels, one at a time, and steps through the words of each."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from .interfaces import RECORD_WORDS
from .jobs import Cause, Job, Wish

__all__ = ["Conclusion", "Sequencer"]


class Conclusion(NamedTuple):
    """What comes of the job in hand, in its last cycle.

    ``asks``
        The descriptor at ``address`` is requested.
    ``sent``
        The completion is on its way to ``address``.
    ``bad``
        The engine may not touch ``address``.
    """

    asks: Value
    sent: Value
    bad: Value
    address: Value


class Sequencer:
    """The job in hand, as signals of one module. The methods add the statements that drive them, each once.

    A job begins with a cycle in which ``fresh`` is high, and ends with one in which ``over`` is high. That of the other
    channel may begin in the cycle after ``over``. The wishes and the choice go through a register each, so the same
    channel's begins four cycles after ``over`` at the earliest.

    ``begins``
        High in the cycle before ``fresh``.
    ``channel``
        Number of the channel that the job belongs to.
    ``busy``
        High while there is a job, from ``fresh`` to ``over``.
    ``fresh``, ``over``
        First and last cycle of the job. ``over`` follows ``ends`` by a cycle.
    ``ends``
        High once nothing is left to do.
    ``word``
        Number of the word that is moved next.
    ``advance``
        High in each cycle that moves a word.
    ``last_word``
        High in the cycle that moves the last word.
    ``copied``
        High once all words are moved.
    ``stale``
        High once the ring of the job was disabled, however shortly. The job then has no effect.
    ``skipped``
        High if the channel had an error in its registers when the job began. A further error leaves no record.
    ``is_``, ``by``
        One register for each :class:`.Job`, and for each :class:`.Cause` of a ``LOG``: high while that is in hand.
    ``refused``
        High in the last cycle of a job that becomes the ``LOG`` of its refusal.
    ``unlogged``
        High for a ``LOG`` that leaves no record.
    """

    def __init__(self) -> None:
        self.channel = Signal(name="channel")
        self.busy = Signal(name="has_job")
        self.fresh = Signal()
        self.ends = Signal()
        self.over = Signal()
        self.turn = Signal()
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

    def of_channel(self, values: Iterable[Value]) -> Value:
        """The one of two values that belongs to the channel in hand."""
        offload, prefetch = values
        return Mux(self.channel, prefetch, offload)

    def take(self, m: Module, wishes: Sequence[data.View], logged: Sequence[Value], stop: Value) -> None:
        """Begins a job when none is in hand or the one in hand is over, of the two channels in turn; none while ``stop``
        is high.

        ``wishes``
            The next job of each channel. In the cycle after ``over`` it no longer asks for what is done. One of the other
            channel may be begun although it is gone by then: it must do no harm.
        ``logged``
            High for a channel whose error registers are in use.
        """
        kept = [Signal(Wish, name=f"wish_{number}") for number in range(len(wishes))]
        m.d.sync += [register.eq(wish) for register, wish in zip(kept, wishes, strict=True)]
        ended = Signal()
        chosen = Signal()
        waits = Signal()
        able = Signal(len(wishes))
        for number, wish in enumerate(kept):
            mine = self.channel == number
            idle = ~self.busy & ~(ended & mine)
            m.d.comb += able[number].eq(wish.valid & (idle | (self.ends & ~self.over & ~mine)) & ~waits)
        next_chosen = Mux(self.turn, able[1], ~able[0])
        picked = Signal(Wish)
        next_picked = Mux(next_chosen, Value.cast(kept[1]), Value.cast(kept[0]))
        m.d.sync += [waits.eq(able.any()), chosen.eq(next_chosen), picked.eq(next_picked)]
        m.d.comb += self.begins.eq(waits & ~stop & ~self.refused)
        m.d.sync += [self.fresh.eq(self.begins), ended.eq(self.over), self.over.eq(self.ends & ~self.over)]
        with m.If(self.begins):
            m.d.sync += [
                self.busy.eq(1),
                self.channel.eq(chosen),
                self.turn.eq(~chosen),
                self.skipped.eq(Mux(chosen, logged[1], logged[0])),
            ]
            m.d.sync += [signal.eq(picked.job == each) for each, signal in self.is_.items()]
            m.d.sync += [
                signal.eq((picked.job == Job.LOG) & (picked.cause == each))
                for each, signal in self.by.items()
            ]

    def step(self, m: Module) -> None:
        """Counts the words that ``advance`` moves."""
        m.d.comb += self.last_word.eq(self.advance & (self.word == RECORD_WORDS - 1))
        with m.If(self.begins):
            m.d.sync += [self.word.eq(0), self.copied.eq(0), self.stale.eq(0)]
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
