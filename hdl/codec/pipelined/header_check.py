"""What the header of a window says: its literals, and whether its codes are valid."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.gates import popcount
from cdma.hdl.codec.parts.interface import has_one_entry
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["HeaderCheck"]


class HeaderCheck(wiring.Component):
    """Counts the literals of each beat of a window, and finds invalid codes.

    ``codes``
        The header.
    ``exists``
        Says which words of the window exist.
    ``more``
        Says which beats have another beat after them, as a thermometer.
    ``one_entry``
        Says that of the table only entry 0 counts.
    ``counts``
        Number of literals in each beat. Latency: one cycle.
    ``total``
        Number of literals in the window. Latency: two cycles.
    ``adding``
        Marks the cycle before ``total`` of a window is first valid.
    ``step``
        Is ``total`` in the cycle after ``adding``, and otherwise 0.
    ``bad``
        Says which beats have a code past the table, and marks the last beat if a code past the end of the packet is
        not 0. Latency: two cycles.
    ``any_bad``
        Says that a beat is bad. Latency: two cycles.
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
                "one_entry": In(1),
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
            elif has_one_entry(config):
                m.d.sync += undefined[beat].eq(
                    self.one_entry
                    & Cat(self.exists[word] & each[word].any() & ~each[word].all() for word in words).any()
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
