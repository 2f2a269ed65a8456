"""Beats of a pipelined decompressor: planned from windows, then spread to their lanes."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import thermometer
from cdma.hdl.blocks.elaboration import flags, sized, without_reset
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.codec.parts.codes import entry_of, sent_of, table_of, word_of
from cdma.hdl.codec.parts.interface import Error, first_error, table_members
from cdma.hdl.codec.parts.network import (
    Ranking,
    Ranks,
    Routes,
    Settings,
    exchange,
    keep,
    kept_settings,
    settings_of,
)
from cdma.hdl.spec.codec import CodecConfig

from .intake import Position
from .window_reader import Window


class PlannedBeat(data.StructLayout):
    """One beat to deliver.

    ``codes``: Codes of its words.
    ``place``: Position of its first stored word.
    ``literals``: Number of literals; without bits in formats with parts of words.
    ``words``: Number of words, less one.
    ``last``: Ends the packet.
    ``error``: The reason for which the beat cannot be delivered. An empty beat then ends the packet instead.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(
            {
                "codes": config.lanes * config.format.code_bits,
                "place": Position(config),
                "literals": range(1 + config.lanes * (config.format.parts == 1)),
                "words": range(config.lanes),
                "last": 1,
                "error": Error,
            }
        )


class BeatPlanner(wiring.Component):
    """Plans the beats of windows.

    ``window``: The windows.
    ``go``: A beat may be planned in this cycle.
    ``busy``: Beats are left of a window.
    ``plans``: A beat is planned in this cycle.
    ``planned``, ``valid``: The planned beat, in the next cycle, and whether it is valid.

    Throughput: a beat per cycle, or one every second cycle in a window that lacks literals. After a beat that cannot be
    delivered the rest of its window is dropped.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "window": In(stream.Signature(Window(config))),
                "go": In(1),
                **flags(Out, "busy", "plans"),
                "planned": Out(PlannedBeat(config)),
                "valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        lanes = config.lanes
        beat_codes = lanes * config.format.code_bits
        #: The rest of a window.
        left = Signal(Window(config), reset_less=True)
        #: The next beat is the last one that is left of its window, or none is left.
        ends = Signal()
        moves = Signal()
        final = Signal()
        fails = Signal()
        # In a window that lacks literals, a cycle before each beat finds out whether the beat lacks some.
        missing = Signal()
        settled = Signal()
        count = left.counts[0]
        # Padding is missing for the last beat of its window.
        lacks = missing | ~left.more[0] if config.format.align_words > 1 else missing
        planned = self.planned
        m.d.comb += [
            self.plans.eq(self.busy & self.go & (settled | ~left.short)),
            final.eq(left.last & ~left.more[0]),
            fails.eq(left.bad[0] | (left.short & lacks)),
            ends.eq(~self.busy | ~left.more[0] | fails),
            # The rest of a window is many bits, so their enable and their selection have little logic.
            moves.eq(~self.busy | self.plans),
            self.window.ready.eq(moves & ends),
        ]
        m.d.sync += [settled.eq(~moves), missing.eq(count > left.available)]
        with m.If(moves):
            with m.If(ends):
                m.d.sync += [left.eq(self.window.payload), self.busy.eq(self.window.valid)]
            with m.Else():
                # The bits that rotate in after the last beat are never used.
                for field, step in (
                    (left.codes, beat_codes),
                    (left.counts, len(Value.cast(count))),
                    (left.bad, 1),
                ):
                    bits = Value.cast(field)
                    m.d.sync += bits.eq(bits.rotate_right(step))
                m.d.sync += [
                    left.more.eq(left.more >> 1),
                    left.place.eq(Value.cast(left.place) + count),
                    left.available.eq(left.available - count),
                ]
        m.d.sync += [
            self.valid.eq(self.plans),
            planned.codes.eq(left.codes),
            planned.place.eq(left.place),
            *sized(planned.literals.eq(count)),
            planned.words.eq(Mux(final, left.words, lanes - 1)),
            planned.last.eq(final | fails),
            # An invalid code is reported rather than missing literals, even of an earlier beat.
            planned.error.eq(first_error((fails & left.any_bad, left.error), (fails, Error.TRUNCATED))),
        ]
        return m


#: Levels of the butterfly within a cycle.
_LEVELS = 2


class _Stage:
    """The registers of a planned beat in a stage of the pipeline; their names begin with ``name``."""

    def __init__(self, config: CodecConfig, name: str) -> None:
        self.plan = Signal(PlannedBeat(config), name=name, reset_less=True)
        self.valid = Signal(name=f"{name}_valid")


class Spreader(wiring.Component):
    """A pipeline that counts the literals of a beat, sets the exchanges, reads the words and exchanges them.

    ``planned``, ``valid``: A beat, and whether it is valid in this cycle.
    ``place``: Position from which to read words.
    ``words``: The words read, in the cycle after ``place``.
    ``reading``, ``oldest``: Words are read; the words of beats before ``oldest`` are no longer needed.
    ``busy``: Words of a beat in the pipeline are still to be read.
    ``beat``, ``done``: The beat to deliver, which is empty if its packet fails, and whether it is valid in this cycle.

    Throughput: a beat per cycle; the pipeline never stops. Latency: three cycles, and one more for each pair of levels.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        place = Position(config)
        super().__init__(
            {
                "planned": In(PlannedBeat(config)),
                "valid": In(1),
                "place": Out(place),
                "words": In(data.ArrayLayout(fmt.stream_bits, config.units)),
                "reading": Out(1),
                "oldest": Out(place["beat"].shape),
                "busy": Out(1),
                "beat": Out(Beat(fmt.word_bits, config.lanes)),
                "done": Out(1),
                **table_members(config),
            }
        )

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
            self.reading.eq(routed.valid),
            self.oldest.eq(routed.plan.place.beat),
            self.busy.eq(self.valid | ranked.valid | routed.valid),
        ]
        settings = kept_settings(self.config, range(routes.levels), "routed_{}")
        m.d.sync += [
            ranks.eq(ranking.ranks),
            ranked.plan.eq(self.planned),
            ranked.valid.eq(self.valid),
            routed.plan.eq(ranked.plan),
            routed.valid.eq(ranked.valid),
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
            m.d.sync += [later.plan.eq(stage.plan), later.valid.eq(stage.valid), later_words.eq(words)]
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
            self.done.eq(stage.valid),
            beat.keep.eq(Mux(plan.error == Error.NONE, thermometer(plan.words, lanes) << 1 | 1, 0)),
            beat.last.eq(plan.last),
        ]
        sent = self._sent(plan.codes)
        for lane in range(lanes):
            code = plan.codes.word_select(lane, fmt.code_bits)
            stored = words.word_select(lane, fmt.word_bits)
            if fmt.parts == 1:
                word = Mux(code.all(), stored, 0) | entry_of(code, table, self.config)
            else:
                parts = sent.word_select(lane, fmt.parts)
                kept = Cat(part.replicate(fmt.stream_bits) for part in parts)
                word = word_of(code, table, stored & kept, self.config)
            m.d.sync += beat.data[lane].eq(word)

    def _sent(self, codes: Value) -> Value:
        """The stream words of a beat that the stream has."""
        return sent_of(codes, C(0, self.config.lanes), self.config)
