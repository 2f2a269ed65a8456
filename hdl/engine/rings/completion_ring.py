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
        ``enable`` is low and nothing is ``under_way``.
    ``may_begin``
        High while software has left the slot at ``index`` free.
    ``phase``
        Phase bit of the completion at ``index``.
    ``commit``, ``tag``, ``interrupt``
        Pulse: the completion at ``index`` is sent, with its tag, and whether it counts towards the interrupt.
    ``expects``
        High while a completion waits for its response.
    ``answer``
        Pulse: the response to the oldest one. They come in order.
    ``counts``, ``answered_tag``
        ``interrupt`` and ``tag`` of the oldest one.
    ``under_way``
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
                "under_way": Out(1),
                "aborting": In(1),
                "settling": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.pending = pending = Fifo(data.StructLayout({"tag": 32, "interrupt": 1}), self.most)
        closing = Signal()
        ahead = Signal.like(self.head)
        m.d.comb += [
            ahead.eq(self.index - self.tail),
            self.may_begin.eq(
                self.enable & ~closing & ((ahead >> self.ring_log2) == 0) & pending.input.ready
            ),
            self.phase.eq(~self.index.bit_select(self.ring_log2, 1)),
            pending.input.valid.eq(self.commit),
            pending.input.payload.tag.eq(self.tag),
            pending.input.payload.interrupt.eq(self.interrupt),
            pending.output.ready.eq(self.answer),
            self.expects.eq(pending.output.valid),
            self.counts.eq(pending.output.payload.interrupt),
            self.answered_tag.eq(pending.output.payload.tag),
        ]
        m.d.sync += [self.index.eq(self.index + self.commit), self.head.eq(self.head + self.answer)]
        self._settle(m)
        # A ring that was disabled, however shortly, begins anew, but not before all responses have come.
        with m.If((~self.enable | closing) & ~self.under_way & ~self.commit):
            m.d.sync += [self.head.eq(0), self.index.eq(0), closing.eq(0)]
        with m.Elif(~self.enable):
            m.d.sync += closing.eq(1)
        return m

    def _settle(self, m: Module) -> None:
        """Counts the completions in flight, and after an abort those of them that were in flight at its end."""
        in_flight = Signal(range(self.most + 1))
        in_flight_next = Signal.like(in_flight)
        left = Signal.like(in_flight)
        m.d.comb += [
            in_flight_next.eq(in_flight + self.commit - self.answer),
            self.under_way.eq(in_flight != 0),
            self.settling.eq(left != 0),
        ]
        m.d.sync += in_flight.eq(in_flight_next)
        with m.If(self.aborting):
            m.d.sync += left.eq(in_flight_next)
        with m.Elif(self.answer & self.settling):
            m.d.sync += left.eq(left - 1)
