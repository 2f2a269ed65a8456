"""What two clock domains tell each other of their resets, so that each may be reset alone."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .synchroniser import Synchroniser

__all__ = ["LinkEnd", "join_ends"]


class LinkEnd(wiring.Component):
    """One end of a crossing of :class:`.AsyncFifo`; the other domain has the other end.

    A reset closes the end until a handshake of four phases is through, which ends after the reset, and in which the other
    end closes too and finishes what is open. Each sets its indices back while the other one does not look at them. No
    reset cuts a handshake short, however short it is; from any start values both ends find into one.

    ``down``, ``heard``
        This end asks for the handshake; it answers the other end.
    ``other_down``, ``other_heard``
        The same of the other end.
    ``settled``
        Nothing is open that the other end knows of.
    ``open``
        Transfers may pass. What is open when this falls must be finished without the other side.
    ``clear``
        Sets the indices of this side back.
    """

    down: Out(1)
    heard: Out(1)
    other_down: In(1)
    other_heard: In(1)
    settled: In(1)
    open: Out(1)
    clear: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.other_down_seen = down_seen = Synchroniser()
        m.submodules.other_heard_seen = heard_seen = Synchroniser()
        other_down, other_heard = down_seen.output, heard_seen.output
        down, heard, cleared = (
            Signal(name=f"{name}_level", reset_less=True) for name in ("down", "heard", "cleared")
        )
        #: There was a reset, and no handshake since.
        restart = Signal(init=1)
        in_reset = Signal(init=1)
        hears = Signal()
        m.d.comb += [
            down_seen.input.eq(self.other_down),
            heard_seen.input.eq(self.other_heard),
            self.down.eq(down),
            self.heard.eq(heard),
            self.open.eq(~(restart | down | heard | other_down | other_heard)),
            hears.eq(other_down & (heard | self.settled)),
            self.clear.eq(heard | hears | other_heard),
        ]
        m.d.sync += [heard.eq(hears), in_reset.eq(0)]
        with m.If(~down):
            m.d.sync += down.eq(restart & ~other_heard)
        with m.Elif(other_heard & ~in_reset):
            # The indices are 0 a cycle before the other end can see that this one is through.
            m.d.sync += [cleared.eq(~cleared), down.eq(~cleared), restart.eq(~cleared)]
        return m


def join_ends(m: Module, one: LinkEnd, other: LinkEnd) -> None:
    """Connects both ends of a link."""
    for here, there in ((one, other), (other, one)):
        m.d.comb += [here.other_down.eq(there.down), here.other_heard.eq(there.heard)]
