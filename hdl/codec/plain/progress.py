"""What becomes of the packet that a decompressor has in flight."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.parts.streams import Error, first_error

from .plan import Plan

__all__ = ["Progress"]


class Progress(wiring.Component):
    """Follows a packet to its end. What is left of one that fails, or that has words left over, is discarded first.

    ``starts``
        A packet starts.
    ``ends``, ``fails``, ``fits``
        The output of the packet ends; because of an error; with the last word of the input.
    ``plan``, ``rest_invalid``
        The beat with which it ends, and whether a code after it is invalid.
    ``missing``, ``bad_padding``
        What is wrong with its words.
    ``ended``
        The last beat of the packet has been accepted.
    ``stall``
        No packet may finish but with a beat that is delivered.
    ``busy``, ``discarding``
        A packet is in flight; what is left of it is discarded.
    ``finished``, ``error``
        The packet finishes, and with which error.
    """

    def __init__(self, plan: Plan) -> None:
        flags = (
            "starts",
            "ends",
            "fails",
            "fits",
            "rest_invalid",
            "missing",
            "bad_padding",
            "ended",
            "stall",
        )
        super().__init__(
            {
                **{name: In(1) for name in flags},
                "plan": In(plan),
                "busy": Out(1),
                "discarding": Out(1),
                "finished": Out(1),
                "error": Out(Error),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        busy = Signal()
        discarding = Signal()
        finished_well = Signal()
        error = Signal(Error, name="kept_error", reset_less=True)
        m.d.comb += [
            self.busy.eq(busy),
            self.discarding.eq(discarding),
            finished_well.eq(self.ends & ~self.fails & self.fits),
            self.finished.eq(finished_well | (discarding & self.ended & ~self.stall)),
            self.error.eq(Mux(discarding, error, Error.NONE)),
        ]
        with m.If(self.ends & ~finished_well):
            m.d.sync += [
                discarding.eq(1),
                error.eq(
                    first_error(
                        (self.plan.error != Error.NONE, self.plan.error),
                        (self.missing & ~self.plan.last & self.rest_invalid, Error.CODE),
                        (self.missing, Error.TRUNCATED),
                        (self.bad_padding, Error.PADDING),
                        otherwise=Error.TRAILING,
                    )
                ),
            ]
        with m.Elif(self.finished):
            m.d.sync += discarding.eq(0)
        m.d.sync += busy.eq(self.starts | (busy & ~self.finished))
        return m
