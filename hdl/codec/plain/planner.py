"""What a decompressor's planner says of a beat. Counts the words down that are left of a packet. Plans the beats of a
decompressor: their codes, and how their literals must be spread.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import add_three, count_ones, one_of, popcount, thermometer
from cdma.hdl.codec.parts.compressor import literals_of, sent_of
from cdma.hdl.codec.parts.interface import Error, first_error, has_one_entry
from cdma.hdl.codec.parts.network import Ranking, Routes
from cdma.hdl.spec.codec import CodecConfig

from .window_store import CodesAhead, WindowCodes

__all__ = ["Plan", "Planner", "WordsLeft"]


class Plan(data.StructLayout):
    """One beat to deliver.

    ``codes``
        Codes of its words.
    ``swap``, ``straight``
        Settings of the exchanges that spread what is stored of them, for each level.
    ``literals``
        Number of literals.
    ``words``
        Number of words, less one.
    ``padding``
        Number of words of padding after what is stored, in formats with padded windows.
    ``last``
        Ends the packet.
    ``error``
        Says why the beat cannot be delivered.
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
                **({"padding": range(config.format.align_words)} if config.format.align_words > 1 else {}),
                "last": 1,
                "error": Error,
            }
        )


class WordsLeft(wiring.Component):
    """The number of words left, of up to 32 bits, in two parts: whether a beat is taken is known late in the cycle, so this
    reaches only the few lower bits.

    The upper bits follow a cycle after the lower ones have passed zero, and count one too many until then. The lower ones
    are then those of at least ``beats`` beats less one, so neither of a packet's last two beats is mistaken, nor what is
    left of a window of ``beats`` beats.

    ``loads``, ``takes``, ``holds``
        Loads ``length``; takes away a beat, of which there is one more; does neither. One of them is high.
    ``unknown``
        Nothing is known of the packet: ``loads`` is high, too.
    ``length``
        Number of words of the next packet. Its upper bits are in the register before they are loaded, as soon as the packet
        before no longer needs them.
    ``near``
        The lower bits.
    ``only_near``
        There are no upper bits. Low in the two cycles after the last of them has gone.
    ``more``
        There are upper bits; high a cycle longer.
    """

    def __init__(self, lanes: int, beats: int) -> None:
        self.lanes = lanes
        self.bits = exact_log2(lanes) + max(2, exact_log2(beats))
        super().__init__(
            {
                "loads": In(1),
                "takes": In(1),
                "holds": In(1),
                "unknown": In(1),
                "length": In(32),
                "near": Out(self.bits),
                "only_near": Out(1),
                "more": Out(1),
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
                    (self.takes, (near - self.lanes)[: self.bits]),
                    (self.holds, near),
                )
            ),
            borrow.eq(self.takes & ~self.beats.any()),
            only_near.eq(Mux(self.loads, next_far == 0, only_near | (far == 0))),
            far.eq(Mux(self.unknown | only_near, next_far, (far - borrow)[: len(far)])),
        ]
        return m


