"""Packs headers and routed literals into full output beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.blocks.arithmetic import one_of, rotate_up, thermometer
from cdma.hdl.blocks.elaboration import sized
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.spec.codec import CodecConfig

from .network import Step, head_words, last_header_part, words_of_last_beat


class Placed(data.StructLayout):
    """A step, or a part of its header, and the source of each lane of the output beats.

    ``words``: The stored words of the step, each in its lane of the output beats.
    ``header``: The words of the header, and of the mask before it, each in its lane. A header of one word has one field for
        all lanes.
    ``old``: Lanes of the first beat whose words are of earlier steps.
    ``in_header``: Lanes of the first beat and, above them, of the second that are old or have a word of ``header``. All
        other lanes have stored words.
    ``over_one``, ``over_two``: Words go beyond the first beat; beyond the second.
    ``remaining``: Number of words in the last beat that has any.
    ``filled``: Lanes of that beat that are not padding; without bits where windows are not padded.
    ``last``: Ends the packet.
    ``more``: As ``more`` of the step.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt, units = config.format, config.units
        header_part = min(head_words(fmt), units)
        super().__init__(
            {
                "words": data.ArrayLayout(fmt.stream_bits, units),
                "header": data.ArrayLayout(fmt.stream_bits, units if header_part > 1 else 1),
                "old": units,
                "in_header": units + header_part,
                "over_one": 1,
                "over_two": 1,
                "remaining": range(units + 1),
                "filled": units * (fmt.align_words > 1),
                "last": 1,
                "more": int(not config.work_conserving),
            }
        )


def stored_word(placed: Value, lane: int, goes_on: Value, config: CodecConfig) -> Value:
    """The stored word of a lane of an output beat, or 0 for padding, which only the last beat of a step has; words of the
    step ``goes_on`` beyond the others."""
    if config.format.align_words == 1:
        return placed.words[lane]
    return Mux(goes_on | placed.filled[lane], placed.words[lane], 0)


