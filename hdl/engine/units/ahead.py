"""Says to a unit's writer that the beats of the next stripe may come before its command."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.gather import EARLY
from cdma.hdl.blocks.fifo import Fifo

from .plan import UnitPlan

__all__ = ["Ahead", "early_stripes"]


def early_stripes(plan: UnitPlan) -> bool:
    """Whether a whole stripe begins with a beat, and has room, as :class:`.Gather` wants it of a packet that comes early."""
    return plan.dev.burst >= EARLY and plan.config.stripe_bytes * 8 >= EARLY * plan.dev.data_bits


class Ahead(wiring.Component):
    """Knows of the stripe after the one in hand whether it is there, and whole.

    ``given``, ``whole``
        A stripe goes into the queue of the writer's commands; it has all of its words. No more than ``depth`` are in
        that queue, which has the latency of a :class:`.Fifo`.
    ``busy``
        A command is in hand.
    ``taken``
        It is taken.
    ``ahead``
        That of the :class:`.Gather`: low in the first cycle of a command, and from then on high if a whole stripe follows,
        from the second cycle after its command came out of the queue or the one before it is taken.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        super().__init__({"given": In(1), "whole": In(1), "busy": In(1), "taken": In(1), "ahead": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stripes = stripes = Fifo(1, self.depth, reserved=True)
        #: The stripe in hand has left the queue, and the next one is at its output.
        passed = Signal()
        m.d.comb += [
            stripes.input.valid.eq(self.given),
            stripes.input.payload.eq(self.whole),
            stripes.output.ready.eq(self.busy & ~passed),
            self.ahead.eq(passed & stripes.output.valid & stripes.output.payload),
        ]
        m.d.sync += passed.eq(self.busy & ~self.taken)
        return m
