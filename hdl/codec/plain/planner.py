"""The planner of a plain decompressor: for each beat its codes, and the settings that spread its literals."""

from __future__ import annotations

from typing import Any, NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import add_three, count_ones, one_of, popcount, thermometer
from cdma.hdl.blocks.elaboration import copies, flags, sized
from cdma.hdl.codec.parts.codes import count_literals, sent_of, undefined
from cdma.hdl.codec.parts.interface import Error, first_error
from cdma.hdl.codec.parts.network import MANY, Ranking, Routes, padding_after, with_padding
from cdma.hdl.spec.codec import CodecConfig

from .headers import CodesAhead, GroupCodes, WindowCodes


class Plan(data.StructLayout):
    """One beat to deliver.

    ``codes``: Codes of its words.
    ``swap``, ``straight``: Settings of the exchanges that spread its stream words, for each level.
    ``literals``: Number of literals.
    ``words``: Number of words, less one.
    ``padding``: Number of words of padding after its stream words; without bits where windows are not padded.
    ``last``: Ends the packet.
    ``error``: The reason for which the beat cannot be delivered.
    """

    def __init__(self, config: CodecConfig) -> None:
        lanes, units = config.lanes, config.units
        settings = data.ArrayLayout(units // 2, exact_log2(units))
        super().__init__(
            {
                "codes": lanes * config.format.code_bits,
                "swap": settings,
                "straight": settings,
                "literals": range(lanes + 1),
                "words": range(lanes),
                "padding": range(config.format.align_words),
                "last": 1,
                "error": Error,
            }
        )


class WordsLeft(wiring.Component):
    """Counts down the words left of a packet, of up to 32 bits, in two parts: whether a beat is planned is known late in the
    cycle, and reaches only the few lower bits.

    The upper bits follow a cycle after the lower ones have passed zero, and count one too many until then. The lower ones
    are then those of at least ``beats`` beats less one, so the last two beats of a packet, and the rest of a window of
    ``beats`` beats, are recognised.

    ``loads``, ``counts``, ``holds``: Loads ``length``; subtracts a beat, while there is one more; does neither. One of
        them is high.
    ``unknown``: Nothing is known of the packet: ``loads`` is high, too.
    ``length``: Number of words of the next packet. The register has its upper bits before they are loaded, as soon as
        the packet before no longer needs them.
    ``near``: The lower bits.
    ``only_near``: There are no upper bits. Low in the two cycles after the last of them has gone.
    ``more``: There are upper bits; high a cycle longer.
    """

    def __init__(self, lanes: int, beats: int) -> None:
        self.lanes = lanes
        self.bits = exact_log2(lanes) + max(2, exact_log2(beats))
        super().__init__(
            {
                **flags(In, "loads", "counts", "holds", "unknown"),
                "length": In(32),
                "near": Out(self.bits),
                **flags(Out, "only_near", "more"),
            }
        )

    @property
    def beats(self) -> Value:
        """Full beats in the lower bits."""
        return self.near[exact_log2(self.lanes) :]

    @property
    def odd(self) -> Value:
        """Words beyond the full beats."""
        return self.near[: exact_log2(self.lanes)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        near = Signal(self.bits, reset_less=True)
        far = Signal(32 - self.bits, reset_less=True)
        only_near = Signal(reset_less=True)
        borrow = Signal(reset_less=True)
        next_far = self.length[self.bits :]
        m.d.comb += [self.near.eq(near), self.only_near.eq(only_near), self.more.eq(~only_near & far.any())]
        m.d.sync += [
            near.eq(
                one_of(
                    (self.loads, self.length[: self.bits]),
                    (self.counts, (near - self.lanes)[: self.bits]),
                    (self.holds, near),
                )
            ),
            borrow.eq(self.counts & ~self.beats.any()),
            only_near.eq(Mux(self.loads, next_far == 0, only_near | (far == 0))),
            far.eq(Mux(self.unknown | only_near, next_far, (far - borrow)[: len(far)])),
        ]
        return m


class _NextBeat(NamedTuple):
    """The next beat to plan.

    ``literal``: Its words in the stream.
    ``keep``: The words that it has.
    ``end``: Position after it and its padding.
    ``ends_window``, ``closes``: It is the last of its window; of its packet.
    ``plans``: It is planned in this cycle.
    """

    literal: Value
    keep: Value
    end: Value
    ends_window: Value
    closes: Value
    plans: Signal


class Planner(wiring.Component):
    """Plans packets beat by beat.

    ``length``: Number of words of each packet.
    ``known``: The length of the next beat's packet is known.
    ``fresh``: The next beat is the first of its packet.
    ``wants_header``: The next beat begins a window, so that ``header`` is read.
    ``header``: The header of the next beat's window, or the next part of a header longer than a part.
    ``header_missing``: The header will not arrive.
    ``one_entry``: Only entry 0 of the table is valid.
    ``moves``: The beat planned last leaves, or there is none.
    ``advance``: Plans the next beat if it is ``whole``, or else stores a part of its header. Only while ``moves``.
    ``whole``: With this part, the header of the next beat is whole.
    ``offset``: Lane of the first literal of the next beat, or part of a word.
    ``end``: Position after the last of them and after padding, counted from the lane 0 that ``offset`` is counted from.
    ``rest_offset``: ``offset`` for a next beat that does not begin a window.
    ``window_end``: ``end`` for a next beat that ends a window: the place of the next header. In a window of several
        beats it does not depend on ``header``, so that no path leads from one header to the next.
    ``plan``: The beat planned last, from the cycle after ``advance``.
    ``rest_invalid``: A code of its window after the beat planned last is invalid. Its packet must have words after it.
    ``give_up``: Drops the packet.
    """

    def __init__(self, config: CodecConfig, header_part: int) -> None:
        self.config = config
        self.window: Any = self._codes(header_part)
        self._position = range(2 * config.units + (config.format.align_words > 1))
        super().__init__(
            {
                "length": In(stream.Signature(32)),
                "header": In(data.ArrayLayout(config.format.stream_bits, header_part)),
                **flags(In, "header_missing", "one_entry", "moves", "advance", "give_up"),
                "known": Out(1),
                "fresh": Out(1, init=1),
                **flags(Out, "wants_header", "rest_invalid"),
                "end": Out(self._position),
                "plan": Out(Plan(config)),
                **self._header_ports(),
            }
        )

    def _codes(self, header_part: int) -> wiring.Component:
        """The block for the codes of a window."""
        return WindowCodes(self.config, header_part)

    def _header_ports(self) -> dict[str, wiring.Member]:
        """The ports for reading headers."""
        lane = range(self.config.units)
        return {
            "offset": In(lane),
            "rest_offset": In(lane),
            "whole": Out(1),
            "window_end": Out(self._position),
        }

    def _first_lane(self) -> Value:
        """The lane of the next beat's first literal."""
        return self.offset

    def _begin(self, m: Module, begins: Value) -> Value:
        """Whether the next beat begins a window; says whether a header is read before it."""
        m.d.comb += self.wants_header.eq(begins)
        return self.wants_header

    def _beyond(self, last: Value) -> list[Value]:
        """What else is wrong with the ``last`` beat of a packet."""
        return []

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.left = left = WordsLeft(config.lanes, config.beats)
        m.submodules.window = window = self.window
        #: Position of the next beat in its window.
        place = Signal(range(config.beats))
        #: Codes of the next beat, and its stream words: literals, or parts of words.
        codes = Signal(config.lanes * config.format.code_bits)
        literal = Signal(config.units)
        #: The words that the beat has.
        keep = Signal(config.lanes)
        ends_window = place == config.beats - 1
        begins = self._begin(m, place == 0)
        m.d.comb += [
            codes.eq(window.codes),
            literal.eq(sent_of(codes, keep, config)),
        ]
        last, invalid = self._check(m, left, window.codes, codes, keep)
        self._check_rest(m, left, window.rest, begins)
        swap, count, end = self._route(m, literal)
        padding = padding_after(m, config, end, last | ends_window)
        end = with_padding(end, padding)
        plans = Signal()
        # The last beat of its packet, or one that cannot be delivered.
        closes = Signal()
        m.d.comb += [
            self.end.eq(end),
            closes.eq(plans & (last | window.missing | invalid)),
            *copies(window, self, "header", "header_missing", "advance"),
            window.first.eq(begins),
            window.drop.eq(self.give_up),
        ]
        begins = self._follow(m, _NextBeat(literal, keep, end, ends_window, closes, plans))
        with m.If(plans):
            m.d.sync += place.eq(Mux(closes | ends_window, 0, place + 1))
        with m.If(plans | begins):
            m.d.sync += self.fresh.eq(closes)
        with m.If(self.give_up):
            m.d.sync += [self.fresh.eq(1), place.eq(0)]
        plan = Signal.like(self.plan, reset_less=True)
        # The complement is that of the register's next value, so that only one of the two waits for ``moves``.
        next_swap = Signal.like(Value.cast(plan.swap))
        m.d.comb += [self.plan.eq(plan), next_swap.eq(Mux(self.moves, swap, plan.swap))]
        m.d.sync += [Value.cast(plan.swap).eq(next_swap), Value.cast(plan.straight).eq(~next_swap)]
        # If no beat is planned, none is delivered, and the plan is ignored.
        with m.If(self.moves):
            m.d.sync += [
                plan.codes.eq(codes),
                plan.literals.eq(count_literals(codes, count, config)),
                plan.words.eq(Mux(last, left.odd - 1, config.lanes - 1)),
                *sized(plan.padding.eq(padding)),
                plan.last.eq(last),
                plan.error.eq(
                    first_error(
                        (left.only_near & (left.near == 0), Error.TRAILING),
                        (window.missing, Error.TRUNCATED),
                        (invalid, Error.CODE),
                    )
                ),
            ]
        self._count_down(m, left, plans, last, closes)
        return m

    def _follow(self, m: Module, beat: _NextBeat) -> Value:
        """Follows the codes of the window; whether a packet may begin with this cycle."""
        window = self.window
        m.d.comb += [
            self.window_end.eq(
                self._window_end(window.rest, beat.keep) if self.config.beats > 1 else beat.end
            ),
            beat.plans.eq(self.advance & window.whole),
            self.whole.eq(window.whole),
        ]
        return self.advance

    def _check(
        self, m: Module, left: WordsLeft, rest: Value, codes: Signal, keep: Signal
    ) -> tuple[Signal, Signal]:
        """Whether the next beat is the last of its packet, and whether a code of it is invalid; finds its words."""
        config, lanes = self.config, self.config.lanes
        partial = left.only_near & (left.beats == 0)
        last = Signal()
        m.d.comb += [
            last.eq(partial | (left.only_near & (left.beats == 1) & (left.odd == 0))),
            keep.eq(Mux(partial, thermometer(left.odd, lanes), ~0)),
        ]
        invalid = Signal()
        wrong = []
        for lane in range(lanes):
            code = codes.word_select(lane, config.format.code_bits)
            wrong += [*undefined(code, self.one_entry, config), ~keep[lane] & code.any()]
        if config.beats > 1:
            # The codes after the last beat, which belong to no word. After a whole window they are the zeros shifted into
            # the rest of its header.
            beyond = Signal(len(rest))
            m.d.comb += beyond.eq(rest >> len(codes))
            wrong.append(last & beyond.any())
        wrong += self._beyond(last)
        m.d.comb += invalid.eq(Cat(wrong).any())
        return last, invalid

    def _check_rest(self, m: Module, left: WordsLeft, rest: Value, begins: Value) -> None:
        """Checks the codes of the window after the beat planned last. The bits shifted into the rest of its codes are 0."""
        code_bits, rest_words = self.config.format.code_bits, self.config.format.window - self.config.lanes
        wrong: list[Value] = []
        for word, exists in enumerate(thermometer(left.near, rest_words)):
            code = rest.word_select(word, code_bits)
            wrong.append(~exists & ~left.more & code.any())
            wrong += undefined(code, self.one_entry, self.config)
        any_wrong = Cat(wrong).any()
        m.d.comb += self.rest_invalid.eq(any_wrong & ~begins)

    def _route(self, m: Module, literal: Signal) -> tuple[Value, Value, Value]:
        """Counts the stream words of the next beat; returns the settings of the exchanges, the count, and its end."""
        units, half = self.config.units, self.config.units // 2
        m.submodules.ranking = ranking = Ranking(units, from_offset=True)
        m.submodules.routes = routes = Routes(units, from_offset=True)
        offset = self._first_lane()
        m.d.comb += [ranking.literal.eq(literal), ranking.offset.eq(offset), routes.ranks.eq(ranking.ranks)]
        # The count of all literals comes late, so this does not wait for it.
        end = add_three(offset, popcount(literal[:half]), popcount(literal[half:]))
        if units >= MANY:
            end = count_ones(m, literal, "end", offset)
        return routes.swap, ranking.ranks.count, end

    def _window_end(self, rest: Value, keep: Signal) -> Value:
        """The end of the next beat if it is the last of a window of several."""
        half = self.config.units // 2
        codes = rest[: self.config.lanes * self.config.format.code_bits]
        literal = sent_of(codes, keep, self.config)
        end = add_three(self.rest_offset, popcount(literal[:half]), popcount(literal[half:]))
        return _padded(end, self.config)

    def _count_down(self, m: Module, left: WordsLeft, plans: Signal, last: Signal, closes: Signal) -> None:
        """Accepts lengths, and counts them down.

        A length is accepted in advance, when the last beat of the packet before is planned. If it is not valid by then, or
        if that packet ends early because its codes are invalid, the length is accepted a cycle later, so that it does not
        wait for the check of codes.
        """
        # ``plans`` comes last, so it is joined last.
        loads = Mux(plans, last | ~self.known, ~self.known)
        m.d.comb += [
            self.length.ready.eq(loads),
            left.length.eq(self.length.payload),
            left.loads.eq(loads),
            left.counts.eq(plans & self.known & ~last),
            left.holds.eq(~plans & self.known),
            left.unknown.eq(~self.known),
        ]
        with m.If(self.length.ready):
            m.d.sync += self.known.eq(self.length.valid)
        with m.Else(), m.If(closes | self.give_up):
            m.d.sync += self.known.eq(0)


def _padded(end: Value, config: CodecConfig) -> Value:
    """The ``end`` of a window, with its padding."""
    group = exact_log2(config.format.align_words)
    return with_padding(end, (-end)[:group] if group else C(0, 0))


class GroupPlanner(Planner):
    """Plans packets of two levels.

    ``header`` is read before each group, where it is the mask, and before each window that is there. The last beat of a
    packet whose mask has windows after it has an invalid code.
    """

    def _codes(self, header_part: int) -> wiring.Component:
        return GroupCodes(self.config, header_part)

    def _begin(self, m: Module, begins: Value) -> Value:
        begins_window = Signal()
        m.d.comb += [begins_window.eq(begins), self.wants_header.eq(self.window.reads)]
        return begins_window

    def _beyond(self, last: Value) -> list[Value]:
        return [last & self.window.beyond]

    def _follow(self, m: Module, beat: _NextBeat) -> Value:
        m.d.comb += [self.window.ends.eq(beat.ends_window), self.window.closes.eq(beat.closes)]
        return super()._follow(m, beat)


class PlannerAhead(Planner):
    """Plans packets whose headers are read ahead: it has these ports in place of ``whole``, ``offset``, ``rest_offset`` and
    ``window_end`` of :class:`Planner`.

    ``load``: Reads the next header; only while ``frees``.
    ``holds``, ``frees``: The next beat can be planned; there is room for a header.
    ``base``, ``next_header``: Position of the next beat's first literal; of the header after its window, as
        :class:`~cdma.hdl.codec.plain.headers.HeadersAhead` counts them.
    """

    def _codes(self, header_part: int) -> wiring.Component:
        return CodesAhead(self.config, header_part)

    def _header_ports(self) -> dict[str, wiring.Member]:
        units = self.config.units
        return {
            "load": In(1),
            **flags(Out, "holds", "frees"),
            "base": In(range(4 * units)),
            "next_header": Out(range(8 * units)),
        }

    def _first_lane(self) -> Value:
        return self.base[: exact_log2(self.config.units)]

    def _follow(self, m: Module, beat: _NextBeat) -> Value:
        window = self.window
        m.d.comb += [
            self.next_header.eq(self._next_header(m, beat)),
            beat.plans.eq(self.advance),
            *copies(window, self, "load", "moves"),
            window.ends.eq(beat.ends_window),
            window.closes.eq(beat.closes),
            *copies(self, window, "holds", "frees"),
        ]
        return self.load

    def _next_header(self, m: Module, beat: _NextBeat) -> Value:
        """The place of the next header, if the window ends with the next beat or the one after it."""
        config = self.config
        further = self.window.codes.word_select(1, config.lanes * config.format.code_bits)
        further_literal = sent_of(further, (~beat.ends_window).replicate(config.lanes), config)
        return _padded(count_ones(m, Cat(beat.literal, further_literal), "next_header", self.base), config)
