"""The codes of the window in progress, as a decompressor's planner needs them beat by beat. Holds a window of raw words
until its header is known, and routes its literals on the way.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import one_of, popcount, thermometer
from cdma.hdl.blocks.registers import Beat, malformed
from cdma.hdl.codec.parts.compressor import Classifier, literals_of, rotated, sent_of
from cdma.hdl.codec.parts.interface import connect_table, table_members
from cdma.hdl.codec.parts.network import (
    Arrival,
    Ranking,
    Routes,
    Settings,
    Step,
    counts_stored,
    exchange,
    keep,
    kept_settings,
    last_header_part,
    settings_of,
    words_of_last_beat,
)
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["CodesAhead", "WindowCodes", "WindowStore"]


def _members(config: CodecConfig, header_part: int) -> dict[str, wiring.Member]:
    """The ports of both."""
    codes = config.format.window * config.format.code_bits
    return {
        "header": In(data.ArrayLayout(config.format.stream_bits, header_part)),
        "header_missing": In(1),
        "first": In(1),
        "take": In(1),
        "drop": In(1),
        "codes": Out(codes),
        "missing": Out(1),
        "rest": Out(codes),
    }


class WindowCodes(wiring.Component):
    """The codes of a window whose header comes, part by part, with its first beat, and what later beats need of them.

    ``header``, ``header_missing``
        The header, or its next part; and whether it will not arrive. They count while ``first`` is high.
    ``first``
        Says that the next beat is the first of its window.
    ``take``
        Takes the codes of a beat, if the header is ``whole``, or else the part of the header.
    ``drop``
        Drops the window.
    ``codes``
        The codes from those of the next beat on. Zeros follow the last ones.
    ``missing``
        Says that the header of the next beat will not arrive.
    ``whole``
        Says that ``codes`` are those of the next beat.
    ``rest``
        What the beats that were taken have left of their window's codes, unless the next beat is the ``first`` of its own.
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
        with m.If(self.take & self.whole):
            m.d.sync += [part.eq(0), rest.eq(self.codes >> beat_bits)]
        with m.Elif(self.take):
            m.d.sync += part.eq(part + 1)
            for number in range(parts - 1):
                with m.If(part == number):
                    m.d.sync += rest[number * self.part_bits :][: self.part_bits].eq(self.header)
        with m.If(self.drop):
            m.d.sync += part.eq(0)
        return m


class CodesAhead(wiring.Component):
    """The codes of a window whose header is read before its first beat is planned, at the earliest with the last beat of
    the window before it.

    The ports are those of :class:`WindowCodes`, with these differences:

    ``load``
        Reads a header; only while ``frees``.
    ``moves``
        Says that a beat may be taken. It may be high with ``take`` only, if the window is not empty.
    ``ends``
        Says that the next beat is the last of its window.
    ``closes``
        Says that it ends its packet. What is loaded with it is dropped.
    ``holds``
        Says that ``codes`` are those of the next beat.
    ``frees``
        Says that there is room for a header.
    """

    def __init__(self, config: CodecConfig, header_part: int) -> None:
        self.config = config
        flags = {"load": In(1), "moves": In(1), "ends": In(1), "closes": In(1)}
        super().__init__({**_members(config, header_part), **flags, "holds": Out(1), "frees": Out(1)})

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
            self.frees.eq(~holds | (self.take & self.ends)),
        ]
        # Where codes may be loaded, they are loaded whether or not there is a header, which is known late.
        loads = ~holds | (self.moves & self.ends)
        m.d.sync += [
            codes.eq(one_of((stays, codes), (shifts, codes >> beat_bits), (loads, Cat(self.header)))),
            missing.eq(Mux(loads, self.header_missing, missing)),
            holds.eq(
                Mux(self.take & (self.ends | self.closes), self.load & ~self.closes, holds | self.load)
                & ~self.drop
            ),
        ]
        return m


