"""Headers of a pipelined decompressor: the words left for each window, its literals, and its invalid codes."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import popcount, thermometer
from cdma.hdl.blocks.elaboration import flags
from cdma.hdl.codec.parts.codes import sent_of, undefined
from cdma.hdl.codec.parts.network import with_padding
from cdma.hdl.spec.codec import CodecConfig

#: Bits of a number of words that a look-up table of an FPGA converts to a mask.
_GROUP = 3


class WordsLeft(wiring.Component):
    """Counts down the words of a packet, from one window to the next.

    ``length``: Number of words of each packet. It is accepted when the packet before is ``done``.
    ``known``: High from the cycle after a length is accepted until the packet is done.
    ``next``: Proceeds to the next window.
    ``done``: Ends the packet.

    The outputs below are valid from the cycle after ``known`` rises and after ``next``.

    ``nothing``: No word is left.
    ``final``: No window follows this one.
    ``exists``: The words of the window that exist.
    ``more``: The beats of the window with another beat after them, as a thermometer.
    ``words``: Number of words in the last beat of the window, less one.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "length": In(stream.Signature(32)),
                **flags(In, "next", "done"),
                **flags(Out, "known", "nothing", "final"),
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
        """The words of a partial window, from the cycle in which ``known`` rises.

        A packet has only one such window, and its number of words is the lowest bits of the length. In groups of
        ``2**_GROUP`` words, it has the groups before the last one with words, and the first words of that.
        """
        window = self.config.format.window
        step = min(_GROUP, exact_log2(window))
        words = self.length.payload[: exact_log2(window)]
        groups, size = window >> step, 1 << step
        # The last group is before no other, and the last word of a group is not among its first ones.
        before = Signal(groups - 1)
        last = Signal(groups)
        first = Signal(size - 1)
        with m.If(~self.known):
            m.d.sync += [
                before.eq(thermometer(words[step:], len(before))),
                last.eq(Cat(words[step:] == group for group in range(groups))),
                first.eq(thermometer(words[:step], len(first))),
            ]
        return Cat(
            Cat(before, 0)[group].replicate(size) | Mux(last[group], Cat(first, 0), 0)
            for group in range(groups)
        )


#: Stream words that are counted within a cycle, even if a beat has fewer.
_COUNTED = 8


def most_stored(config: CodecConfig) -> int:
    """The most stored words of a window, with its padding."""
    return config.format.window * config.format.parts + config.format.align_words - 1


class HeaderCheck(wiring.Component):
    """Counts the stored words of each beat of a window, and finds invalid codes.

    Counts are of stream words: of literals, or, in a format with a field, of parts of words.

    ``codes``: The header.
    ``exists``: The words of the window that exist.
    ``more``: The beats with another beat after them, as a thermometer.
    ``one_entry``: Only entry 0 of the table is valid.
    ``counts``: Number of stored words of each beat. Latency: one cycle.
    ``total``: Number of stored words of the window, with its padding. Latency: two cycles.
    ``missing``: There are no codes: ``codes`` is ignored, and zeros are counted.
    ``adding``: High in the cycle before ``total`` of a window is first valid.
    ``padding``: Number of words of padding among them; without bits where windows are not padded. Latency: two cycles.
    ``lane``: The lane of the first of them, while ``adding``.
    ``step``: ``total`` and ``lane`` in the cycle after ``adding``, and otherwise 0: the end of the window, in words
        after the beginning of the beat in which it begins.
    ``bad``: The beats with a code past the table, and the last beat if a code past the end of the packet is not 0.
        Latency: two cycles.
    ``any_bad``: A beat is bad. Latency: two cycles.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        super().__init__(
            {
                "codes": In(fmt.window * fmt.code_bits),
                "exists": In(fmt.window),
                "more": In(config.beats - 1),
                **flags(In, "missing", "adding", "one_entry"),
                "counts": Out(data.ArrayLayout(range(config.units + 1), config.beats)),
                "total": Out(range(most_stored(config) + 1)),
                "lane": In(exact_log2(config.units)),
                "step": Out(range(most_stored(config) + config.units)),
                "padding": Out(range(fmt.align_words)),
                "bad": Out(config.beats),
                "any_bad": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        fmt, lanes = config.format, config.lanes
        invalid = Signal(config.beats)
        past = Signal()
        each = [self.codes.word_select(word, fmt.code_bits) for word in range(fmt.window)]
        sent: list[Value] = []
        for beat in range(config.beats):
            words = range(beat * lanes, (beat + 1) * lanes)
            codes = Cat(each[word] for word in words)
            sent.append(sent_of(codes, C(0, lanes), config))
            m.d.sync += self.counts[beat].eq(popcount(sent[beat], 4))
            wrong = [
                self.exists[word] & condition
                for word in words
                for condition in undefined(each[word], self.one_entry, config)
            ]
            if wrong:
                m.d.sync += invalid[beat].eq(Cat(wrong).any())
        sums = self._summands(m, sent)
        with m.If(self.missing):
            m.d.sync += [*(count.eq(0) for count in (*self.counts, *sums)), invalid.eq(0)]
        last = ~Cat(self.more, 0) & Cat(1, self.more)
        total = Signal.like(self.total)
        stored = sum(sums)
        # The lane is a further operand of one sum, and not added to another.
        step = sum(sums, start=self.lane)
        padding = Signal(range(fmt.align_words))
        m.d.comb += [padding.eq(-(stored + fmt.header_words)), total.eq(with_padding(stored, padding))]
        m.d.sync += [
            self.padding.eq(padding),
            self.total.eq(total),
            self.step.eq(Mux(self.adding, with_padding(step, padding), 0)),
            past.eq(
                ~self.missing & Cat(~self.exists[word] & each[word].any() for word in range(fmt.window)).any()
            ),
            self.bad.eq(invalid | (last & past.replicate(config.beats))),
            self.any_bad.eq(invalid.any() | past),
        ]
        return m

    def _summands(self, m: Module, sent: Sequence[Value]) -> list[Value]:
        """The stored words of a few groups of beats: with fewer groups there is less to add."""
        size = min(len(sent), _COUNTED // self.config.units)
        if size < 2:
            return list(self.counts)
        sums = []
        for first in range(0, len(sent), size):
            words = Cat(sent[first : first + size])
            number = Signal(range(len(words) + 1), name=f"stored_{first}")
            m.d.sync += number.eq(popcount(words, 4))
            sums.append(number)
        return sums
