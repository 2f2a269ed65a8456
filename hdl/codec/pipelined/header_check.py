"""The number of words left of a packet, window by window. What the header of a window says: its literals, and whether
its codes are valid.
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import popcount, thermometer
from cdma.hdl.codec.parts.compressor import sent_of
from cdma.hdl.codec.parts.interface import has_one_entry
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["HeaderCheck", "WordsLeft", "most_stored"]

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


#: So many stream words are counted within a cycle, even if a beat has fewer.
_COUNTED = 8


def most_stored(config: CodecConfig) -> int:
    """The most words that are stored of a window, with its padding."""
    return config.format.window * config.format.parts + config.format.align_words - 1


class HeaderCheck(wiring.Component):
    """Counts what is stored of each beat of a window, and finds invalid codes.

    Counts are of stream words: of literals, or, in a format with a field, of parts of words.

    ``codes``
        The header.
    ``exists``
        Says which words of the window exist.
    ``more``
        Says which beats have another beat after them, as a thermometer.
    ``one_entry``
        Says that of the table only entry 0 counts.
    ``counts``
        Number of words stored of each beat. Latency: one cycle.
    ``total``
        Number of words stored of the window, with its padding. Latency: two cycles.
    ``missing``
        Says that there are no codes, whatever ``codes`` is: it counts as zeros.
    ``adding``
        Marks the cycle before ``total`` of a window is first valid.
    ``padding``
        Number of words of padding among them, in formats with padded windows. Latency: two cycles.
    ``lane``
        The lane where the first of them is, while ``adding``.
    ``step``
        Is ``total`` and ``lane`` in the cycle after ``adding``, and otherwise 0: where the window ends, in words after
        the beginning of the beat where it begins.
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
                "missing": In(1),
                "adding": In(1),
                "one_entry": In(1),
                "counts": Out(data.ArrayLayout(range(config.units + 1), config.beats)),
                "total": Out(range(most_stored(config) + 1)),
                "lane": In(exact_log2(config.units)),
                "step": Out(range(most_stored(config) + config.units)),
                **({"padding": Out(range(fmt.align_words))} if fmt.align_words > 1 else {}),
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
        #: The codes that are not of a literal, and whether one of those is not of entry 0 or of zero.
        known = config.table_size + fmt.zero

        def other(code: Value) -> Value:
            return code > 1 if fmt.zero else code.any()

        each = [self.codes.word_select(word, fmt.code_bits) for word in range(fmt.window)]
        sent: list[Value] = []
        for beat in range(config.beats):
            words = range(beat * lanes, (beat + 1) * lanes)
            codes = Cat(each[word] for word in words)
            sent.append(sent_of(codes, C(0, lanes), config))
            m.d.sync += self.counts[beat].eq(popcount(sent[beat], 4))
            if known < fmt.literal_code:
                m.d.sync += undefined[beat].eq(
                    Cat(self.exists[word] & (each[word] >= known) & ~each[word].all() for word in words).any()
                )
            elif has_one_entry(config):
                m.d.sync += undefined[beat].eq(
                    self.one_entry
                    & Cat(self.exists[word] & other(each[word]) & ~each[word].all() for word in words).any()
                )
        sums = self._summands(m, sent)
        with m.If(self.missing):
            m.d.sync += [*(count.eq(0) for count in (*self.counts, *sums)), undefined.eq(0)]
        last = ~Cat(self.more, 0) & Cat(1, self.more)
        total = Signal.like(self.total)
        stored = sum(sums)
        # The lane is a further operand of one sum, and not added to another.
        step = sum(sums, start=self.lane)
        if fmt.align_words > 1:
            padding = Signal(range(fmt.align_words))
            m.d.comb += padding.eq(-(stored + fmt.header_words))
            m.d.sync += self.padding.eq(padding)
            stored += padding
            step += padding
        m.d.comb += total.eq(stored)
        m.d.sync += [
            self.total.eq(total),
            self.step.eq(Mux(self.adding, step, 0)),
            past.eq(
                ~self.missing & Cat(~self.exists[word] & each[word].any() for word in range(fmt.window)).any()
            ),
            self.bad.eq(undefined | (last & past.replicate(config.beats))),
            self.any_bad.eq(undefined.any() | past),
        ]
        return m

    def _summands(self, m: Module, sent: Sequence[Value]) -> list[Value]:
        """What is stored, counted of a few groups of beats: the fewer they are, the fewer are left to add."""
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
