"""Inputs in another clock domain than the Q-channel, which take nothing more before that accepts."""

from amaranth.hdl import DomainRenamer, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.synchroniser import Synchroniser

__all__ = ["Closing"]


class Closing(wiring.Component):
    """Closes inputs of the domain ``bus`` from the domain ``sync``, by a handshake of four phases.

    ``closed``
        The inputs are to take nothing. It may change at any time.
    ``shut``
        They have taken nothing, and all is answered, since ``closed`` rose.
    ``closes``
        The bus: the inputs take nothing more.
    ``open``
        The bus: something is taken, or not answered yet.
    """

    def __init__(self, *, bus: str) -> None:
        self.bus = bus
        super().__init__({"closed": In(1), "shut": Out(1), "closes": Out(1), "open": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        closes_seen = Synchroniser()
        m.submodules.closes_seen = DomainRenamer(self.bus)(closes_seen)
        m.submodules.rests_seen = rests_seen = Synchroniser()
        asks = Signal(init=1)
        # A reset of the bus leaves nothing open, and cuts no handshake short.
        rests = Signal(name="rests_level", reset_less=True)
        m.d[self.bus] += rests.eq(self.closes & ~self.open)
        with m.If(asks == rests_seen.output):
            m.d.sync += asks.eq(self.closed)
        m.d.comb += [
            closes_seen.input.eq(asks),
            self.closes.eq(closes_seen.output),
            rests_seen.input.eq(rests),
            self.shut.eq(asks & rests_seen.output & self.closed),
        ]
        return m
