"""What the header of a window says."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.gates import popcount
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["HeaderCheck"]


class HeaderCheck(wiring.Component):
    """Counts the literals of each beat of a window, and looks for codes that cannot be.

    ``codes``, ``exists``
        The header, and which words there are.
    ``counts``, ``total``
        The literals of each beat, a cycle later, and of all, two cycles later.
    ``adding``, ``step``
        High when ``total`` is found: then ``step`` is the same, for one cycle, and otherwise 0.
    ``bad``, ``any_bad``
        Beats with a code past the table, and the last one if a code past the packet's end is not 0, two cycles later;
        whether there is any.
    ``more``
        Beats that have another behind them.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        super().__init__(
            {
                "codes": In(fmt.window * fmt.code_bits),
                "exists": In(fmt.window),
                "more": In(config.beats - 1),
                "adding": In(1),
                "counts": Out(data.ArrayLayout(range(config.lanes + 1), config.beats)),
                "total": Out(range(fmt.window + 1)),
                "step": Out(range(fmt.window + 1)),
                "bad": Out(config.beats),
                "any_bad": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        fmt, lanes = config.format, config.lanes
        undefined = Signal(config.beats)
        past = Signal()
        each = [self.codes.word_select(word, fmt.code_bits) for word in range(fmt.window)]
        for beat in range(config.beats):
            words = range(beat * lanes, (beat + 1) * lanes)
            m.d.sync += self.counts[beat].eq(popcount(Cat(each[word].all() for word in words), 4))
            if config.table_size < fmt.literal_code:
                m.d.sync += undefined[beat].eq(
                    Cat(
                        self.exists[word] & (each[word] >= config.table_size) & ~each[word].all()
                        for word in words
                    ).any()
                )
        last = ~Cat(self.more, 0) & Cat(1, self.more)
        total = Signal.like(self.total)
        m.d.comb += total.eq(sum(self.counts[beat] for beat in range(config.beats)))
        m.d.sync += [
            self.total.eq(total),
            self.step.eq(Mux(self.adding, total, 0)),
            past.eq(Cat(~self.exists[word] & each[word].any() for word in range(fmt.window)).any()),
            self.bad.eq(undefined | (last & past.replicate(config.beats))),
            self.any_bad.eq(undefined.any() | past),
        ]
        return m
