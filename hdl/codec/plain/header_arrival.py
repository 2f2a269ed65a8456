"""Whether the next header has arrived."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

__all__ = ["HeaderArrival"]


class HeaderArrival(wiring.Component):
    """Says whether the beat in which the next header ends, or the next part of one, has arrived. Combinational.

    ``position``
        Where the header begins, counted from lane 0 of the oldest stored beat.
    ``fresh``
        Says that it begins with the beat at the input instead, which is there then.
    ``stored``
        Number of stored beats.
    ``ended``, ``last_words``
        Says that the last of them ends the packet, and how many words that one has.
    ``arrives``, ``keep``, ``last``
        Says that the beat at the input is of the packet and may be accepted; its words, and whether it ends the packet.
    ``there``
        Says that the header has arrived, or never will.
    ``missing``
        Says which, where ``there`` is high.
    """

    def __init__(self, lanes: int, header_words: int, *, positions: int, beats: int) -> None:
        self.lanes = lanes
        self.header_words = header_words
        super().__init__(
            {
                "position": In(range(positions)),
                "fresh": In(1),
                "stored": In(range(beats + 1)),
                "ended": In(1),
                "last_words": In(range(lanes + 1)),
                "arrives": In(1),
                "keep": In(lanes),
                "last": In(1),
                "there": Out(1),
                "missing": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = exact_log2(self.lanes)
        end = self.position + (self.header_words - 1)
        beat, lane = end >> levels, end[:levels]
        at_input = beat == self.stored
        # A beat that is partial without being the last is malformed. It counts as a whole beat, so that the packet ends.
        ends_before = self.last & ~self.keep.bit_select(lane, 1)
        last_stored = beat + 1 == self.stored
        with m.If(self.fresh):
            m.d.comb += [self.there.eq(1), self.missing.eq(self.last & ~self.keep[self.header_words - 1])]
        with m.Else():
            m.d.comb += [
                self.there.eq(
                    (beat < self.stored) | (self.arrives & at_input) | self.ended | (self.arrives & self.last)
                ),
                self.missing.eq(
                    Mux(
                        self.ended,
                        (beat >= self.stored) | (last_stored & (lane >= self.last_words)),
                        self.arrives & self.last & ((beat > self.stored) | (at_input & ends_before)),
                    )
                ),
            ]
        return m
