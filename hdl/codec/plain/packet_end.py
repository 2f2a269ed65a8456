"""Progress of a packet in a plain decompressor: the arrival of its headers, its padding, and its end."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import thermometer
from cdma.hdl.blocks.elaboration import flags
from cdma.hdl.codec.parts.interface import Error, first_error
from cdma.hdl.spec.codec import CodecConfig

from .planner import Plan


class PaddingCheck(wiring.Component):
    """Checks the padding after a planned beat. Combinational.

    ``window``, ``offset``: The words of the window of :class:`~cdma.hdl.codec.plain.word_rows.WordRows`, and the lane
        of beat 0 in which it begins.
    ``following``: The beat after beat 0.
    ``end``: Position after the padding, counted from lane 0 of beat 0.
    ``padding``: Number of words of padding.
    ``wrong``: One of them is not zero. All must have arrived.

    Padding ends at a multiple of its greatest length, plus one, and a beat has a multiple of that, so it is in one beat. If
    that is the one after beat 0, it may be beyond the window.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        units = config.units
        row = data.ArrayLayout(config.format.stream_bits, units)
        super().__init__(
            {
                "window": In(row),
                "offset": In(range(units)),
                "following": In(row),
                "end": In(range(2 * units + 1)),
                "padding": In(range(config.format.align_words)),
                "wrong": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units, group = self.config.units, self.config.format.align_words
        #: The lane of the last word of padding, and how many of its group of lanes are padding.
        last_lane = Signal(range(units))
        padded = Signal(group)
        #: Lanes of the window with words of beat 0, whose padding is in the beat after it.
        beyond = Signal(units)
        m.d.comb += [
            last_lane.eq((self.end - 1)[: exact_log2(units)]),
            padded.eq(Cat(reversed(list(thermometer(self.padding, group))))),
            beyond.eq(Mux(self.end > units, ~thermometer(self.offset, units), 0)),
        ]
        found = []
        for lane in range(units):
            padding = (last_lane // group == lane // group) & padded[lane % group]
            found.append(padding & Mux(beyond[lane], self.following[lane].any(), self.window[lane].any()))
        m.d.comb += self.wrong.eq(Cat(found).any())
        return m


class HeaderArrival(wiring.Component):
    """Checks the arrival of the beat in which the next header ends, or the next part of one. Combinational.

    ``position``: Beginning of the header, counted from lane 0 of the oldest stored beat.
    ``fresh``: It begins with the beat at the input instead, which is valid then.
    ``stored``: Number of stored beats.
    ``ended``, ``last_words``: The last of them ends the packet; number of words of that beat.
    ``arrives``, ``keep``, ``last``: The beat at the input is of the packet and may be accepted; its words, and whether
        it ends the packet.
    ``arrived``: The header has arrived, or never will.
    ``missing``: While ``arrived``: it never will.
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
                **flags(Out, "arrived", "missing"),
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
            m.d.comb += [self.arrived.eq(1), self.missing.eq(self.last & ~self.keep[self.header_words - 1])]
        with m.Else():
            m.d.comb += [
                self.arrived.eq(
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


class PacketEnd(wiring.Component):
    """Keeps the end of the packet in flight, and compares a position with it.

    ``starts``: A packet starts.
    ``accept``, ``last``, ``words``: The beat at the input is accepted; it is the last of its packet; its number of
        words.
    ``arrives``: It is of the packet in flight and may be accepted; used with a window that ``shows_input``.
    ``stored``: Number of stored beats.
    ``position``: Position after the planned beat, counted from lane 0 of the oldest of them.
    ``ended``, ``last_words``: The last beat of the packet is stored; its number of words.
    ``known``: The last beat is stored, or at the input if the window shows that.
    ``missing``, ``fits``: The position is beyond the end; it is the end. Low if the end is not ``known``.
    ``fits_stored``: The position is the end, and the last beat is stored.
    """

    def __init__(self, lanes: int, *, beats: int, positions: int, shows_input: bool) -> None:
        self.lanes = lanes
        self.shows_input = shows_input
        super().__init__(
            {
                **flags(In, "starts", "accept", "last"),
                "words": In(range(lanes + 1)),
                "arrives": In(1),
                "stored": In(range(beats + 1)),
                "position": In(range(positions)),
                "ended": Out(1),
                "last_words": Out(range(lanes + 1)),
                **flags(Out, "known", "missing", "fits", "fits_stored"),
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
        """Position after so many ``beats``, the last with ``last_words``: a digit of their own, so the adder is short."""
        levels = exact_log2(self.lanes)
        return Cat(last_words[:levels], beats - ~last_words[levels])


class Progress(wiring.Component):
    """Follows a packet to its end. The rest of a packet that fails, or that is too long, is discarded first.

    ``starts``: A packet starts.
    ``ends``, ``fails``, ``fits``: The output of the packet ends; because of an error; with the last word of the input.
    ``plan``, ``rest_invalid``: The beat with which it ends, and whether a code after it is invalid.
    ``missing``, ``bad_padding``: Words of it are missing; its padding is not zero.
    ``ended``: The last beat of the packet has been accepted.
    ``stall``: No packet may finish but with a beat that is delivered.
    ``busy``, ``discarding``: A packet is in flight; its rest is discarded.
    ``finished``, ``error``: The packet finishes; its error.
    """

    def __init__(self, plan: Plan) -> None:
        events = (
            "starts",
            "ends",
            "fails",
            "fits",
            "rest_invalid",
            "missing",
            "bad_padding",
            "ended",
            "stall",
        )
        super().__init__(
            {
                **flags(In, *events),
                "plan": In(plan),
                **flags(Out, "busy", "discarding", "finished"),
                "error": Out(Error),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        busy = Signal()
        discarding = Signal()
        finished_well = Signal()
        error = Signal(Error, name="kept_error", reset_less=True)
        m.d.comb += [
            self.busy.eq(busy),
            self.discarding.eq(discarding),
            finished_well.eq(self.ends & ~self.fails & self.fits),
            self.finished.eq(finished_well | (discarding & self.ended & ~self.stall)),
            self.error.eq(Mux(discarding, error, Error.NONE)),
        ]
        with m.If(self.ends & ~finished_well):
            m.d.sync += [
                discarding.eq(1),
                error.eq(
                    first_error(
                        (self.plan.error != Error.NONE, self.plan.error),
                        (self.missing & ~self.plan.last & self.rest_invalid, Error.CODE),
                        (self.missing, Error.TRUNCATED),
                        (self.bad_padding, Error.PADDING),
                        otherwise=Error.TRAILING,
                    )
                ),
            ]
        with m.Elif(self.finished):
            m.d.sync += discarding.eq(0)
        m.d.sync += busy.eq(self.starts | (busy & ~self.finished))
        return m
