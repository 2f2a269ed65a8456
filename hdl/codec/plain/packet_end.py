"""Where the packet that a decompressor has in flight ends."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

__all__ = ["PacketEnd"]


class PacketEnd(wiring.Component):
    """Keeps the end of the packet in flight, and compares a position with it.

    ``starts``
        A packet starts.
    ``accept``, ``last``, ``words``
        The beat at the input is accepted; whether it is the last of its packet, and how many words it has.
    ``arrives``
        It is of the packet in flight and may be accepted. Only a window that ``shows_input`` looks at this.
    ``stored``
        Number of stored beats.
    ``position``
        Position after the planned beat, counted from lane 0 of the oldest of them.
    ``ended``, ``last_words``
        The last beat of the packet is stored, and has so many words.
    ``known``
        The same, or it is at the input if that is shown.
    ``missing``, ``fits``
        The position is beyond the end; it is the end. Low if the end is not ``known``.
    ``fits_stored``
        The position is the end, and the last beat is stored.
    """

    def __init__(self, lanes: int, *, beats: int, positions: int, shows_input: bool) -> None:
        self.lanes = lanes
        self.shows_input = shows_input
        super().__init__(
            {
                "starts": In(1),
                "accept": In(1),
                "last": In(1),
                "words": In(range(lanes + 1)),
                "arrives": In(1),
                "stored": In(range(beats + 1)),
                "position": In(range(positions)),
                "ended": Out(1),
                "last_words": Out(range(lanes + 1)),
                "known": Out(1),
                "missing": Out(1),
                "fits": Out(1),
                "fits_stored": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ended = Signal()
        last_words = Signal(range(self.lanes + 1), reset_less=True)
        end = Signal(range(3 * self.lanes + 1))
        known, too_short, fits = Value.cast(ended), self.position > end, self.position == end
        if self.shows_input:
            end_at_input = Signal.like(end)
            m.d.comb += end_at_input.eq(self._end(self.words, self.stored + 1))
            known = known | (self.arrives & self.last)
            too_short = Mux(ended, too_short, self.position > end_at_input)
            fits = Mux(ended, fits, self.position == end_at_input)
        m.d.comb += [
            end.eq(self._end(last_words, self.stored)),
            self.ended.eq(ended),
            self.last_words.eq(last_words),
            self.known.eq(known),
            self.missing.eq(known & too_short),
            self.fits.eq(known & fits),
            self.fits_stored.eq(ended & (self.position == end)),
        ]
        with m.If(self.accept):
            m.d.sync += last_words.eq(self.words)
        m.d.sync += ended.eq(Mux(self.accept, self.last, ended & ~self.starts))
        return m

    def _end(self, last_words: Value, beats: Value) -> Value:
        """Position after so many ``beats``, of which the last has ``last_words``.

        The words are a digit of their own, so there is little to add.
        """
        levels = exact_log2(self.lanes)
        return Cat(last_words[:levels], beats - ~last_words[levels])
