"""Where a decompressor is in the words that it has: the next word to plan, and the next header."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of

__all__ = ["HeaderPositions", "HeadersAhead"]


class HeaderPositions(wiring.Component):
    """Follows the words of a packet, if each header is read in the cycle in which the beat after it is planned.

    Positions are counted from lane 0 of the oldest beat in the rows. Whether that changes is known late, so only the
    selection of the next ones depends on ``moves``.

    ``moves``
        The planned beat leaves, or there is none.
    ``fresh``, ``wants_header``
        Says that the next beat is the first of its packet; that it begins with a header, or with a part of one.
    ``there``
        Says that this has arrived.
    ``whole``
        Says that with it the next beat can be planned.
    ``end``, ``window_end``
        Position after the next beat; and the same, where a header may follow.
    ``position``
        The next word to plan.
    ``offset``, ``rest_offset``
        The lane of the next beat's first literal; and the same for a beat without a header.
    ``read``
        Skips the header.
    ``next_lane``, ``next_beat``
        The position after this cycle if a header follows: its lane, one bit each, and its beat.
    """

    def __init__(self, lanes: int, header_words: int, *, padded: bool) -> None:
        self.lanes = lanes
        self.header_words = header_words
        position = range(2 * lanes + padded)
        super().__init__(
            {
                "moves": In(1),
                "fresh": In(1, init=1),
                "wants_header": In(1),
                "there": In(1),
                "whole": In(1),
                "end": In(position),
                "window_end": In(position),
                "position": Out(position),
                "offset": Out(range(lanes)),
                "rest_offset": Out(range(lanes)),
                "read": Out(1),
                "next_lane": Out(lanes, init=1),
                "next_beat": Out(range(2 + padded)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = exact_log2(self.lanes)
        position = Signal.like(self.position)
        #: The lane of the next header, one bit each, while that is the next to plan.
        lane = Signal(self.lanes, init=1)
        reads = Signal()
        advances = Signal()
        after_header = Signal.like(position)
        m.d.comb += [
            self.position.eq(position),
            after_header.eq(Mux(self.fresh, 0, position) + self.header_words),
            self.offset.eq(Mux(self.wants_header, after_header, position)),
            self.rest_offset.eq(position),
            reads.eq(self.wants_header & self.there),
            # Whether a header of one word has arrived is known too late for the window, and makes no difference to it.
            self.read.eq(self.wants_header if self.header_words == 1 else reads),
            advances.eq((~self.wants_header | reads) & self.whole),
        ]
        # The position is loaded even if nothing is planned. Then no packet is in flight, and the position is ignored, or
        # the header has not arrived, and the position stays.
        stays = ~self.moves
        goes_on = self.moves & advances
        skips = self.moves & ~advances & reads
        waits = self.moves & ~advances & ~reads
        next_header = Signal.like(position)

        def next_position(end: Value) -> Value:
            cases = ((stays, position), (goes_on, end), (skips, self.offset))
            return one_of(*cases, (waits, position[:levels]))

        m.d.comb += [
            next_header.eq(next_position(self.window_end)),
            self.next_lane.eq(
                one_of(
                    (stays | waits, lane),
                    (goes_on, self._lane_of(self.window_end)),
                    (skips, self._lane_of(self.offset)),
                )
            ),
            self.next_beat.eq(next_header >> levels),
        ]
        m.d.sync += [lane.eq(self.next_lane), position.eq(next_position(self.end))]
        return m

    def _lane_of(self, position: Value) -> Value:
        """The lane of a position, one bit each."""
        return Cat(position[: exact_log2(self.lanes)] == lane for lane in range(self.lanes))


class HeadersAhead(wiring.Component):
    """Follows the words of a packet, if each header is read before the last beat of the window before it has left.

    The ports are those of :class:`HeaderPositions`, with these differences:

    ``holds``
        Says that the codes of the next beat have been read. Otherwise it waits for its header.
    ``base``
        Where the literals of the next beat begin, counted from the beat that is the oldest after this cycle.
    ``next_header``
        Where the next header begins, counted in the same way, while ``holds`` and not more than two beats are before it.
    ``head``
        The next header, a cycle later.
    """

    def __init__(self, lanes: int, header_words: int, *, padded: bool) -> None:
        self.lanes = lanes
        self.header_words = header_words
        position = range(2 * lanes + padded)
        super().__init__(
            {
                "moves": In(1),
                "fresh": In(1, init=1),
                "wants_header": In(1),
                "holds": In(1),
                "end": In(position),
                "next_header": In(range(8 * lanes)),
                "position": Out(position),
                "base": Out(range(4 * lanes)),
                "read": Out(1),
                "head": Out(range(8 * lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = exact_log2(self.lanes)
        position = Signal.like(self.position)
        head = Signal.like(self.head)
        #: Where the next beat begins after its header.
        start = Signal(range(3 * self.lanes))
        stays = ~self.moves
        plans, waits = self.moves & self.holds, self.moves & ~self.holds & ~self.fresh
        m.d.comb += [
            self.position.eq(position),
            self.head.eq(head),
            self.read.eq(self.wants_header & self.holds),
            start.eq(position + Mux(self.wants_header, self.header_words, 0)),
            self.base.eq(Cat(start[:levels], Mux(stays, start[levels:], 0))),
        ]
        m.d.sync += [
            position.eq(one_of((stays, position), (plans, self.end), (waits, position[:levels]))),
            head.eq(Mux(self.holds, self.next_header, Cat(head[:levels], Mux(stays, head[levels:], 0)))),
        ]
        return m
