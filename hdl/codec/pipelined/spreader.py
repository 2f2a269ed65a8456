"""Spreads what is stored of planned beats to its lanes."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.gates import thermometer
from cdma.hdl.blocks.without_reset import without_reset
from cdma.hdl.codec.parts.butterfly import Ranking, Ranks, Routes
from cdma.hdl.codec.parts.classifier import decoded, field_word, sent_of, table_of
from cdma.hdl.codec.parts.interface import table_members
from cdma.hdl.codec.parts.levels import Settings, exchange, keep, kept_settings, settings_of
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.codec import CodecConfig

from .beat_planner import PlannedBeat
from .intake import Position

__all__ = ["Spreader"]

#: Levels of the butterfly within a cycle.
_LEVELS = 2


class _Stage:
    """The registers of a planned beat on its way; their names begin with ``name``."""

    def __init__(self, config: CodecConfig, name: str) -> None:
        self.plan = Signal(PlannedBeat(config), name=name, reset_less=True)
        self.there = Signal(name=f"{name}_there")


class Spreader(wiring.Component):
    """A pipeline that counts the literals of a beat, sets the exchanges, reads the words and exchanges them.

    ``planned``, ``there``
        A beat, and whether it is valid in this cycle.
    ``place``
        Position from which to read words.
    ``words``
        The words read, in the cycle after ``place``.
    ``reading``, ``oldest``
        Say that words are read, and that those of the beats before ``oldest`` are no longer needed.
    ``busy``
        Says that words of a beat in the pipeline have still to be read.
    ``beat``, ``done``
        The beat to deliver, which is empty where its packet fails, and whether it is valid in this cycle.

    Throughput: a beat per cycle; the pipeline never stops. Latency: three cycles, and one more for each pair of levels.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        place = Position(config)
        members = {
            "planned": In(PlannedBeat(config)),
            "there": In(1),
            "place": Out(place),
            "words": In(data.ArrayLayout(fmt.stream_bits, config.units)),
            "reading": Out(1),
            "oldest": Out(place["beat"].shape),
            "busy": Out(1),
            "beat": Out(Beat(fmt.word_bits, config.lanes)),
            "done": Out(1),
        }
        super().__init__({**members, **table_members(config)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        routed, settings = self._route(m)
        last, words = self._exchange(m, routed, settings)
        self._decode(m, last, words)
        return m

    def _route(self, m: Module) -> tuple[_Stage, Settings]:
        """Counts literals in one cycle, and finds the settings of the exchanges in the next, while words are read."""
        units = self.config.units
        m.submodules.ranking = ranking = Ranking(units, 4)
        m.submodules.routes = routes = Routes(units)
        ranks = Signal(Ranks(units), reset_less=True)
        ranked, routed = _Stage(self.config, "ranked"), _Stage(self.config, "routed")
        m.d.comb += [
            ranking.literal.eq(self._sent(self.planned.codes)),
            routes.ranks.eq(ranks),
            routes.offset.eq(ranked.plan.place.lane),
            self.place.eq(ranked.plan.place),
            self.reading.eq(routed.there),
            self.oldest.eq(routed.plan.place.beat),
            self.busy.eq(self.there | ranked.there | routed.there),
        ]
        settings = kept_settings(self.config, range(routes.levels), "routed_{}")
        m.d.sync += [
            ranks.eq(ranking.ranks),
            ranked.plan.eq(self.planned),
            ranked.there.eq(self.there),
            routed.plan.eq(ranked.plan),
            routed.there.eq(ranked.there),
        ]
        keep(m, settings, settings_of(routes))
        return routed, settings

    def _exchange(self, m: Module, stage: _Stage, settings: Settings) -> tuple[_Stage, Value]:
        """Passes the words through the levels, the highest first and a few per cycle."""
        words = Value.cast(self.words)
        for high in range(exact_log2(self.config.units), 0, -_LEVELS) or [0]:
            later = _Stage(self.config, f"below_{high}")
            later_words = Signal(len(words), name=f"below_{high}_words", reset_less=True)
            kept = kept_settings(self.config, range(high), f"below_{high}_{{}}")
            m.d.sync += [later.plan.eq(stage.plan), later.there.eq(stage.there), later_words.eq(words)]
            keep(m, kept, settings)
            within = range(high - 1, max(0, high - _LEVELS) - 1, -1)
            words = Value.cast(exchange(m, self.config, later_words, within, kept))
            stage, settings = later, kept
        return stage, words

    def _decode(self, m: Module, stage: _Stage, words: Value) -> None:
        """Adds the words that are not literals."""
        fmt, lanes, plan = self.config.format, self.config.lanes, stage.plan
        table = table_of(self, self.config)
        beat = without_reset(m, "delivered", self.beat)
        m.d.sync += [
            self.done.eq(stage.there),
            beat.keep.eq(Mux(plan.error == Error.NONE, thermometer(plan.words, lanes) << 1 | 1, 0)),
            beat.last.eq(plan.last),
        ]
        sent = self._sent(plan.codes)
        for lane in range(lanes):
            code = plan.codes.word_select(lane, fmt.code_bits)
            stored = words.word_select(lane, fmt.word_bits)
            if fmt.parts == 1:
                word = decoded(code, table, code.all(), stored)
            else:
                parts = sent.word_select(lane, fmt.parts)
                kept = Cat(part.replicate(fmt.stream_bits) for part in parts)
                word = field_word(code, table, stored & kept, self.config)
            m.d.sync += beat.data[lane].eq(word)

    def _sent(self, codes: Value) -> Value:
        """Says which words the stream has of a beat."""
        return sent_of(codes, C(0, self.config.lanes), self.config)
