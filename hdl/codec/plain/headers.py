"""Headers of a plain decompressor: the codes of a window, and the positions of headers and literals in a packet."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import flags
from cdma.hdl.spec.codec import CodecConfig


def _members(config: CodecConfig, header_part: int) -> dict[str, wiring.Member]:
    """The ports of the codes of a window."""
    codes = config.format.window * config.format.code_bits
    return {
        "header": In(data.ArrayLayout(config.format.stream_bits, header_part)),
        **flags(In, "header_missing", "first", "advance", "drop"),
        "codes": Out(codes),
        "missing": Out(1),
        "rest": Out(codes),
    }


class WindowCodes(wiring.Component):
    """The codes of a window whose header comes, part by part, with its first beat.

    ``header``, ``header_missing``: The header, or its next part; and whether it will not arrive. They are read while
        ``first`` is high.
    ``first``: The next beat is the first of its window.
    ``advance``: Removes the codes of a beat if the header is ``whole``, or else stores a part of the header.
    ``drop``: Drops the window.
    ``codes``: The codes from those of the next beat on, followed by zeros.
    ``missing``: The header of the next beat will not arrive.
    ``whole``: ``codes`` are those of the next beat.
    ``rest``: The codes that are left of the window, unless the next beat is the ``first`` of another one.
    """

    def __init__(self, config: CodecConfig, header_part: int) -> None:
        self.config = config
        self.parts = config.format.header_words // header_part
        self.part_bits = header_part * config.format.stream_bits
        super().__init__({**_members(config, header_part), "whole": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts, beat_bits = self.parts, self.config.lanes * self.config.format.code_bits
        rest = Signal.like(self.rest, reset_less=True)
        #: Position of the next part in its header.
        part = Signal(range(parts))
        header = Cat(rest[: (parts - 1) * self.part_bits], self.header)
        m.d.comb += [
            self.rest.eq(rest),
            self.missing.eq(self.header_missing),
            self.whole.eq(~self.first | (part == parts - 1) | self.header_missing),
            self.codes.eq(Mux(self.first, header, rest)),
        ]
        with m.If(self.advance & self.whole):
            m.d.sync += [part.eq(0), rest.eq(self.codes >> beat_bits)]
        with m.Elif(self.advance):
            m.d.sync += part.eq(part + 1)
            for number in range(parts - 1):
                with m.If(part == number):
                    m.d.sync += rest[number * self.part_bits :][: self.part_bits].eq(self.header)
        with m.If(self.drop):
            m.d.sync += part.eq(0)
        return m


class GroupCodes(wiring.Component):
    """The codes of a window of a group, whose mask comes before its first window, in a cycle of its own.

    The ports are those of :class:`WindowCodes`, with these differences:

    ``header``: The mask, or the header of a window that is there: only while ``reads``.
    ``ends``: The next beat is the last of its window.
    ``closes``: It is the last of its packet, or cannot be delivered.
    ``beyond``: The mask has windows after that of the next beat.
    """

    def __init__(self, config: CodecConfig, header_part: int) -> None:
        self.config = config
        ports = {**flags(In, "ends", "closes"), **flags(Out, "whole", "reads", "beyond")}
        super().__init__({**_members(config, header_part), **ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        group, beat_bits = self.config.format.group, self.config.lanes * self.config.format.code_bits
        rest = Signal.like(self.rest, reset_less=True)
        #: Of the group in flight: whether each window is there, from the next one on; and the number of that window.
        mask = Signal(group, reset_less=True)
        window = Signal(range(group))
        #: The mask of the next window's group has been read.
        known = Signal()
        m.d.comb += [
            self.rest.eq(rest),
            self.reads.eq(self.first & (~known | mask[0])),
            self.missing.eq(self.header_missing),
            self.whole.eq(~self.first | known | self.header_missing),
            self.codes.eq(Mux(self.first, Mux(mask[0], Cat(self.header), 0), rest)),
            self.beyond.eq(mask[1:].any()),
        ]
        with m.If(self.advance & self.whole):
            m.d.sync += rest.eq(self.codes >> beat_bits)
            with m.If(self.ends):
                m.d.sync += [mask.eq(mask >> 1), window.eq(window + 1), known.eq(~window.all())]
            with m.If(self.closes):
                m.d.sync += [window.eq(0), known.eq(0)]
        with m.Elif(self.advance):
            m.d.sync += [mask.eq(Cat(self.header)), known.eq(1)]
        with m.If(self.drop):
            m.d.sync += [window.eq(0), known.eq(0)]
        return m


class CodesAhead(wiring.Component):
    """The codes of a window whose header is read before its first beat is planned, at the earliest with the last beat of
    the window before it.

    The ports are those of :class:`WindowCodes`, with these differences:

    ``load``: Reads a header; only while ``frees``.
    ``moves``: A beat may leave. While the window is not empty it is high with ``advance`` only.
    ``ends``, ``closes``: The next beat is the last of its window; of its packet. A header that is loaded with the
        latter is dropped.
    ``holds``: ``codes`` are those of the next beat.
    ``frees``: There is room for a header.
    """

    def __init__(self, config: CodecConfig, header_part: int) -> None:
        self.config = config
        ports = {**flags(In, "load", "moves", "ends", "closes"), **flags(Out, "holds", "frees")}
        super().__init__({**_members(config, header_part), **ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat_bits = self.config.lanes * self.config.format.code_bits
        codes = Signal.like(self.codes, reset_less=True)
        missing = Signal(reset_less=True)
        holds = Signal()
        stays, shifts = holds & ~self.moves, holds & self.moves & ~self.ends
        m.d.comb += [
            self.codes.eq(codes),
            self.missing.eq(missing),
            self.rest.eq(codes),
            self.holds.eq(holds),
            self.frees.eq(~holds | (self.advance & self.ends)),
        ]
        # Codes are loaded with or without a header, because ``load`` comes late.
        loads = ~holds | (self.moves & self.ends)
        m.d.sync += [
            codes.eq(one_of((stays, codes), (shifts, codes >> beat_bits), (loads, Cat(self.header)))),
            missing.eq(Mux(loads, self.header_missing, missing)),
            holds.eq(
                Mux(self.advance & (self.ends | self.closes), self.load & ~self.closes, holds | self.load)
                & ~self.drop
            ),
        ]
        return m


class HeaderPositions(wiring.Component):
    """Positions in a packet whose headers are each read in the cycle in which the beat after it is planned.

    Positions are counted from lane 0 of the oldest beat in the rows. ``moves`` comes late, so only the selection of the next
    positions depends on it.

    ``moves``: The planned beat leaves, or there is none.
    ``fresh``, ``wants_header``: The next beat is the first of its packet; it begins with a header, or with a part of
        one.
    ``arrived``: This header, or part, has arrived.
    ``whole``: With it, the next beat can be planned.
    ``end``, ``window_end``: Position after the next beat; the same, if a header may follow.
    ``position``: The next word to plan.
    ``offset``, ``rest_offset``: The lane of the next beat's first literal; the same for a beat without a header.
    ``read``: Skips the header.
    ``next_lane``, ``next_beat``: The position after this cycle if a header follows: its lane, one bit each, and its
        beat.
    """

    def __init__(self, lanes: int, header_words: int, *, padded: bool) -> None:
        self.lanes = lanes
        self.header_words = header_words
        #: Positions of headers are below this.
        self.reach = 2 * lanes + padded
        position = range(self.reach)
        super().__init__(
            {
                "moves": In(1),
                "fresh": In(1, init=1),
                **flags(In, "wants_header", "arrived", "whole"),
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
            reads.eq(self.wants_header & self.arrived),
            # ``arrived`` comes too late for the window, to which it makes no difference with a header of one word.
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
    """Positions in a packet whose headers are each read before the last beat of the window before it has left.

    The ports are those of :class:`HeaderPositions`, with these differences:

    ``holds``: The codes of the next beat have been read. Otherwise it waits for its header.
    ``base``: The first literal of the next beat, counted from the beat that is the oldest after this cycle.
    ``next_header``: The next header, counted in the same way, while ``holds`` and not more than two beats are before
        it.
    ``head``: The next header, a cycle later.
    """

    def __init__(self, lanes: int, header_words: int, *, padded: bool) -> None:
        self.lanes = lanes
        self.header_words = header_words
        self.reach = 8 * lanes
        position = range(2 * lanes + padded)
        super().__init__(
            {
                "moves": In(1),
                "fresh": In(1, init=1),
                **flags(In, "wants_header", "holds"),
                "end": In(position),
                "next_header": In(range(self.reach)),
                "position": Out(position),
                "base": Out(range(4 * lanes)),
                "read": Out(1),
                "head": Out(range(self.reach)),
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
