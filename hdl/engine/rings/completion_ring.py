"""The state of a ring of completions in host memory."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.spec.engine import EngineConfig

__all__ = ["CompletionRing"]


class CompletionRing(wiring.Component):
    """The state of one ring of completions: at most ``2**ring_log2`` of them are ahead of ``tail``.

    ``enable``
        Enables the ring.
    ``head``, ``index``
        Index after the last completion whose write response has come, and of the next completion. Both are 0 while
        ``enable`` is low and nothing is ``in_flight``.
    ``may_begin``
        High while software has left the slot at ``index`` free and a completion may be sent there. Low in the two
        cycles after ``index`` has changed, and a cycle longer than ``enable``.
    ``phase``
        Phase bit of the completion at ``index``, a cycle after that has changed.
    ``commit``, ``tag``, ``interrupt``
        Pulse: the completion at ``index`` is sent, with its tag, and whether it counts towards the interrupt.
    ``expects``
        High while a completion waits for its response.
    ``answer``
        Pulse: the response to the oldest one. They come in order.
    ``counts``, ``answered_tag``
        ``interrupt`` and ``tag`` of the oldest one.
    ``in_flight``
        High while a completion is in flight.
    ``aborting``, ``settling``
        ``settling`` is high from a cycle after ``aborting`` rises, until the responses of all completions that are in
        flight when it falls have come.
    """

    def __init__(self, config: EngineConfig) -> None:
        index = config.index_bits
        self.most = config.ring_completions
        super().__init__(
            {
                "enable": In(1),
                "ring_log2": In(4),
                "tail": In(index),
                "head": Out(index),
                "index": Out(index),
                "may_begin": Out(1),
                "phase": Out(1),
                "commit": In(1),
                "tag": In(32),
                "interrupt": In(1),
                "answer": In(1),
                "counts": Out(1),
                "answered_tag": Out(32),
                "expects": Out(1),
                "in_flight": Out(1),
                "aborting": In(1),
                "settling": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.pending = pending = Fifo(
            data.StructLayout({"tag": 32, "interrupt": 1}), self.most, reserved=True
        )
        m.d.comb += [
            pending.input.valid.eq(self.commit),
            pending.input.payload.tag.eq(self.tag),
            pending.input.payload.interrupt.eq(self.interrupt),
            pending.output.ready.eq(self.answer),
            self.expects.eq(pending.output.valid),
            self.counts.eq(pending.output.payload.interrupt),
            self.answered_tag.eq(pending.output.payload.tag),
        ]
        credit = self._count(m)
        self._move(m, credit)
        return m

    def _move(self, m: Module, credit: Signal) -> None:
        """Moves the indexes, and finds out in steps whether the slot at ``index`` is free."""
        closing = Signal()
        ahead = Signal.like(self.head)
        space = Signal(reset_less=True)
        # ``space`` knows the index a cycle after it has moved. That it allows nothing before is added by ``moved``.
        moves = Signal()
        moved = Signal()
        m.d.comb += ahead.eq(self.index - self.tail)
        m.d.sync += [
            space.eq((ahead >> self.ring_log2) == 0),
            self.phase.eq(~self.index.bit_select(self.ring_log2, 1)),
            moved.eq(moves),
            self.may_begin.eq(self.enable & ~closing & space & credit & ~moves & ~moved),
        ]
        with m.If(self.commit):
            m.d.comb += moves.eq(1)
            m.d.sync += self.index.eq(self.index + 1)
        # A ring that was disabled, however shortly, begins anew, but not before all responses have come.
        begins_anew = (~self.enable | closing) & ~self.in_flight & ~self.commit
        with m.If(begins_anew):
            m.d.comb += moves.eq(1)
            m.d.sync += [self.index.eq(0), closing.eq(0)]
        with m.Elif(~self.enable):
            m.d.sync += closing.eq(1)

    def _count(self, m: Module) -> Signal:
        """Counts the completions in flight, and after an abort those of them that were in flight at its end; gives
        whether a further one may be."""
        count = Signal(range(self.most + 1))
        next_count = Signal.like(count)
        left = Signal.like(count)
        next_left = Signal.like(count)
        credit = Signal()
        m.d.comb += [
            next_count.eq(count + self.commit - self.answer),
            credit.eq(count != self.most),
            self.head.eq(self.index - count),
        ]
        with m.If(self.aborting):
            m.d.comb += next_left.eq(next_count)
        with m.Else():
            m.d.comb += next_left.eq(left - (self.answer & self.settling))
        m.d.sync += [
            count.eq(next_count),
            self.in_flight.eq(next_count != 0),
            left.eq(next_left),
            self.settling.eq(next_left != 0),
        ]
        return credit
