"""The words that a decompressor has at hand."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of, thermometer

__all__ = ["WordRows"]


class WordRows(wiring.Component):
    """A window of ``lanes`` words that slides over a packet, the beats behind it, and the beat at the input.

    Beat 0 is the oldest that has words in the window; ``stored`` beats are here, beat ``stored`` is the one at the input,
    ``arriving``, which ``accept`` adds. Words keep their lanes: ``window[l]`` is lane ``l`` of beat 0 from some lane on,
    and of beat 1 below. So the window holds ``lanes`` words wherever it begins, and no multiplexer lies behind it.

    ``move``
        The window slides on to ``position``, counted from lane 0 of beat 0, and beats before that leave. With ``read``
        the header at ``position`` is left behind, too. What the beat at the input has for the window goes there at once.
    ``fresh``
        The header is the one at the beginning of the beat at the input, and with ``move`` that becomes beat 0.
    ``forget``
        The beats are forgotten.
    ``leaves``
        Whether a beat leaves.
    ``header``
        The words from ``position`` on or, of a ``fresh`` packet, the first.
    """

    def __init__(self, word_bits: int, lanes: int, beats: int, header_words: int) -> None:
        self.lanes = lanes
        #: How many are stored at most: the window counts as one, and each row behind it.
        self.beats = beats
        self.header_words = header_words
        row = data.ArrayLayout(word_bits, lanes)
        super().__init__(
            {
                "arriving": In(row),
                "accept": In(1),
                "position": In(range(2 * lanes)),
                "move": In(1),
                "read": In(1),
                "forget": In(1),
                "fresh": In(1),
                "stored": Out(range(beats + 1)),
                "leaves": Out(1),
                "window": Out(row),
                "header": Out(data.ArrayLayout(word_bits, header_words)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = exact_log2(self.lanes)
        window = Signal.like(self.window, reset_less=True)
        #: The row behind the window for beat 1, beat 2, ...
        rows = {
            beat: Signal.like(self.window, name=f"row_{beat}", reset_less=True)
            for beat in range(1, self.beats)
        }
        #: Lane of beat 0 in which the window begins.
        offset = Signal(range(self.lanes))
        stored = Signal.like(self.stored)
        m.d.comb += [self.window.eq(window), self.stored.eq(stored)]

        # Where the window will be if it moves is looked at in advance, because whether it does is known late.
        skipped = self.position + self.header_words
        # Signals, not expressions: what stands in every lane is elaborated once.
        target = Signal(range(3 * self.lanes + 1))
        target_below = Signal(self.lanes)
        below = Signal(self.lanes)
        m.d.comb += [
            target.eq(Mux(self.read, skipped, self.position)),
            target_below.eq(thermometer(target[:levels], self.lanes)),
            below.eq(thermometer(offset, self.lanes)),
        ]
        has = [stored > beat for beat in range(self.beats)]
        for lane in range(self.lanes):
            wants = (target >> levels) + target_below[lane]
            kept = (has[0] & ~below[lane] & (wants == 0)) | (has[1 % self.beats] & below[lane] & (wants == 1))
            keeps = Mux(self.move, kept & ~self.fresh, Mux(below[lane], has[1 % self.beats], has[0]))
            takes = [
                (self.move & ~self.fresh & ~kept & has[beat] & (wants == beat), row[lane])
                for beat, row in rows.items()
            ]
            taken = keeps
            for condition, _ in takes:
                taken = taken | condition
            m.d.sync += window[lane].eq(one_of((keeps, window[lane]), *takes, (~taken, self.arriving[lane])))

        retire = Signal(range(4))
        gone = Mux(self.fresh, self.header_words, target)
        m.d.comb += [retire.eq(Mux(self.move, gone >> levels, 0)), self.leaves.eq(retire != 0)]
        for beat, row in rows.items():
            cases = [((retire == later - beat) & has[later], rows[later]) for later in rows if later >= beat]
            taken = Value.cast(0)
            for condition, _ in cases:
                taken = taken | condition
            words = [(condition, Value.cast(source)) for condition, source in cases]
            m.d.sync += row.eq(one_of(*words, (~taken, Value.cast(self.arriving))))
        with m.If(self.move):
            m.d.sync += offset.eq(gone)
        before = Mux((self.move & self.fresh) | self.forget, 0, stored)
        m.d.sync += stored.eq(Mux(retire > before, 0, before - retire + self.accept))

        # Each word of the header is selected at once by its beat and lane.
        for word in range(self.header_words):
            place = Signal(range(3 * self.lanes + 1), name=f"place_{word}")
            m.d.comb += place.eq(self.position + word)
            lane, beat = place[:levels], place[levels:]
            there = Signal(self.beats + 1, name=f"there_{word}")
            m.d.comb += there.eq(
                Cat(
                    *(~self.fresh & (beat == number) & has[number] for number in range(self.beats)),
                    ~self.fresh & (beat >= stored),
                )
            )
            cases = []
            for number in range(self.lanes):
                here = lane == number
                for source_beat, source in enumerate([window, *rows.values()]):
                    cases.append((here & there[source_beat], source[number]))
                at_input = here & there[self.beats]
                cases.append((at_input | self.fresh if number == word else at_input, self.arriving[number]))
            m.d.comb += self.header[word].eq(one_of(*cases))
        return m
