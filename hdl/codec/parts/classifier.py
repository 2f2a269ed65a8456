"""The codes of words: which code each word of a beat has, and which word each code stands for."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.gates import one_of
from cdma.hdl.spec.codec import CodecConfig

from .interface import table_members

__all__ = [
    "Classifier",
    "decoded",
    "field_word",
    "literals_of",
    "rotated",
    "sent_of",
    "table_of",
    "table_word",
]


def table_of(component: wiring.PureInterface, config: CodecConfig) -> list[Value]:
    """The entries of the frequent-value table: constants, or the run-time port of ``component``."""
    if config.runtime_values:
        values = component.values
        return [values[entry] for entry in range(config.table_size)]
    return [Value.cast(entry) for entry in config.format.values]


def literals_of(codes: Value, config: CodecConfig) -> Value:
    """Says for each lane of a beat whether its code in ``codes`` is that of a literal."""
    return Cat(codes.word_select(lane, config.format.code_bits).all() for lane in range(config.lanes))


def sent_of(codes: Value, present: Value, config: CodecConfig) -> Value:
    """Says for each stream word of a beat whether the stream has it, by ``codes`` and by which words are ``present``.

    A code says that of each part of its word: of a literal all are in the stream, of a frequent field those outside the
    field, and of zero none.
    """
    fmt = config.format
    literal = literals_of(codes, config)
    if fmt.parts == 1:
        return literal
    outside = fmt.parts - fmt.field_bits // 8
    sent: list[Value] = []
    for lane in range(config.lanes):
        # A word that is not present has code 0, which without ``zero`` is that of a frequent field.
        partly = codes.word_select(lane, fmt.code_bits).any() if fmt.zero else present[lane]
        sent += [*[partly] * outside, *[literal[lane]] * (fmt.parts - outside)]
    return Cat(sent)


def rotated(word: Value, config: CodecConfig) -> Value:
    """The word with its field on top, as the stream has it."""
    return word.rotate_left(config.format.rotate) if config.format.rotate else word


def field_word(code: Value, table: Sequence[Value], parts: Value, config: CodecConfig) -> Value:
    """The word that ``code`` stands for, in a format with a field, from the ``parts`` that the stream has of it.

    The other parts are 0.
    """
    fmt = config.format
    # The codes of the entries follow that of zero, if there is one.
    field = table_word(code, table, int(fmt.zero)) if table else Const(0)
    return (parts | field << (fmt.word_bits - fmt.field_bits))[: fmt.word_bits].rotate_right(fmt.rotate)


def decoded(code: Value, table: Sequence[Value], is_literal: Value, literal: Value) -> Value:
    """The word that ``code`` stands for: ``literal`` if ``is_literal``, or else the entry of ``table``."""
    return Mux(is_literal, literal, 0) | table_word(code, table)


def table_word(code: Value, table: Sequence[Value], first: int = 0) -> Value:
    """The entry of ``table`` that ``code`` stands for, the first of them with the code ``first``; 0 if that is none."""
    return one_of(*((code == entry, value) for entry, value in enumerate(table, first)))


class Classifier(wiring.Component):
    """Compares each word of a beat, or its field, with the table. Combinational, or ``pipelined``: a cycle later, with
    registers after the first level of comparisons.

    ``data``, ``keep``
        Words of the beat, and which of them are valid.
    ``codes``
        Code of each word: that of the lowest entry that equals the word or its field, or all ones if no entry does. A word
        that is not valid has code 0, and so has one of zeros in a format with ``zero``.
    """

    def __init__(self, config: CodecConfig, *, pipelined: bool = False) -> None:
        self.config = config
        self.pipelined = pipelined
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
        keep = self.keep
        if self.pipelined:
            keep = Signal.like(self.keep, name="kept", reset_less=True)
            m.d.sync += keep.eq(self.keep)
        for lane in range(self.config.lanes):
            equal = Signal(len(table), name=f"equal_{lane}")
            field = rotated(self.data[lane], self.config)[fmt.word_bits - fmt.entry_bits :]
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
        """Whether the two are equal; a register says which parts differ, of as many bits as a look-up table compares."""
        if not self.pipelined:
            return word == entry
        bits = 4 if isinstance(entry, Const) else 2
        starts = range(0, len(word), bits)
        differs = Signal(len(starts), name=name, reset_less=True)
        m.d.sync += differs.eq(Cat(word[at : at + bits] != entry[at : at + bits] for at in starts))
        return ~differs.any()
