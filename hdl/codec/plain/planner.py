"""What a decompressor plans: the codes of each beat, and how its literals must be spread."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import thermometer
from cdma.hdl.codec.parts.butterfly import Ranking, Routes
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["Plan", "Planner"]


class Plan(data.StructLayout):
    """One beat.

    ``codes``, ``swap``
        Of its words; the exchanges that spread its literals.
    ``literals``, ``words``
        How many there are; of words one less.
    ``last``, ``error``
        It is the packet's last; it cannot be delivered, and why.
    """

    def __init__(self, config: CodecConfig) -> None:
        lanes = config.lanes
        super().__init__(
            {
                "codes": lanes * config.format.code_bits,
                "swap": data.ArrayLayout(lanes // 2, exact_log2(lanes)),
                "straight": data.ArrayLayout(lanes // 2, exact_log2(lanes)),
                "literals": range(lanes + 1),
                "words": range(lanes),
                "last": 1,
                "error": Error,
            }
        )


class Planner(wiring.Component):
    """Goes through packets beat by beat, from one ``length`` and the headers; ``plan`` holds the beat planned last.

    ``known``, ``fresh``
        There is a length; the next beat is the first of its packet.
    ``wants_header``
        The next beat begins a window, so ``header`` is looked at; ``header_missing`` says that it is not to be had.
    ``take``
        Plans the next beat, of which ``count`` words are literals, the first in lane ``offset``; or, if it is not
        ``whole``, reads one part of a header that is longer than a part.
    ``closes``
        ``take`` plans the last beat of its packet, or one that cannot be.
    ``give_up``
        Forgets the packet.
    """

    def __init__(self, config: CodecConfig, header_part: int) -> None:
        self.config = config
        self.header_part = header_part
        self.parts = config.format.header_words // header_part
        super().__init__(
            {
                "length": In(stream.Signature(32)),
                "header": In(data.ArrayLayout(config.format.word_bits, header_part)),
                "header_missing": In(1),
                "offset": In(range(config.lanes)),
                "take": In(1),
                "give_up": In(1),
                "known": Out(1),
                "fresh": Out(1, init=1),
                "wants_header": Out(1),
                "whole": Out(1),
                "closes": Out(1),
                "count": Out(range(config.lanes + 1)),
                "plan": Out(Plan(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, parts = self.config, self.parts
        fmt, lanes, beats = config.format, config.lanes, config.beats
        levels, code_bits = exact_log2(lanes), fmt.code_bits
        remaining = Signal(32)
        place = Signal(range(beats))  # of the next beat in its window
        part = Signal(range(parts))  # of the next part in its header
        header_rest = Signal(fmt.window * code_bits, reset_less=True)
        bits_of_part = self.header_part * fmt.word_bits

        rest = Signal(fmt.window * code_bits)
        codes = Signal(lanes * code_bits)
        literal = Signal(lanes)
        header = Cat(header_rest[: (parts - 1) * bits_of_part], self.header)
        m.d.comb += [
            self.wants_header.eq(place == 0),
            self.whole.eq(~self.wants_header | (part == parts - 1) | self.header_missing),
            rest.eq(Mux(self.wants_header, header, header_rest)),
            codes.eq(rest),
            literal.eq(Cat(codes.word_select(lane, code_bits).all() for lane in range(lanes))),
        ]

        # What the beat has, and whether its codes may be so.
        full_beats, odd = remaining >> levels, remaining[:levels]
        last = Signal()
        keep = Signal(lanes)
        m.d.comb += [
            last.eq((full_beats == 0) | ((full_beats == 1) & (odd == 0))),
            keep.eq(Mux(full_beats == 0, thermometer(odd, lanes), ~0)),
        ]
        undefined = Signal()
        wrong = []
        for lane in range(lanes):
            code = codes.word_select(lane, code_bits)
            if config.table_size < fmt.literal_code:
                wrong.append((code >= config.table_size) & ~code.all())
            wrong.append(~keep[lane] & code.any())
        if beats > 1:
            beyond = Signal(fmt.window * code_bits)
            # Places of beats which the window does not have: what is left of the header after this beat. The rest of
            # the header is shifted out with zeros behind it, so a whole window's last beat leaves nothing.
            m.d.comb += beyond.eq(rest >> lanes * code_bits)
            wrong.append(last & beyond.any())
        m.d.comb += undefined.eq(Cat(wrong).any())

        m.submodules.ranking = ranking = Ranking(lanes)
        m.submodules.routes = routes = Routes(lanes)
        takes_beat = Signal()
        m.d.comb += [
            ranking.literal.eq(literal),
            routes.ranks.eq(ranking.ranks),
            routes.offset.eq(self.offset),
            self.count.eq(ranking.ranks.count),
            takes_beat.eq(self.take & self.whole),
            self.closes.eq(takes_beat & (last | self.header_missing | undefined)),
        ]
        plan = Signal.like(self.plan, reset_less=True)
        m.d.comb += self.plan.eq(plan)
        with m.If(takes_beat):
            m.d.sync += [
                self.fresh.eq(self.closes),
                place.eq(Mux(self.closes | (place == beats - 1), 0, place + 1)),
                part.eq(0),
                header_rest.eq(rest >> lanes * code_bits),
                plan.codes.eq(codes),
                plan.swap.eq(routes.swap),
                plan.straight.eq(~Value.cast(routes.swap)),
                plan.literals.eq(self.count),
                plan.words.eq(Mux(last, odd - 1, lanes - 1)),
                plan.last.eq(last),
                plan.error.eq(
                    Mux(
                        remaining == 0,
                        Error.TRAILING,
                        Mux(self.header_missing, Error.TRUNCATED, Mux(undefined, Error.CODE, Error.NONE)),
                    )
                ),
            ]
        with m.Elif(self.take):
            m.d.sync += [self.fresh.eq(0), part.eq(part + 1)]
            for i in range(parts - 1):
                with m.If(part == i):
                    m.d.sync += header_rest[i * bits_of_part : (i + 1) * bits_of_part].eq(self.header)
        with m.If(self.give_up):
            m.d.sync += [self.fresh.eq(1), place.eq(0), part.eq(0)]

        # A length is taken in advance, when the packet before it has been planned. Where that could not be, it is taken
        # a cycle later, lest it wait for the codes to be looked at.
        m.d.comb += self.length.ready.eq(~self.known | (takes_beat & last))
        with m.If(self.length.ready):
            m.d.sync += [remaining.eq(self.length.payload), self.known.eq(self.length.valid)]
        with m.Else():
            with m.If(takes_beat):
                m.d.sync += remaining.eq(remaining - lanes)
            with m.If(self.closes | self.give_up):
                m.d.sync += self.known.eq(0)
        return m