class Placement(wiring.Component):
    """Finds the positions of words in the output beats. Combinational.

    ``step``: Steps of windows. A header longer than a beat is placed part by part, a cycle each; its last part goes
        with the step. With two levels the mask of a group is placed with the step that opens the group.
    ``placed``: The step, or a part of its header, with the lanes for its words.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {"step": In(stream.Signature(Step(config))), "placed": Out(stream.Signature(Placed(config)))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, units = self.config.format, self.config.units
        header_part = min(fmt.header_words, units)
        header_parts, last_part = self.config.header_beats, last_header_part(self.config)
        step, placed = self.step.payload, self.placed.payload
        marks: Value = step.first

        part = Signal(range(header_parts))
        start: Value = step.start
        alone: Value = Signal(name="header_alone")
        parts = [step.header[word] for word in range(header_part)]
        if header_parts > 1:
            m.d.comb += alone.eq(step.first & (part != header_parts - 1))
            # The parts before this one have filled the output beat, if it was empty.
            start = Mux(step.first & (part != 0) & (step.start == 0), units, step.start)
            by_part = data.ArrayLayout(data.ArrayLayout(fmt.stream_bits, header_part), header_parts)
            header = Cat(step.header, Const(0, (header_part - last_part) * fmt.stream_bits))
            parts = [data.View(by_part, header)[part][word] for word in range(header_part)]
            with m.If(self.placed.valid & self.placed.ready):
                m.d.sync += part.eq(Mux(alone, part + 1, 0))
        if fmt.mask_words:
            parts = self._after_mask(parts)
            header_part, marks = len(parts), step.first | step.opens
        if header_part > 1:
            # The rotation needs a power of two of words; none of those added is in a lane of the header.
            rotated = 1 << ceil_log2(header_part)
            parts += [Const(0, fmt.stream_bits)] * (rotated - header_part)
            parts = rotate_up(parts * (units // rotated), start[: exact_log2(units)])
        in_header: Value = Cat(Const(-1, last_part), thermometer(start, units))
        if fmt.mask_words:
            both = Cat(Const(-1, 2 * fmt.header_words), thermometer(start, units))
            in_header = Mux(step.first & step.opens, both, in_header)
        elif last_part < header_part:
            in_header = Mux(alone, Cat(Const(-1, header_part), thermometer(start, units)), in_header)
        total = Signal.like(step.total)
        m.d.comb += [
            self.placed.valid.eq(self.step.valid),
            self.step.ready.eq(self.placed.ready & ~alone),
            total.eq(Mux(alone, start + units, step.total)),
            placed.words.eq(step.words),
            *(placed.header[lane].eq(word) for lane, word in enumerate(parts)),
            placed.old.eq(thermometer(start, units)),
            # A header of h words reaches h lanes beyond the old words.
            placed.in_header.eq(Mux(marks, in_header, 0)),
            placed.over_one.eq(total > units),
            placed.over_two.eq(total > 2 * units),
            placed.remaining.eq(words_of_last_beat(total, units, placed.over_one, placed.over_two)),
            placed.last.eq(step.last & ~alone),
            *sized(
                placed.filled.eq(thermometer(placed.remaining - step.padding, units)),
                # The parts of a header before its last keep the beat that they fill: its positions are those of a whole one.
                placed.more.eq(step.more & ~alone),
            ),
        ]
        return m

    def _after_mask(self, header: list[Value]) -> list[Value]:
        """The words of the mask, if the step opens a group, and of the header after it. A mask has as many words as a
        header; words after a header or a mask by itself may be anything."""
        opens, mask = self.step.payload.opens, list(self.step.payload.mask)
        return [Mux(opens, *words) for words in zip(mask, header, strict=True)] + header


class Packer(wiring.Component):
    """Collects words until an output beat is full, and queues full beats.

    ``step``: Beats of windows. One is accepted per cycle while the queue has room for the beats that it fills: up to
        two, because an incomplete beat, a header and a beat of literals can span three. Parts of a header that fill
        beats of their own need a cycle each.
    ``output``: The packed beats. A beat that is just full stays until the next word comes, because it may be the last
        of its packet.

    ``queue``: Queue of finished beats, with the ports of :func:`~cdma.hdl.codec.parts.interface.queue_members`.
    ``pipelined``: Places words a cycle before it packs them, when ``available`` of the queue is high, and holds the
        incomplete beat by the enables of its flip-flops. In standard cells, without such enables, a selection that
        holds the beat is cheaper.
    """

    def __init__(self, config: CodecConfig, queue: wiring.Component, *, pipelined: bool = False) -> None:
        self.config = config
        self.queue = queue
        self.pipelined = pipelined
        fmt, units = config.format, config.units
        self.header_part = min(head_words(fmt), units)
        super().__init__(
            {
                "step": In(stream.Signature(Step(config))),
                "output": Out(stream.Signature(Beat(fmt.stream_bits, units))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.placement = placement = Placement(self.config)
        wiring.connect(m, wiring.flipped(self.step), placement.step)
        #: Only the incomplete beat is left of the packet.
        flush = Signal()
        valid, placed = self._place(m, placement, flush)
        over_one, over_two, last = placed.over_one, placed.over_two, placed.last

        partial = Signal(placed.words.shape(), reset_less=True)
        flush_count = Signal(range(self.config.units + 1), reset_less=True)
        old = Signal(self.config.units)
        m.d.comb += old.eq(Mux(flush, ~0, placed.old))
        rows = self._rows(m, placed, old, partial)

        last_is_over_one = over_one & last
        # Rows that are full or, at the end of the packet, finished go into the queue.
        push = Signal(2)
        with m.If(flush):
            m.d.comb += push.eq(0b01)
        with m.Else():
            m.d.comb += push.eq(Cat(over_one | last, over_two | last_is_over_one))
        fires = Signal()
        m.submodules.queue = queue = self.queue
        wiring.connect(m, queue.output, wiring.flipped(self.output))
        m.d.comb += [
            # For a step that was placed a cycle before the queue has room.
            fires.eq((valid | flush) & (self.pipelined | queue.available)),
            queue.push.eq(push),
            queue.fire.eq(fires),
            queue.count.eq(Mux(flush, flush_count, placed.remaining) - 1),
            queue.last.eq(Cat(flush | (last & ~over_one), last_is_over_one & ~over_two)),
            *(queue.rows[i].eq(rows[i]) for i in range(2)),
        ]
        self._hold(m, placed, old, partial, rows[1], fires)
        with m.If(fires):
            m.d.sync += [flush.eq(~flush & last & over_two), flush_count.eq(placed.remaining)]
        return m

    def _place(self, m: Module, placement: Placement, flush: Signal) -> tuple[Value, Value]:
        """Accepts a step; returns whether there is one to pack, and its placement."""
        available, placed = self.queue.available, placement.placed
        if not self.pipelined:
            m.d.comb += placed.ready.eq(available & ~flush)
            return placed.valid, placed.payload
        valid = Signal(name="placed_valid")
        register = Signal(Placed(self.config), name="placed", reset_less=True)
        # After the last step of a packet there is a cycle for its incomplete beat. So a step that is placed never waits,
        # and ``available`` reaches only the memories before this register.
        ends = Signal()
        m.d.comb += placed.ready.eq(available & ~ends)
        m.d.sync += [
            valid.eq(placed.valid & placed.ready),
            ends.eq(placed.valid & placed.ready & placed.payload.last),
            register.eq(placed.payload),
        ]
        return valid, register

    def _header(self, placed: Value) -> list[Value]:
        """The word of the header for each lane."""
        return [placed.header[lane % len(placed.header)] for lane in range(self.config.units)]

    def _rows(self, m: Module, placed: Value, old: Value, partial: Value) -> list[data.View]:
        """The first two output beats that the step touches.

        The first continues the incomplete one: each of its lanes is old, or of the header, or of a literal. The header
        reaches into the second by at most as many lanes as it has words.
        """
        units, in_header, header = self.config.units, placed.in_header, self._header(placed)
        rows = [Signal(placed.words.shape(), name=f"row_{i}") for i in range(2)]
        for lane in range(units):
            first, second = (
                stored_word(placed, lane, goes_on, self.config)
                for goes_on in (placed.over_one, placed.over_two)
            )
            m.d.comb += rows[0][lane].eq(
                one_of(
                    (old[lane], partial[lane]),
                    (~old[lane] & in_header[lane], header[lane]),
                    (~old[lane] & ~in_header[lane], first),
                )
            )
            if lane < self.header_part:
                m.d.comb += rows[1][lane].eq(Mux(in_header[units + lane], header[lane], second))
            else:
                m.d.comb += rows[1][lane].eq(second)
        return rows

    def _hold(
        self, m: Module, placed: Value, old: Value, partial: Value, second_row: Value, fires: Value
    ) -> None:
        """Loads the register of the incomplete beat when a step ``fires``."""
        in_header, header = placed.in_header, self._header(placed)
        over_one, over_two = placed.over_one, placed.over_two
        moves, enable = (Const(1), fires) if self.pipelined else (fires, Const(1))
        for lane in range(self.config.units):
            word = stored_word(placed, lane, Const(0), self.config)
            second = one_of((moves & over_one & ~over_two, second_row[lane]), (moves & over_two, word))
            if lane >= self.header_part:
                second = word & (moves & over_one).replicate(self.config.format.stream_bits)
            keeps = ~moves | (~over_one & old[lane])
            with m.If(enable):
                m.d.sync += partial[lane].eq(
                    one_of(
                        (keeps, partial[lane]),
                        (~keeps & ~over_one & in_header[lane], header[lane]),
                        (~keeps & ~over_one & ~in_header[lane], word),
                    )
                    | second
                )
