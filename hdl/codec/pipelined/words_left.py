"""The number of words left of a packet, window by window."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import thermometer
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["WordsLeft"]


class WordsLeft(wiring.Component):
    """Counts down the words of a packet, from one window to the next.

    ``length``
        Number of words of each packet. It is accepted when the packet before is ``done``.
    ``known``
        Is high from the cycle after a length is accepted until the packet is done.
    ``next``
        Goes on to the next window.
    ``done``
        Ends the packet.

    The outputs below are valid from the cycle after ``known`` rises and after ``next``.

    ``nothing``
        Says that no word is left.
    ``final``
        Says that no window follows this one.
    ``exists``
        Says which words of the window exist.
    ``more``
        Says which beats of the window have another beat after them, as a thermometer.
    ``words``
        Number of words in the last beat of the window, less one.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "length": In(stream.Signature(32)),
                "next": In(1),
                "done": In(1),
                "known": Out(1),
                "nothing": Out(1),
                "final": Out(1),
                "exists": Out(config.format.window),
                "more": Out(config.beats - 1),
                "words": Out(range(config.lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        window, levels = self.config.format.window, exact_log2(self.config.lanes)
        remaining = Signal(32)
        low = remaining[: exact_log2(window) + 1]
        last = (low - 1)[: exact_log2(window)]
        #: At least one window follows this one; at least two do.
        others = Signal()
        more_others = Signal()
        m.d.comb += self.length.ready.eq(~self.known)
        m.d.sync += more_others.eq(remaining > 2 * window)
        with m.If(~self.known):
            m.d.sync += [
                remaining.eq(self.length.payload),
                others.eq(self.length.payload > window),
                self.known.eq(self.length.valid),
            ]
        with m.If(self.next):
            m.d.sync += [remaining.eq(remaining - window), others.eq(more_others)]
        with m.If(self.done):
            m.d.sync += self.known.eq(0)
        m.d.sync += [
            self.nothing.eq(remaining == 0),
            self.final.eq(~others),
            self.exists.eq(Mux(others, ~0, thermometer(low, window))),
            self.more.eq(Mux(others, ~0, thermometer(last >> levels, self.config.beats - 1))),
            self.words.eq(Mux(others, ~0, last[:levels])),
        ]
        return m
