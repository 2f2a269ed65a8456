"""Codes of words: what the stream has of a word, the code of each word, and the word that a code stands for."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import one_of, popcount
from cdma.hdl.blocks.elaboration import Pace
from cdma.hdl.spec.codec import CodecConfig

from .interface import has_one_entry, table_members


def table_of(component: wiring.PureInterface, config: CodecConfig) -> list[Value]:
    """The entries of the frequent-value table: constants, or the port ``values`` of ``component``."""
    if config.runtime_values:
        return [component.values[entry] for entry in range(config.table_size)]
    return [Value.cast(entry) for entry in config.format.values]


def _literals_of(codes: Value, config: CodecConfig) -> Value:
    """The lanes of a beat with the code of a literal."""
    return Cat(codes.word_select(lane, config.format.code_bits).all() for lane in range(config.lanes))


def count_literals(codes: Value, stored: Value, config: CodecConfig, inputs: int = 2) -> Value:
    """The number of literals of a beat with ``stored`` words in the stream; ``inputs`` is that of ``popcount``."""
    return popcount(_literals_of(codes, config), inputs) if config.format.parts > 1 else stored


def sent_of(codes: Value, present: Value, config: CodecConfig) -> Value:
    """The stream words of a beat that the stream has, by the ``codes`` of its words and by which words are ``present``.

    The stream has all parts of a literal, the parts outside the field of a word with a frequent field, and none of a word
    of zeros.
    """
    fmt = config.format
    literal = _literals_of(codes, config)
    if fmt.parts == 1:
        return literal
    outside = fmt.parts - fmt.field_bits // 8
    sent: list[Value] = []
    for lane in range(config.lanes):
        # A word that is not present has code 0, which without ``zero`` is that of a frequent field.
        partly = codes.word_select(lane, fmt.code_bits).any() if fmt.zero else present[lane]
        sent += [*[partly] * outside, *[literal[lane]] * (fmt.parts - outside)]
    return Cat(sent)


def rotated(words: Sequence[Value], config: CodecConfig) -> Value:
    """The words with their fields on top, as they are in the stream."""
    return Cat(word.rotate_left(config.format.rotate) for word in words)


def entry_of(code: Value, table: Sequence[Value], config: CodecConfig) -> Value:
    """The entry of the ``table`` with this ``code``; 0 if the code has none."""
    # The codes of the entries follow that of zero, if there is one.
    return one_of(*((code == number, value) for number, value in enumerate(table, int(config.format.zero))))


def word_of(code: Value, table: Sequence[Value], stored: Value, config: CodecConfig) -> Value:
    """The word of a ``code``, from its parts in the stream: ``stored`` has 0 in place of all others."""
    fmt, entry = config.format, entry_of(code, table, config)
    if fmt.parts == 1:
        return entry | stored
    return (stored | entry << (fmt.word_bits - fmt.field_bits))[: fmt.word_bits].rotate_right(fmt.rotate)


def undefined(code: Value, one_entry: Value, config: CodecConfig) -> list[Value]:
    """The conditions under which no word has this ``code``: it is past the table, or past entry 0 while ``one_entry``."""
    fmt = config.format
    codes = config.table_size + fmt.zero
    if codes < fmt.literal_code:
        return [(code >= codes) & ~code.all()]
    other = code > 1 if fmt.zero else code.any()
    return [one_entry & other & ~code.all()] * has_one_entry(config)


class Classifier(wiring.Component):
    """Compares each word of a beat, or its field, with the table.

    Latency: none, or one cycle if ``pipelined``, with registers after the first level of comparisons.

    ``data``, ``keep``: Words of the beat, and which of them are valid.
    ``codes``: Code of each word: that of the lowest entry that equals the word or its field, or all ones if no entry
        does. A word that is not valid has code 0, and so has a word of zeros in a format with ``zero``.
    """

    def __init__(self, config: CodecConfig, *, pipelined: bool = False) -> None:
        self.config = config
        self.pipelined = pipelined
        fmt = config.format
        super().__init__(
            {
                "data": In(data.ArrayLayout(fmt.word_bits, config.lanes)),
                "keep": In(config.lanes),
                "codes": Out(data.ArrayLayout(fmt.code_bits, config.lanes)),
                **table_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt = self.config.format
        table = table_of(self, self.config)
        keep = Pace(m, self.pipelined).late(self.keep, "kept")
        for lane in range(self.config.lanes):
            equal = Signal(len(table), name=f"equal_{lane}")
            field = self.data[lane].rotate_left(fmt.rotate)[fmt.word_bits - fmt.entry_bits :]
            m.d.comb += equal.eq(
                Cat(
                    self._equal(m, field, entry, f"differs_{lane}_{number}")
                    for number, entry in enumerate(table)
                )
            )
            code: Value = Value.cast(fmt.literal_code)
            for entry in reversed(range(len(table))):
                code = Mux(equal[entry], entry + fmt.zero, code)
            if fmt.zero:
                code = Mux(self._equal(m, self.data[lane], Const(0), f"differs_{lane}_zero"), 0, code)
            with m.If(keep[lane]):
                m.d.comb += self.codes[lane].eq(code)
        return m

    def _equal(self, m: Module, word: Value, entry: Value, name: str) -> Value:
        """Whether two values are equal. A register has the parts that differ, each as wide as a look-up table compares."""
        if not self.pipelined:
            return word == entry
        bits = 4 if isinstance(entry, Const) else 2
        starts = range(0, len(word), bits)
        differs = Signal(len(starts), name=name, reset_less=True)
        m.d.sync += differs.eq(Cat(word[at : at + bits] != entry[at : at + bits] for at in starts))
        return ~differs.any()
