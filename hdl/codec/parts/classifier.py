"""Finds the code of each word of a beat."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.spec.codec import CodecConfig

from .interface import table_members

__all__ = ["Classifier", "table_of"]


def table_of(component: wiring.PureInterface, config: CodecConfig) -> list[Value]:
    """The entries of the frequent-value table: constants, or the run-time port of ``component``."""
    if config.runtime_values:
        values = component.values
        return [values[entry] for entry in range(config.table_size)]
    return [Value.cast(entry) for entry in config.format.values]


class Classifier(wiring.Component):
    """Compares each word with the table; combinational.

    ``codes`` has the code of the lowest entry that equals the word, all ones where none does, and 0 where ``keep`` says
    that there is no word.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        members = {
            "data": In(data.ArrayLayout(fmt.word_bits, config.lanes)),
            "keep": In(config.lanes),
            "codes": Out(data.ArrayLayout(fmt.code_bits, config.lanes)),
        }
        super().__init__({**members, **table_members(config)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self.config.format
        table = table_of(self, self.config)
        for lane in range(self.config.lanes):
            equal = Signal(len(table), name=f"equal_{lane}")
            m.d.comb += equal.eq(Cat(self.data[lane] == entry for entry in table))
            code: Value = Value.cast(fmt.literal_code)
            for entry in reversed(range(len(table))):
                code = Mux(equal[entry], entry, code)
            with m.If(self.keep[lane]):
                m.d.comb += self.codes[lane].eq(code)
        return m