class Planner(wiring.Component):
    """Plans packets beat by beat.

    ``length``
        Number of words of each packet.
    ``known``
        Says that the length of the next beat's packet is known.
    ``fresh``
        Says that the next beat is the first of its packet.
    ``wants_header``
        Says that the next beat begins a window, so that ``header`` is looked at.
    ``header``
        The header of the next beat's window, or the next part of a header longer than a part.
    ``header_missing``
        Says that the header will not arrive.
    ``one_entry``
        Says that of the table only entry 0 counts.
    ``moves``
        Says that the beat planned last leaves, or that there is none.
    ``take``
        Plans the next beat, if it is ``whole``, or takes one part of its header. Only while ``moves``.
    ``whole``
        Says that the header of the next beat is whole with this part.
    ``offset``
        Lane of the first literal of the next beat, or part of a word.
    ``end``
        Position after the last of them and after padding, counted from the lane 0 that ``offset`` is counted from.
    ``rest_offset``
        ``offset`` as it is if the next beat does not begin a window.
    ``window_end``
        ``end`` as it is if the next beat ends a window, which gives the place of the next header. If a window has several
        beats, this does not depend on ``header``, so that no path leads from one header to the next.
    ``plan``
        The beat planned last, from the cycle after ``take``.
    ``rest_invalid``
        Says that a code of its window after the beat planned last is invalid. Its packet must have words after it.
    ``give_up``
        Drops the packet.

    If it reads headers ``ahead``, it has these ports in place of ``whole``, ``offset``, ``rest_offset`` and ``window_end``:

    ``load``
        Reads the next header; only while ``frees``.
    ``holds``, ``frees``
        Says that the next beat can be planned, and that there is room for a header, as
        :class:`~cdma.hdl.codec.plain.window_store.CodesAhead` has them.
    ``base``, ``next_header``
        Position of the next beat's first literal; and that of the header after its window, as
        :class:`~cdma.hdl.codec.plain.positions.HeadersAhead` counts them.
    """

    def __init__(self, config: CodecConfig, header_part: int, *, ahead: bool = False) -> None:
        self.config = config
        self.ahead = ahead
        self.window: CodesAhead | WindowCodes = (CodesAhead if ahead else WindowCodes)(config, header_part)
        position = range(2 * config.units + (config.format.align_words > 1))
        super().__init__(
            {
                "length": In(stream.Signature(32)),
                "header": In(data.ArrayLayout(config.format.stream_bits, header_part)),
                "header_missing": In(1),
                "one_entry": In(1),
                "moves": In(1),
                "take": In(1),
                "give_up": In(1),
                "known": Out(1),
                "fresh": Out(1, init=1),
                "wants_header": Out(1),
                "rest_invalid": Out(1),
                "end": Out(position),
                "plan": Out(Plan(config)),
                **(
                    {
                        "load": In(1),
                        "holds": Out(1),
                        "frees": Out(1),
                        "base": In(range(4 * config.units)),
                        "next_header": Out(range(8 * config.units)),
                    }
                    if ahead
                    else {
                        "offset": In(range(config.units)),
                        "rest_offset": In(range(config.units)),
                        "whole": Out(1),
                        "window_end": Out(position),
                    }
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.left = left = WordsLeft(config.lanes, config.beats)
        m.submodules.window = window = self.window
        #: Position of the next beat in its window.
        place = Signal(range(config.beats))
        #: Codes of the next beat, and what is stored of it: its literals, or parts of words.
        codes = Signal(config.lanes * config.format.code_bits)
        literal = Signal(config.units)
        #: The words that the beat has.
        keep = Signal(config.lanes)
        ends_window = place == config.beats - 1
        m.d.comb += [
            self.wants_header.eq(place == 0),
            codes.eq(window.codes),
            literal.eq(sent_of(codes, keep, config)),
        ]
        last, undefined = self._check(m, left, window.codes, codes, keep)
        self._check_rest(m, left, window.rest)
        swap, count, end = self._route(m, literal)
        padding = Signal(range(config.format.align_words))
        if config.format.align_words > 1:
            m.d.comb += padding.eq(Mux(last | ends_window, -end, 0))
            end += padding
        m.d.comb += self.end.eq(end)
        takes_beat = Signal()
        # The last beat of its packet, or one that cannot be delivered.
        closes = Signal()
        m.d.comb += [
            closes.eq(takes_beat & (last | window.missing | undefined)),
            window.header.eq(self.header),
            window.header_missing.eq(self.header_missing),
            window.first.eq(self.wants_header),
            window.take.eq(self.take),
            window.drop.eq(self.give_up),
        ]
        if isinstance(window, CodesAhead):
            m.d.comb += [
                self.next_header.eq(self._next_header(m, window.codes, literal, ends_window)),
                takes_beat.eq(self.take),
                window.load.eq(self.load),
                window.moves.eq(self.moves),
                window.ends.eq(ends_window),
                window.closes.eq(closes),
                self.holds.eq(window.holds),
                self.frees.eq(window.frees),
            ]
            begins: Value = self.load
        else:
            m.d.comb += [
                self.window_end.eq(self._window_end(window.rest, keep) if config.beats > 1 else end),
                takes_beat.eq(self.take & window.whole),
                self.whole.eq(window.whole),
            ]
            begins = self.take
        with m.If(takes_beat):
            m.d.sync += place.eq(Mux(closes | ends_window, 0, place + 1))
        with m.If(takes_beat | begins):
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
                plan.literals.eq(popcount(literals_of(codes, config)) if config.format.parts > 1 else count),
                plan.words.eq(Mux(last, left.odd - 1, config.lanes - 1)),
                *([plan.padding.eq(padding)] if config.format.align_words > 1 else []),
                plan.last.eq(last),
                plan.error.eq(
                    first_error(
                        (left.only_near & (left.near == 0), Error.TRAILING),
                        (window.missing, Error.TRUNCATED),
                        (undefined, Error.CODE),
                    )
                ),
            ]
        self._count_down(m, left, takes_beat, last, closes)
        return m

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
        undefined = Signal()
        wrong = []
        for lane in range(lanes):
            code = codes.word_select(lane, config.format.code_bits)
            wrong += self._undefined(code)
            wrong.append(~keep[lane] & code.any())
        if config.beats > 1:
            # The codes after the last beat, which no word has. They are 0 after a whole window, because zeros are shifted
            # into the rest of its header.
            beyond = Signal(len(rest))
            m.d.comb += beyond.eq(rest >> len(codes))
            wrong.append(last & beyond.any())
        m.d.comb += undefined.eq(Cat(wrong).any())
        return last, undefined

    def _check_rest(self, m: Module, left: WordsLeft, rest: Value) -> None:
        """Looks ahead in the window of the beat planned last. What was shifted into the rest of its codes is 0."""
        code_bits, rest_words = self.config.format.code_bits, self.config.format.window - self.config.lanes
        wrong: list[Value] = []
        for word, exists in enumerate(thermometer(left.near, rest_words)):
            code = rest.word_select(word, code_bits)
            wrong.append(~exists & ~left.more & code.any())
            wrong += self._undefined(code)
        any_wrong = Cat(wrong).any()
        m.d.comb += self.rest_invalid.eq(any_wrong & ~self.wants_header)

    def _undefined(self, code: Value) -> list[Value]:
        """Conditions under which no word has this code."""
        fmt = self.config.format
        codes = self.config.table_size + fmt.zero
        if codes < fmt.literal_code:
            return [(code >= codes) & ~code.all()]
        other = code > 1 if fmt.zero else code.any()
        return [self.one_entry & other & ~code.all()] if has_one_entry(self.config) else []

    def _route(self, m: Module, literal: Signal) -> tuple[Value, Value, Value]:
        """Counts what is stored of the next beat; returns the settings of the exchanges, the count, and where it ends."""
        half = self.config.units // 2
        m.submodules.ranking = ranking = Ranking(self.config.units, from_offset=True)
        m.submodules.routes = routes = Routes(self.config.units, from_offset=True)
        offset = self.base[: exact_log2(self.config.units)] if self.ahead else self.offset
        m.d.comb += [
            ranking.literal.eq(literal),
            ranking.offset.eq(offset),
            routes.ranks.eq(ranking.ranks),
        ]
        # The count of all literals comes late, so this does not wait for it.
        end = add_three(offset, popcount(literal[:half]), popcount(literal[half:]))
        return routes.swap, ranking.ranks.count, end

    def _window_end(self, rest: Value, keep: Signal) -> Value:
        """Where the next beat ends if it is the last of a window of several."""
        half, group = self.config.units // 2, self.config.format.align_words
        codes = rest[: self.config.lanes * self.config.format.code_bits]
        literal = sent_of(codes, keep, self.config)
        end = add_three(self.rest_offset, popcount(literal[:half]), popcount(literal[half:]))
        return end + (-end)[: exact_log2(group)] if group > 1 else end

    def _next_header(self, m: Module, codes: Signal, literal: Signal, ends_window: Value) -> Value:
        """Where the next header is, if the window ends with the next beat or the one after it."""
        config, group = self.config, self.config.format.align_words
        further = codes.word_select(1, config.lanes * config.format.code_bits)
        further_literal = sent_of(further, (~ends_window).replicate(config.lanes), config)
        end = count_ones(m, Cat(literal, further_literal), "next_header", self.base)
        return end + (-end)[: exact_log2(group)] if group > 1 else end

    def _count_down(
        self, m: Module, left: WordsLeft, takes_beat: Signal, last: Signal, closes: Signal
    ) -> None:
        """Takes lengths, and counts them down.

        A length is taken in advance, when the last beat of the packet before is planned. If it is not valid by then, or if
        that packet ends early because its codes are invalid, the length is taken a cycle later, so that it does not wait
        for the codes to be checked.
        """
        # Whether the beat is taken is known last, so it is joined last.
        loads = Mux(takes_beat, last | ~self.known, ~self.known)
        m.d.comb += [
            self.length.ready.eq(loads),
            left.length.eq(self.length.payload),
            left.loads.eq(loads),
            left.takes.eq(takes_beat & self.known & ~last),
            left.holds.eq(~takes_beat & self.known),
            left.unknown.eq(~self.known),
        ]
        with m.If(self.length.ready):
            m.d.sync += self.known.eq(self.length.valid)
        with m.Else(), m.If(closes | self.give_up):
            m.d.sync += self.known.eq(0)
