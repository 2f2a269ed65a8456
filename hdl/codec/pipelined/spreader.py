"""Spreads the literals of planned beats to their lanes."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of
from cdma.hdl.codec.parts.butterfly import Exchange, Ranking, Ranks, Routes
from cdma.hdl.codec.parts.classifier import table_of
from cdma.hdl.codec.parts.interface import table_members
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.codec import CodecConfig

from .beat_planner import PlannedBeat
from .intake import Place

__all__ = ["SpreadBeat", "Spreader"]

#: Levels of the butterfly within a cycle.
_LEVELS = 2


class SpreadBeat(data.StructLayout):
    """A beat to deliver: its words, how many there are, less one; whether the packet ends with it, and because it fails."""

    def __init__(self, config: CodecConfig) -> None:
        words = data.ArrayLayout(config.format.word_bits, config.lanes)
        super().__init__({"data": words, "words": range(config.lanes), "last": 1, "fails": 1})


class Spreader(wiring.Component):
    """A pipeline that never stops: counts a beat's literals, sets the exchanges, reads the words and exchanges them.

    ``planned``, ``there``
        A beat, and whether there is one in this cycle.
    ``place``, ``words``
        What to read, and it, in the next cycle. ``reading`` is high while a beat's words are read: those of the beats
        before ``oldest`` are not needed any more.
    ``busy``
        Words of a beat in the pipeline are yet to be read.
    ``beat``, ``done``
        What becomes of it, and whether there is one.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        place = Place(config)
        members = {
            "planned": In(PlannedBeat(config)),
            "there": In(1),
            "place": Out(place),
            "words": In(data.ArrayLayout(fmt.word_bits, lanes)),
            "reading": Out(1),
            "oldest": Out(place["beat"].shape),
            "busy": Out(1),
            "beat": Out(SpreadBeat(config)),
            "done": Out(1),
        }
        super().__init__({**members, **table_members(config)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        fmt, lanes = config.format, config.lanes
        levels, code_bits = exact_log2(lanes), fmt.code_bits

        # A cycle for the counts of literals, and one for the exchanges.
        m.submodules.ranking = ranking = Ranking(lanes, 4)
        m.submodules.routes = routes = Routes(lanes)
        ranks = Signal(Ranks(lanes), reset_less=True)
        ranked = Signal(PlannedBeat(config), name="ranked", reset_less=True)
        routed = Signal(PlannedBeat(config), name="routed", reset_less=True)
        ranked_there = Signal()
        routed_there = Signal()
        codes = self.planned.codes
        m.d.comb += [
            ranking.literal.eq(Cat(codes.word_select(lane, code_bits).all() for lane in range(lanes))),
            routes.ranks.eq(ranks),
            routes.offset.eq(ranked.place.lane),
            self.place.eq(ranked.place),
            self.reading.eq(routed_there),
            self.oldest.eq(routed.place.beat),
            self.busy.eq(self.there | ranked_there | routed_there),
        ]
        settings = self._settings("routed", levels)
        m.d.sync += [
            ranks.eq(ranking.ranks),
            ranked.eq(self.planned),
            ranked_there.eq(self.there),
            routed.eq(ranked),
            routed_there.eq(ranked_there),
            *(
                Cat(pair).eq(Cat(routes.swap[level], ~routes.swap[level]))
                for level, pair in enumerate(settings)
            ),
        ]

        # A few levels per cycle, the highest first.
        plan, there, words = routed, routed_there, Value.cast(self.words)
        for high in range(levels, 0, -_LEVELS) or [0]:
            name = f"below_{high}"
            later = Signal(PlannedBeat(config), name=name, reset_less=True)
            later_there = Signal(name=f"{name}_there")
            later_words = Signal(len(words), name=f"{name}_words", reset_less=True)
            kept = self._settings(name, high)
            m.d.sync += [
                later.eq(plan),
                later_there.eq(there),
                later_words.eq(words),
                *(Cat(pair).eq(Cat(before)) for pair, before in zip(kept, settings, strict=False)),
            ]
            plan, there, words, settings = later, later_there, later_words, kept
            for level in reversed(range(max(0, high - _LEVELS), high)):
                m.submodules[f"exchange_{level}"] = exchange = Exchange(fmt.word_bits, lanes, level)
                m.d.comb += [
                    exchange.input.eq(words),
                    exchange.swap.eq(settings[level][0]),
                    exchange.straight.eq(settings[level][1]),
                ]
                words = Value.cast(exchange.output)

        # The words that are no literals.
        table = table_of(self, config)
        m.d.sync += [
            self.done.eq(there),
            self.beat.words.eq(plan.words),
            self.beat.last.eq(plan.last),
            self.beat.fails.eq(plan.error != Error.NONE),
        ]
        for lane in range(lanes):
            code = plan.codes.word_select(lane, code_bits)
            cases = [(code == entry, value) for entry, value in enumerate(table)]
            literal = (code.all(), words.word_select(lane, fmt.word_bits))
            m.d.sync += self.beat.data[lane].eq(one_of(literal, *cases))
        return m

    def _settings(self, stage: str, levels: int) -> list[tuple[Signal, Signal]]:
        """Registers for the settings of the lowest ``levels``, and their complements."""
        pairs = self.config.lanes // 2
        return [
            (
                Signal(pairs, name=f"{stage}_swap_{level}", reset_less=True),
                Signal(pairs, name=f"{stage}_straight_{level}", reset_less=True),
            )
            for level in range(levels)
        ]