class _Stage:
    """The registers of one stage of the pipeline, which hold one beat."""

    def __init__(self, config: CodecConfig, number: int) -> None:
        fmt, lanes = config.format, config.lanes
        self.valid = Signal(name=f"valid_{number}")
        self.load = Signal(name=f"load_{number}")
        row = data.ArrayLayout(fmt.stream_bits, config.units)
        self.words = Signal(row, name=f"words_{number}", reset_less=True)
        self.codes = Signal(lanes * fmt.code_bits, name=f"codes_{number}", reset_less=True)
        #: The beat ends its window, ends its packet.
        self.end = Signal(name=f"end_{number}", reset_less=True)
        self.last = Signal(name=f"last_{number}", reset_less=True)


class _FirstStage(_Stage):
    """The stage where a beat arrives; it has registers for what is counted of the beat."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(config, 0)
        self.count = Signal(range(config.lanes + 1), reset_less=True)
        self.bad = Signal(reset_less=True)


class WindowStore(wiring.Component):
    """A pipeline of beats in which a window waits for its last beat, because the header precedes the literals.

    ``input``
        Raw beats.
    ``step``
        Beats with their literals routed to the lanes of the output beats, and with the header of their window.
    ``arrival``
        Counts each beat once, in order, when its routes are found. It must be accepted before the next beats move.

    Beats move up whenever a stage above them is free, so that bubbles close by themselves. They pass one or two levels of
    the butterfly between two stages. The lanes of a beat's literals depend only on what came before the beat, so they
    are known when it arrives. The first beat of a window leaves when the window's last beat is in the pipeline or, which
    saves a stage, at the input.

    Throughput: a beat per cycle. Latency of a window's first beat, if the source is always valid: the larger of
    ``beats - 1`` and the number of stages, in cycles.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        levels = exact_log2(config.units)
        #: About two levels fit between two stages. Finding the routes takes as long as one level.
        self.stages = max(config.beats - 1, 1 + (levels + 2) // 2)
        members = {
            "input": In(stream.Signature(Beat(fmt.word_bits, lanes))),
            "step": Out(stream.Signature(Step(config))),
            "arrival": Out(stream.Signature(Arrival(config))),
        }
        super().__init__({**members, **table_members(config)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat = self.input.payload
        m.submodules.classifier = classifier = Classifier(self.config)
        m.d.comb += [classifier.data.eq(beat.data), classifier.keep.eq(beat.keep)]
        connect_table(m, self.config, self, classifier)
        # A beat arrives in the first stage, and leaves from the last.
        first = _FirstStage(self.config)
        stages = [first, *(_Stage(self.config, number) for number in range(1, self.stages))]
        leaves = Signal()
        may_leave = Signal()
        arrives = Signal()
        may_move, moves = self._move(m, stages, arrives, leaves, may_leave)
        end_of_window = self._arrive(m, first, arrives, Value.cast(classifier.codes))
        total, padding, settings = self._route(m, first, may_move, moves)
        total, padding = self._climb(m, stages, total, padding, settings)
        codes = [*(stage.codes for stage in reversed(stages)), Value.cast(classifier.codes)]
        ends = [*(stage.end for stage in reversed(stages)), end_of_window]
        valid = [*(stage.valid for stage in reversed(stages)), self.input.valid]
        header, complete = self._header(codes, ends, valid)
        if not self.config.work_conserving:
            lasts = [*(stage.last for stage in reversed(stages)), beat.last]
            m.d.comb += self.step.payload.more.eq(complete & self._goes_on(ends, lasts))
        if padding is not None:
            m.d.comb += self.step.payload.padding.eq(padding)
        top = stages[-1]
        # What a step continues follows from the step before it, so no stage below keeps it.
        begins = Signal(init=1)
        start = Signal(range(self.config.units + 1))
        with m.If(leaves):
            m.d.sync += [begins.eq(top.end), start.eq(Mux(top.last, 0, self._remaining(total)))]
        m.d.comb += [
            self.step.payload.words.eq(top.words),
            self.step.payload.header.eq(header),
            self.step.payload.first.eq(begins),
            self.step.payload.last.eq(top.last),
            self.step.payload.start.eq(start),
            self.step.payload.total.eq(total),
            self.step.valid.eq(top.valid & (~begins | complete)),
            may_leave.eq(self.step.ready),
            leaves.eq(self.step.valid & self.step.ready),
        ]
        return m

    def _move(
        self, m: Module, stages: Sequence[_Stage], arrives: Signal, leaves: Signal, may_leave: Signal
    ) -> tuple[Value, Value]:
        """Moves beats up; returns whether the beat in the first stage may move on, and whether it does.

        A stage may load when it or any stage above it is empty, or when the last beat leaves.
        """
        valid = [stage.valid for stage in stages]
        may_load = [~Cat(valid[number:]).all() | leaves for number in range(len(stages))]
        counted = ~self.arrival.valid | self.arrival.ready
        hold = valid[0] & ~counted
        # Ready must not wait for valid. If all stages hold beats of a window without its end, then the beat at the input is
        # the end. So whether the top beat may leave is known without that beat.
        m.d.comb += self.input.ready.eq(~hold & (~Cat(valid).all() | may_leave))
        moves = [stage & may for stage, may in zip(valid[:-1], may_load[1:], strict=True)]
        may_move = moves[0]
        moves[0] = may_move & counted
        m.d.comb += [arrives.eq(self.input.valid & self.input.ready), stages[0].load.eq(arrives)]
        for stage, below in zip(stages[1:], moves, strict=True):
            m.d.comb += stage.load.eq(below)
        for stage, goes in zip(stages, [*moves, leaves], strict=True):
            m.d.sync += stage.valid.eq(stage.load | (stage.valid & ~goes))
        return may_move, moves[0]

    def _arrive(self, m: Module, stage: _FirstStage, arrives: Signal, codes: Value) -> Signal:
        """Loads the first stage; returns whether the beat at the input ends its window."""
        lanes, beats, beat = self.config.lanes, self.config.beats, self.input.payload
        #: Position of the beat in its window.
        place = Signal(range(beats))
        end_of_window = Signal()
        m.d.comb += end_of_window.eq((place == beats - 1) | beat.last)
        with m.If(arrives):
            m.d.sync += place.eq(Mux(end_of_window, 0, place + 1))
            m.d.sync += [
                stage.words.eq(self._stream_words(beat)),
                stage.codes.eq(codes),
                stage.end.eq(end_of_window),
                stage.last.eq(beat.last),
                # Beats with holes are malformed. This count never exceeds the words of their window.
                stage.count.eq(Mux(beat.last, popcount(beat.keep[1:]) + 1, lanes)),
                stage.bad.eq(malformed(beat)),
            ]
        return end_of_window

    def _stream_words(self, beat: data.View) -> Value:
        """The words of a beat as the stream has them."""
        if not self.config.format.rotate:
            return beat.data
        return Cat(rotated(beat.data[lane], self.config) for lane in range(self.config.lanes))

    def _route(
        self, m: Module, stage: _FirstStage, may_move: Value, moves: Value
    ) -> tuple[Value, Value | None, Settings]:
        """Finds the lanes of what is stored of the first stage; returns the total of its step, and what of that pads its
        window, if windows are padded, and the settings."""
        fmt, units = self.config.format, self.config.units
        #: The next step begins a window.
        begins = Signal(init=1)
        #: Number of words in the output beat that it continues.
        position = Signal(range(units + 1))
        after_header = Signal(range(2 * units + 1))
        total_0 = Signal(range(3 * units + 1))
        m.submodules.ranking = ranking = Ranking(units)
        m.submodules.routes = routes = Routes(units)
        before_header: Value = position
        if fmt.header_words > units:
            # The parts of the header before the last have filled the output beat, if it was empty.
            before_header = Mux(position == 0, units, position)
        m.d.comb += [
            ranking.literal.eq(
                sent_of(stage.codes, thermometer(stage.count, self.config.lanes), self.config)
            ),
            routes.ranks.eq(ranking.ranks),
            after_header.eq(Mux(begins, before_header + last_header_part(self.config), position)),
            routes.offset.eq(after_header),
        ]
        padding: Signal | None = None
        end = after_header + ranking.ranks.count
        if fmt.align_words > 1:
            padding = Signal(range(fmt.align_words))
            m.d.comb += padding.eq(Mux(stage.end, -end, 0))
            end += padding
        m.d.comb += total_0.eq(end)
        with m.If(moves):
            m.d.sync += [begins.eq(stage.end), position.eq(Mux(stage.last, 0, self._remaining(total_0)))]
        literals: Value = ranking.ranks.count
        if counts_stored(fmt):
            literals = popcount(literals_of(stage.codes, self.config))
            stored: Value = ranking.ranks.count
            if padding is not None:
                stored += padding
            m.d.comb += self.arrival.payload.stored.eq(stored)
        m.d.comb += [
            self.arrival.payload.words.eq(stage.count),
            self.arrival.payload.literals.eq(literals),
            self.arrival.payload.last.eq(stage.last),
            self.arrival.payload.malformed.eq(stage.bad),
            self.arrival.valid.eq(may_move),
        ]
        return total_0, padding, settings_of(routes)

    def _remaining(self, total: Value) -> Value:
        """The number of words in the last output beat that a step with this ``total`` touches."""
        units = self.config.units
        return words_of_last_beat(total, units, total > units, total > 2 * units)[: units.bit_length()]

    def _climb(
        self, m: Module, stages: Sequence[_Stage], total: Value, padding: Value | None, settings: Settings
    ) -> tuple[Value, Value | None]:
        """Takes beats from stage to stage, through the levels in between; returns the total and padding of the last one."""
        for number, (below, stage) in enumerate(itertools.pairwise(stages)):
            levels = self._levels_after(number)
            moved = exchange(m, self.config, below.words, levels, settings)
            kept = kept_settings(
                self.config, [level for level in settings if level >= levels.stop], f"{{}}_{number + 1}"
            )
            total_kept = Signal.like(total, name=f"total_{number + 1}", reset_less=True)
            with m.If(stage.load):
                m.d.sync += [
                    stage.words.eq(moved),
                    stage.codes.eq(below.codes),
                    stage.end.eq(below.end),
                    stage.last.eq(below.last),
                    total_kept.eq(total),
                ]
                keep(m, kept, settings)
            if padding is not None:
                padding_kept = Signal.like(padding, name=f"padding_{number + 1}", reset_less=True)
                with m.If(stage.load):
                    m.d.sync += padding_kept.eq(padding)
                padding = padding_kept
            total, settings = total_kept, kept
        return total, padding

    def _levels_after(self, number: int) -> range:
        """The levels of the butterfly between the stage of this ``number`` and the next one."""
        levels, gaps = exact_log2(self.config.units), self.stages - 1
        # The first gap finds the routes too, so it has the fewest levels.
        return range(levels * number // gaps, levels * (number + 1) // gaps)

    def _header(
        self, codes: Sequence[Value], ends: Sequence[Value], valid: Sequence[Value]
    ) -> tuple[Value, Value]:
        """The header of the window that begins with the first of these beats, and whether all its beats are valid."""
        beats = range(self.config.beats)
        complete = Cat(Cat(valid[: beat + 1]).all() & ends[beat] for beat in beats).any()
        header = []
        for beat in beats:
            passed = Cat(ends[:beat]).any() if beat else Const(0)
            header.append(Mux(passed, 0, codes[beat])[: self.config.lanes * self.config.format.code_bits])
        return Cat(header), complete

    def _goes_on(self, ends: Sequence[Value], lasts: Sequence[Value]) -> Value:
        """Whether the packet goes on after the window of the last stage, if all beats of that window are valid."""
        beats = range(self.config.beats)
        ends_packet = Cat(Cat(~end for end in ends[:beat]).all() & lasts[beat] for beat in beats)
        return ~ends_packet.any()
