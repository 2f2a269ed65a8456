"""The number of words left of a packet, window by window."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import thermometer
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["WordsLeft"]

#: Bits of a number of words that a look-up table of an FPGA makes a mask of.
_GROUP = 3


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
        size = exact_log2(window)
        remaining = Signal(32)
        last = (remaining[:size] - 1)[:size]
        partial = self._find_partial(m)
        #: At least one window follows this one; at least two do.
        others = Signal()
        more_others = Signal()
        #: The window is not partial.
        full = Signal()
        m.d.comb += [self.length.ready.eq(~self.known), full.eq(others | remaining[size])]
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
            self.exists.eq(full.replicate(window) | partial),
            self.more.eq(Mux(others, ~0, thermometer(last >> levels, self.config.beats - 1))),
            self.words.eq(Mux(others, ~0, last[:levels])),
        ]
        return m

    def _find_partial(self, m: Module) -> Value:
        """Which words of a window exist that is partial, from the cycle in which ``known`` rises.

        A packet has only one such window, and its words are the lowest bits of the length. In groups of ``2**_GROUP`` words
        those exist that are before the last group with words, and the first ones in that.
        """
        window = self.config.format.window
        step = min(_GROUP, exact_log2(window))
        words = self.length.payload[: exact_log2(window)]
        groups, size = window >> step, 1 << step
        # The last group is never before another one, and the last word of a group is never one of its first.
        before = Signal(groups - 1)
        here = Signal(groups)
        first = Signal(size - 1)
        with m.If(~self.known):
            m.d.sync += [
                before.eq(thermometer(words[step:], len(before))),
                here.eq(Cat(words[step:] == group for group in range(groups))),
                first.eq(thermometer(words[:step], len(first))),
            ]
        return Cat(
            Cat(before, 0)[group].replicate(size) | Mux(here[group], Cat(first, 0), 0)
            for group in range(groups)
        )
