"""Permission for a unit's writer: it may take beats of the next stripe before the command of that stripe."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.gather import EARLY
from cdma.hdl.blocks.fifo import Fifo

from .plan import UnitPlan

__all__ = ["Ahead", "early_stripes"]


def early_stripes(plan: UnitPlan) -> bool:
    """Whether a whole stripe meets the conditions of :class:`.Gather` for an early packet: alignment and room."""
    return plan.dev.burst >= EARLY and plan.config.stripe_bytes * 8 >= EARLY * plan.dev.data_bits


class Ahead(wiring.Component):
    """Tracks whether a whole stripe is queued behind the current stripe.

    ``given``, ``whole``
        A stripe enters the queue of the writer's commands; it is whole. The queue holds up to ``depth`` stripes, and has
        the latency of a :class:`.Fifo`.
    ``busy``
        There is a current command.
    ``taken``
        Pulse: the current command is taken.
    ``ahead``
        The input of that name of the :class:`.Gather`. Low in the first cycle of a command. High later if a whole stripe
        follows: two cycles after the command of that stripe has left the queue, or its predecessor is taken.
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
