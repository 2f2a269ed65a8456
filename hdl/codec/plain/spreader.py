"""Makes the words of a planned beat."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.gates import thermometer
from cdma.hdl.codec.parts.classifier import field_word, sent_of, table_of, table_word
from cdma.hdl.codec.parts.interface import table_members
from cdma.hdl.spec.codec import CodecConfig

from .expander import Expander
from .plan import Plan

__all__ = ["Spreader"]


class Spreader(wiring.Component):
    """Spreads the literals of a beat to their lanes, and adds the words that are not literals. Combinational.

    ``plan``
        The beat.
    ``fails``
        Says that it cannot be delivered. Literals that are missing are not stable, so they do not reach the output then.
    ``window``
        Its literals in the window of the rows; their complements if :attr:`inverted`.
    ``values``
        Table of frequent values, if the configuration leaves it to run time.
    ``data``
        The words.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        self.expander = Expander(fmt.stream_bits, config.units)
        super().__init__(
            {
                "plan": In(Plan(config)),
                "fails": In(1),
                "window": In(data.ArrayLayout(fmt.stream_bits, config.units)),
                **table_members(config),
                "data": Out(data.ArrayLayout(fmt.word_bits, config.lanes)),
            }
        )

    @property
    def inverted(self) -> bool:
        """Whether the window has complements."""
        return self.expander.inverted

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, plan = self.config, self.plan
        m.submodules.expander = expander = self.expander
        present = thermometer(plan.words, config.lanes) << 1 | 1
        m.d.comb += [
            expander.swap.eq(plan.swap),
            expander.straight.eq(plan.straight),
            expander.literal.eq(Mux(self.fails, 0, sent_of(plan.codes, present, config))),
            expander.input.eq(self.window),
        ]
        table = table_of(self, config)
        parts = config.format.parts
        for lane in range(config.lanes):
            code = plan.codes.word_select(lane, config.format.code_bits)
            if parts == 1:
                word = table_word(code, table) | expander.output[lane]
            else:
                of_word = Cat(expander.output[lane * parts + part] for part in range(parts))
                word = field_word(code, table, of_word, config)
            m.d.comb += self.data[lane].eq(word)
        return m
