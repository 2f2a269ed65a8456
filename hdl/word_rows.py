"""The words that a decompressor has at hand."""

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .butterfly import log2, one_of, thermometer

__all__ = ["WordRows"]


class WordRows(wiring.Component):
    """A window of ``lanes`` words that slides over a packet, the beats behind it, and the beat at the input.

    Beat 0 is the oldest that has words in the window; ``stored`` beats are here, beat ``stored`` is the one at the input,
    ``arriving``. Words keep their lanes: ``window[l]`` is lane ``l`` of beat 0 from lane ``offset`` on, and of beat 1
    below. So the window holds the ``lanes`` words behind ``offset``, whatever it is, and no multiplexer lies behind it.

    In each cycle the first ``retire`` beats leave, and the window slides to ``next_offset`` in the beat that is the
    oldest then. What the beat at the input has for the window goes there at once.

    ``begin`` instead makes the beat at the input beat 0, and forgets all others.

    ``header`` holds the words from ``position`` on, counted from lane 0 of beat 0, or, while ``fresh`` is high, the first
    of the beat at the input. Combinational.
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
                "stored": In(range(beats + 1)),
                "offset": In(range(lanes)),
                "retire": In(range(4)),
                "next_offset": In(range(lanes)),
                "begin": In(1),
                "window": Out(row),
                "position": In(range(2 * lanes)),
                "fresh": In(1),
                "header": Out(data.ArrayLayout(word_bits, header_words)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stored, retire = self.stored, self.retire
        window = Signal.like(self.window, reset_less=True)
        m.d.comb += self.window.eq(window)
        #: The row behind the window for beat 1, beat 2, ...
        rows = {
            beat: Signal.like(self.window, name=f"row_{beat}", reset_less=True)
            for beat in range(1, self.beats)
        }

        # In the window a lane has beat 0 or, below the offset, beat 1; afterwards `retire` beats further.
        below, next_below = thermometer(self.offset, self.lanes), thermometer(self.next_offset, self.lanes)
        for lane in range(self.lanes):
            has_first = (stored > 0) & ~below[lane]
            has_second = (stored > 1) & below[lane]
            wants = retire + next_below[lane]
            keeps = ~self.begin & ((has_first & (wants == 0)) | (has_second & (wants == 1)))
            takes = {beat: ~self.begin & ~keeps & (wants == beat) & (stored > beat) for beat in rows}
            arrives = ~(keeps | one_of(*((take, C(1)) for take in takes.values())))
            m.d.sync += window[lane].eq(
                one_of(
                    (keeps, window[lane]),
                    *((takes[beat], row[lane]) for beat, row in rows.items()),
                    (arrives, self.arriving[lane]),
                )
            )
        for beat, row in rows.items():
            cases = [
                ((retire == later - beat) & (stored > later), rows[later]) for later in rows if later >= beat
            ]
            arrives = ~one_of(*((condition, C(1)) for condition, _ in cases))
            m.d.sync += row.eq(
                one_of(*((c, Value.cast(v)) for c, v in cases), (arrives, Value.cast(self.arriving)))
            )

        # Each word of the header is selected at once by its beat and lane.
        levels = log2(self.lanes)
        after = self.position >> levels if levels else self.position
        for word in range(self.header_words):
            header = []
            for lane in range(self.lanes):
                here = self.position[:levels] == (lane - word) % self.lanes
                # Of the lane the word is in, counted from the beat that `position` is in.
                wrapped = int(lane < word)
                for number, source in enumerate((window, *rows.values())):
                    place = number - wrapped
                    if place in (0, 1):
                        header.append(
                            (~self.fresh & here & (after == place) & (stored > number), source[lane])
                        )
                beat = after + wrapped
                at_input = ~self.fresh & here & (stored <= beat)
                if lane == word:
                    at_input = at_input | self.fresh
                header.append((at_input, self.arriving[lane]))
            m.d.comb += self.header[word].eq(one_of(*header))
        return m
