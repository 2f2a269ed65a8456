"""The window store of a plain compressor, which routes literals while their window waits for its header."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import count_ones, popcount, thermometer
from cdma.hdl.blocks.elaboration import copies, optional, sized
from cdma.hdl.blocks.registers import malformed
from cdma.hdl.codec.parts.codes import Classifier, count_literals, rotated, sent_of
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
    padding_after,
    settings_of,
    with_padding,
    words_of_last_beat,
)
from cdma.hdl.spec.codec import CodecConfig

from .groups import beat_of, marks_of

#: Stream words that are counted together when a beat of words with parts arrives.
_GROUP = 4


class _Stage:
    """The registers of one stage of the pipeline; they hold one beat."""

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
        #: With two levels: the beat opens a group, and its window is absent.
        self.marks = {mark: Signal(name=f"{mark}_{number}", reset_less=True) for mark in marks_of(config)}


class _FirstStage(_Stage):
    """The stage where a beat arrives, with the counts of the beat. Where words have parts, with the stream words that are
    sent, and how many of each group are: to count all of them in the next cycle would take too long."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(config, 0)
        units = config.units * (config.format.parts > 1)
        self.sent = Signal(units, reset_less=True)
        self.groups = Signal(data.ArrayLayout(_GROUP.bit_length(), units // _GROUP), reset_less=True)
        self.count = Signal(range(config.lanes + 1), reset_less=True)
        self.bad = Signal(reset_less=True)


class WindowStore(wiring.Component):
    """A pipeline of beats in which a window waits for its last beat, because the header precedes the literals.

    ``input``: Raw beats.
    ``step``: Beats with their literals routed to the lanes of the output beats, and with the header of their window.
    ``arrival``: Counts of each beat, in order, when its routes are found. It must be accepted before the next beats
        move.

    Beats move up whenever a stage above them is free, so bubbles close by themselves. Between two stages they pass one or
    two levels of the butterfly. The lanes of a beat's literals depend only on earlier beats, so they are known when it
    arrives. The first beat of a window leaves when the window's last beat is in the pipeline or, which saves a stage, at
    the input.

    With two levels each beat says whether it opens a group and whether its window is absent, and thus has no header.
    ``mask`` then has the masks of the groups, in order.

    Throughput: a beat per cycle. Latency of a window's first beat, if the source is always valid: the larger of
    ``beats - 1`` and the number of stages, in cycles.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        levels = exact_log2(config.units)
        #: About two levels fit between two stages. Finding the routes takes as long as one level.
        self.stages = max(config.beats - 1, 1 + (levels + 2) // 2)
        self.grouped = config.format.mask_words > 0
        super().__init__(
            {
                "input": In(stream.Signature(beat_of(config))),
                **optional(fmt.mask_words, mask=In(stream.Signature(fmt.group))),
                "step": Out(stream.Signature(Step(config))),
                "arrival": Out(stream.Signature(Arrival(config))),
                **table_members(config),
            }
        )

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
        lasts = [*(stage.last for stage in reversed(stages)), beat.last]
        top = stages[-1]
        # The start of a step follows from the step before it, so no stage below keeps it.
        begins = Signal(init=1)
        start = Signal(range(self.config.units + 1))
        with m.If(leaves):
            m.d.sync += [begins.eq(top.end), start.eq(Mux(top.last, 0, self._remaining(total)))]
        heads = begins & ~top.marks["absent"] if self.grouped else begins
        offers = top.valid & (~heads | complete)
        m.d.comb += [
            *sized(
                self.step.payload.more.eq(complete & self._goes_on(ends, lasts)),
                self.step.payload.padding.eq(padding),
            ),
            self.step.payload.words.eq(top.words),
            self.step.payload.header.eq(header),
            self.step.payload.first.eq(heads),
            self.step.payload.last.eq(top.last),
            self.step.payload.start.eq(start),
            self.step.payload.total.eq(total),
            self.step.valid.eq(self._with_mask(m, top, offers, leaves) if self.grouped else offers),
            may_leave.eq(self.step.ready),
            leaves.eq(self.step.valid & self.step.ready),
        ]
        return m

    def _with_mask(self, m: Module, top: _Stage, offers: Value, leaves: Signal) -> Value:
        """Adds the mask to the step that opens a group; whether there is a step."""
        opens = top.marks["opens"]
        m.d.comb += [
            self.step.payload.opens.eq(opens),
            Value.cast(self.step.payload.mask).eq(self.mask.payload),
            self.mask.ready.eq(leaves & opens),
        ]
        return offers & (~opens | self.mask.valid)

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
        # Ready must not wait for valid. If all stages hold beats of a window without its end, the beat at the input is the
        # end. So the top beat may leave or not whatever that beat is.
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
        sent = sent_of(codes, beat.keep, self.config)
        groups = (sent[at : at + _GROUP] for at in range(0, len(sent), _GROUP))
        with m.If(arrives):
            m.d.sync += place.eq(Mux(end_of_window, 0, place + 1))
            m.d.sync += [
                stage.words.eq(rotated([beat.data[lane] for lane in range(lanes)], self.config)),
                stage.codes.eq(codes),
                stage.end.eq(end_of_window),
                stage.last.eq(beat.last),
                *(register.eq(beat[mark]) for mark, register in stage.marks.items()),
                *sized(
                    stage.sent.eq(sent),
                    Value.cast(stage.groups).eq(Cat(popcount(group) for group in groups)),
                ),
                # Beats with holes are malformed. This count never exceeds the words of their window.
                stage.count.eq(Mux(beat.last, popcount(beat.keep[1:]) + 1, lanes)),
                stage.bad.eq(malformed(beat)),
            ]
        return end_of_window

    def _route(
        self, m: Module, stage: _FirstStage, may_move: Value, moves: Value
    ) -> tuple[Value, Value, Settings]:
        """Finds the lanes of the stored words of the first stage; returns the total and the padding of its step, and the
        settings."""
        fmt, units = self.config.format, self.config.units
        #: The next step begins a window.
        begins = Signal(init=1)
        #: Number of words in the output beat that it continues.
        position = Signal(range(units + 1))
        after_header = Signal(range(2 * units + 1))
        total_0 = Signal(range(3 * units + 1))
        m.submodules.ranking = ranking = Ranking(units, grouped=_GROUP * (fmt.parts > 1))
        m.submodules.routes = routes = Routes(units)
        before_header: Value = position
        if fmt.header_words > units:
            # The parts of the header before the last have filled the output beat, if it was empty.
            before_header = Mux(position == 0, units, position)
        if fmt.parts > 1:
            m.d.comb += [ranking.literal.eq(stage.sent), ranking.groups.eq(stage.groups)]
        else:
            present = thermometer(stage.count, self.config.lanes)
            m.d.comb += ranking.literal.eq(sent_of(stage.codes, present, self.config))
        m.d.comb += [
            routes.ranks.eq(ranking.ranks),
            after_header.eq(
                position + self._heads(stage, begins)
                if self.grouped
                else Mux(begins, before_header + last_header_part(self.config), position)
            ),
            routes.offset.eq(after_header),
        ]
        end = after_header + ranking.ranks.count
        if fmt.parts > 1:
            # So many parts are counted sooner with carries apart.
            end = count_ones(m, ranking.literal, "end", after_header)
        padding = padding_after(m, self.config, end, stage.end)
        m.d.comb += total_0.eq(with_padding(end, padding))
        with m.If(moves):
            m.d.sync += [begins.eq(stage.end), position.eq(Mux(stage.last, 0, self._remaining(total_0)))]
        if counts_stored(fmt):
            stored = with_padding(ranking.ranks.count, padding)
            m.d.comb += self.arrival.payload.stored.eq(stored + self._heads(stage, begins))
        m.d.comb += [
            self.arrival.payload.words.eq(stage.count),
            self.arrival.payload.literals.eq(count_literals(stage.codes, ranking.ranks.count, self.config)),
            self.arrival.payload.last.eq(stage.last),
            self.arrival.payload.malformed.eq(stage.bad),
            self.arrival.valid.eq(may_move),
        ]
        return total_0, padding, settings_of(routes)

    def _heads(self, stage: _Stage, begins: Signal) -> Value:
        """The words of the mask and of the header that come before the literals of the first stage."""
        fmt = self.config.format
        if not self.grouped:
            return Mux(begins, fmt.header_words, 0)
        has_header = begins & ~stage.marks["absent"]
        return Mux(stage.marks["opens"], fmt.mask_words, 0) + Mux(has_header, fmt.header_words, 0)

    def _remaining(self, total: Value) -> Value:
        """The number of words in the last output beat that a step with this ``total`` touches."""
        units = self.config.units
        if self.grouped:
            # Without the comparisons, for which a sum with a mask comes too late.
            rest = total[: exact_log2(units)]
            return Cat(rest, total.any() & ~rest.any())
        return words_of_last_beat(total, units, total > units, total > 2 * units)[: units.bit_length()]

    def _climb(
        self, m: Module, stages: Sequence[_Stage], total: Value, padding: Value, settings: Settings
    ) -> tuple[Value, Value]:
        """Moves beats from stage to stage, through the levels in between; returns the total and padding of the last one."""
        for number, (below, stage) in enumerate(itertools.pairwise(stages)):
            levels = self._levels_after(number)
            moved = exchange(m, self.config, below.words, levels, settings)
            further = range(levels.stop, exact_log2(self.config.units))
            kept = kept_settings(self.config, further, f"{{}}_{number + 1}")
            total_kept = Signal.like(total, name=f"total_{number + 1}", reset_less=True)
            padding_kept = Signal.like(padding, name=f"padding_{number + 1}", reset_less=True)
            with m.If(stage.load):
                m.d.sync += [
                    stage.words.eq(moved),
                    *copies(stage, below, "codes", "end", "last"),
                    *(register.eq(below.marks[mark]) for mark, register in stage.marks.items()),
                    total_kept.eq(total),
                    padding_kept.eq(padding),
                ]
                keep(m, kept, settings)
            total, padding, settings = total_kept, padding_kept, kept
        return total, padding

    def _levels_after(self, number: int) -> range:
        """The levels of the butterfly between the stage of this ``number`` and the next one."""
        levels, gaps = exact_log2(self.config.units), self.stages - 1
        # In the first gap routes are found, too, so it has the fewest levels.
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
