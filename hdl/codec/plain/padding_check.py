"""Looks for padding that is not zero."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import thermometer
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["PaddingCheck"]


class PaddingCheck(wiring.Component):
    """Says whether the padding after a planned beat is not zero. Combinational.

    ``window``, ``offset``
        The words that the window of :class:`~cdma.hdl.codec.plain.word_rows.WordRows` has, and the lane of beat 0 in which
        it begins.
    ``following``
        The beat after beat 0.
    ``end``
        Position after the padding, counted from lane 0 of beat 0.
    ``padding``
        Number of words of padding.
    ``wrong``
        Says that one of them is not zero. All must have arrived.

    Padding ends at a multiple of its greatest length, plus one, and a beat has a multiple of that, so it is in one beat. If
    that is the one after beat 0, it may be beyond the window.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        units = config.units
        row = data.ArrayLayout(config.format.stream_bits, units)
        super().__init__(
            {
                "window": In(row),
                "offset": In(range(units)),
                "following": In(row),
                "end": In(range(2 * units + 1)),
                "padding": In(range(config.format.align_words)),
                "wrong": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units, group = self.config.units, self.config.format.align_words
        #: The lane of the last word of padding, and how many of its group of lanes are padding.
        last_lane = Signal(range(units))
        padded = Signal(group)
        #: Lanes of the window with words of beat 0, whose padding is in the beat after it.
        beyond = Signal(units)
        m.d.comb += [
            last_lane.eq((self.end - 1)[: exact_log2(units)]),
            padded.eq(Cat(reversed(list(thermometer(self.padding, group))))),
            beyond.eq(Mux(self.end > units, ~thermometer(self.offset, units), 0)),
        ]
        found = []
        for lane in range(units):
            here = (last_lane // group == lane // group) & padded[lane % group]
            found.append(here & Mux(beyond[lane], self.following[lane].any(), self.window[lane].any()))
        m.d.comb += self.wrong.eq(Cat(found).any())
        return m
