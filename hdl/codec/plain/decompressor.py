"""The plain decompressor, made of logic and flip-flops."""

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import malformed
from cdma.hdl.blocks.gates import one_of, popcount, thermometer
from cdma.hdl.codec.parts.classifier import field_word, sent_of, table_of, table_word
from cdma.hdl.codec.parts.interface import has_one_entry
from cdma.hdl.codec.parts.streams import Error, first_error
from cdma.hdl.codec.parts.tally import DecompressorTally
from cdma.hdl.spec.codec import CodecConfig

from .expander import Expander
from .held_beat import HeldBeat
from .padding_check import PaddingCheck
from .planner import Planner
from .word_rows import WordRows

__all__ = ["PlainDecompressor"]


class PlainDecompressor(Elaboratable):
    """Drives the ``ports`` of a :class:`~cdma.hdl.codec.decompressor.Decompressor`, and is what that elaborates to.

    It takes two steps, of a cycle each. The *planner* takes the codes of the next beat from a header, which it reads where
    the window before ends, and finds the settings of the butterfly. The *spreader* takes the literals of the planned beat
    from the window of words that slides over the rows, and spreads them to their lanes of the output, with no register in
    between. The planner is at most one beat ahead, so that the header and the literals of a window's first beat leave the
    rows in consecutive cycles.

    There are as many rows as work conservation needs: a window that is limited by the output fills them all, and the beat
    at the input counts as one. A decompressor with less than two queued beats holds one beat in their place, and takes the
    words after it from the input.
    """

    def __init__(self, config: CodecConfig, ports: wiring.PureInterface) -> None:
        self.config = config
        self.ports = ports
        fmt, units = config.format, config.units
        self.levels = exact_log2(units)
        self.header_part = fmt.header_words // config.header_reads
        self.expander = Expander(fmt.stream_bits, units)
        self.padded = fmt.align_words > 1
        self.rows: WordRows | HeldBeat
        options = {"inverted": self.expander.inverted, "padded": self.padded}
        if config.work_conserving:
            beats = 2 if self.header_part <= 2 else 3
            self.rows = WordRows(fmt.stream_bits, units, beats, self.header_part, **options)
        else:
            self.rows = HeldBeat(fmt.stream_bits, units, self.header_part, **options)
        self.planner = Planner(config, self.header_part)
        self.tally = DecompressorTally(config)

        #: A beat is planned, and not yet delivered.
        self.planned = Signal()
        #: Position of the next word to plan, counted from lane 0 of the oldest beat in the rows.
        self.position = Signal(range(2 * units + self.padded))
        #: The lane of the next header, one bit each, while that is the next to plan.
        self.lane = Signal(units, init=1)
        #: What pads the window of the planned beat is not zero.
        self.bad_padding = Signal()
        #: A packet is in flight: one of its beats is planned, and it is not finished.
        self.busy = Signal()
        #: What is left of the packet in flight is discarded.
        self.discarding = Signal()
        #: The last beat of the packet in flight is in the rows, and has so many words.
        self.ended = Signal()
        self.last_words = Signal(range(units + 1), reset_less=True)
        #: Number of words of the beat at the input.
        self.words_arriving = Signal(range(units + 1))
        #: The beat at the input is of the packet in flight; it arrives in this cycle.
        self.belongs = Signal()
        self.arrives = Signal()
        #: No beat arrives, no packet starts, and none finishes but with a beat that is delivered.
        self.stall = Signal()
        #: The beat at the input is accepted.
        self.accept = Signal()
        #: Literals of the planned beat, or padding after them, are missing.
        self.missing = Signal()
        #: The packet in flight ends where its last literal is; all of it has been accepted.
        self.ends_well = Signal()
        self.accepted_well = Signal()
        #: The planned beat cannot be delivered, and an empty last beat goes out in its place.
        self.fails = Signal()
        #: The planned beat is delivered; with it, the packet ends.
        self.spread = Signal()
        self.ends = Signal()
        #: Another beat may be planned.
        self.moves = Signal()
        #: The beat at the input is the first of a packet, whose first beat is planned.
        self.starts = Signal()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.rows = self.rows
        m.submodules.planner = self.planner
        m.submodules.tally = self.tally
        wiring.connect(m, wiring.flipped(self.ports.length), self.planner.length)
        wiring.connect(m, self.tally.report, wiring.flipped(self.ports.report))
        if has_one_entry(self.config):
            m.d.comb += self.planner.one_entry.eq(self.ports.one_entry)
        stall: Value = self.tally.stall
        if isinstance(self.rows, HeldBeat):
            m.d.comb += self.rows.arrives.eq(self.arrives)
            # A beat that is offered may be at the input in part, so it must not be offered in the cycle before a stall.
            stall = stall | self.tally.closing
        m.d.comb += [
            self.stall.eq(stall),
            self.words_arriving.eq(
                popcount(self.ports.input.payload.keep[1:]) + self.ports.input.payload.keep[0]
            ),
            self.belongs.eq(self.busy & ~self.ended & ~self.discarding),
            self.arrives.eq(self.belongs & self.ports.input.valid & ~self.stall),
        ]
        self._offer(m)
        if self.padded:
            self._check_padding(m)
        self._spread(m)
        header_there, header_missing = self._find_header(m)
        self._plan(m, header_there, header_missing)
        self._accept(m)
        self._finish(m)
        return m

    def _offer(self, m: Module) -> None:
        """Offers the planned beat when its literals are in the rows, or are known to be missing."""
        plan, output = self.planner.plan, self.ports.output
        arriving, stored, visible = self.ports.input.payload, self.rows.stored, self.rows.visible
        #: Position after the last word of the packet, if that is stored.
        end = Signal(range(3 * self.config.units + 1))
        ended, too_short, fits = Value.cast(self.ended), self.position > end, self.position == end
        if not self.config.work_conserving:
            # The end may be in the beat at the input, which the window shows, too.
            end_at_input = Signal.like(end)
            m.d.comb += end_at_input.eq(self._end(self.words_arriving, stored + 1))
            ended = ended | (self.arrives & arriving.last)
            too_short = Mux(self.ended, too_short, self.position > end_at_input)
            fits = Mux(self.ended, fits, self.position == end_at_input)
        invalid = plan.error != Error.NONE
        m.d.comb += [
            end.eq(self._end(self.last_words, stored)),
            # A partial beat is the last of its packet, so that literals which are missing then will not arrive.
            output.valid.eq(
                self.planned
                & ((self.position <= (visible << self.levels)) | ended | invalid)
                & ~self.tally.full
            ),
            self.missing.eq(ended & too_short),
            self.ends_well.eq(ended & fits),
            self.accepted_well.eq(self.ended & (self.position == end) & ~self.bad_padding),
            self.fails.eq((plan.error != Error.NONE) | self.missing | self.bad_padding),
            self.spread.eq(output.valid & output.ready),
            self.ends.eq(self.spread & (plan.last | self.fails)),
            output.payload.keep.eq(Mux(self.fails, 0, thermometer(plan.words, self.config.lanes) << 1 | 1)),
            output.payload.last.eq(plan.last | self.fails),
        ]

    def _end(self, last_words: Value, beats: Value) -> Value:
        """Position after so many ``beats``, of which the last has ``last_words``.

        The words are a digit of their own, so there is little to add.
        """
        return Cat(last_words[: self.levels], beats - ~last_words[self.levels])

    def _check_padding(self, m: Module) -> None:
        """Looks at the padding of a window with its last beat."""
        m.submodules.padding_check = check = PaddingCheck(self.config)
        window = Value.cast(self.rows.window)
        m.d.comb += [
            Value.cast(check.window).eq(~window if self.expander.inverted else window),
            check.offset.eq(self.rows.offset),
            check.following.eq(self.rows.following),
            check.end.eq(self.position),
            check.padding.eq(self.planner.plan.padding),
            self.bad_padding.eq(check.wrong & ~self.missing),
        ]

    def _spread(self, m: Module) -> None:
        """Spreads the literals to their lanes, and adds the words that are not literals."""
        plan = self.planner.plan
        present = thermometer(plan.words, self.config.lanes) << 1 | 1
        m.submodules.expander = expander = self.expander
        m.d.comb += [
            expander.swap.eq(plan.swap),
            expander.straight.eq(plan.straight),
            # Literals that are missing are not stable, so they must not reach the output.
            expander.literal.eq(Mux(self.fails, 0, sent_of(plan.codes, present, self.config))),
            expander.input.eq(self.rows.window),
        ]
        table = table_of(self.ports, self.config)
        parts = self.config.format.parts
        for lane in range(self.config.lanes):
            code = plan.codes.word_select(lane, self.config.format.code_bits)
            if parts == 1:
                word = table_word(code, table) | expander.output[lane]
            else:
                of_word = Cat(expander.output[lane * parts + part] for part in range(parts))
                word = field_word(code, table, of_word, self.config)
            m.d.comb += self.ports.output.payload.data[lane].eq(word)

    def _find_header(self, m: Module) -> tuple[Signal, Signal]:
        """Whether the beat in which the next header ends, or its next part, has arrived; and whether it is missing there."""
        arriving, stored = self.ports.input.payload, self.rows.stored
        header_there = Signal()
        header_missing = Signal()
        m.d.comb += self.moves.eq(self.spread | ~self.planned)
        header_last = self.position + (self.header_part - 1)
        header_beat, header_lane = header_last >> self.levels, header_last[: self.levels]
        at_input = header_beat == stored
        # A beat that is partial without being the last is malformed. It counts as a whole beat, so that the packet ends.
        ends_before = arriving.last & ~arriving.keep.bit_select(header_lane, 1)
        last_stored = header_beat + 1 == stored
        with m.If(self.planner.fresh):
            m.d.comb += [
                header_there.eq(1),
                header_missing.eq(arriving.last & ~arriving.keep[self.header_part - 1]),
            ]
        with m.Else():
            m.d.comb += [
                header_there.eq(
                    (header_beat < stored)
                    | (self.arrives & at_input)
                    | self.ended
                    | (self.arrives & arriving.last)
                ),
                header_missing.eq(
                    Mux(
                        self.ended,
                        (header_beat >= stored) | (last_stored & (header_lane >= self.last_words)),
                        self.arrives & arriving.last & ((header_beat > stored) | (at_input & ends_before)),
                    )
                ),
            ]
        return header_there, header_missing

    def _plan(self, m: Module, header_there: Value, header_missing: Value) -> None:
        """Plans the next beat while the one before leaves.

        Whether that leaves is known last, so nothing but ``moves`` depends on it.
        """
        planner, plan, part_size = self.planner, self.planner.plan, self.header_part
        may_start = Signal()
        may_continue = Signal()
        plans = Signal()
        gives_up = Signal()
        m.d.comb += [
            # The first beat of a packet is read at the input, when no packet is in flight or that packet has all its beats.
            may_start.eq(
                planner.fresh
                & planner.known
                & self.ports.input.valid
                & ~self.stall
                & (~self.busy | (self.planned & plan.last & (plan.error == Error.NONE) & self.accepted_well))
            ),
            # This holds in the cycle in which a packet fails, too. What is planned then is given up at once.
            may_continue.eq(
                ~planner.fresh & self.busy & ~self.discarding & (~planner.wants_header | header_there)
            ),
            self.starts.eq(self.moves & may_start),
            plans.eq(self.moves & (may_start | may_continue)),
            gives_up.eq(self.spread & self.fails & ~planner.fresh),
            planner.header.eq(self.rows.header),
            planner.header_missing.eq(planner.wants_header & header_missing),
            planner.offset.eq(
                Mux(
                    planner.wants_header,
                    Mux(planner.fresh, 0, self.position) + part_size,
                    self.position,
                )
            ),
            planner.rest_offset.eq(self.position),
            planner.take.eq(plans),
            planner.give_up.eq(gives_up),
        ]
        # The position is loaded even if nothing is planned. Then no packet is in flight, and the position is ignored, or
        # the header has not arrived, and the position stays.
        reads = Signal()
        advances = Signal()
        m.d.comb += [
            reads.eq(planner.wants_header & header_there),
            # Whether a header of one word has arrived is known too late for the window, and makes no difference to it.
            self.rows.read.eq(planner.wants_header if self.header_part == 1 else reads),
            advances.eq((~planner.wants_header | reads) & planner.whole),
        ]
        stays, goes_on = ~self.moves, self.moves & advances
        skips, waits = self.moves & ~advances & reads, self.moves & ~advances & ~reads
        next_header = Signal.like(self.position)
        next_lane = Signal.like(self.lane)

        def next_position(end: Value) -> Value:
            cases = ((stays, self.position), (goes_on, end), (skips, planner.offset))
            return one_of(*cases, (waits, self.position[: self.levels]))

        m.d.comb += [
            next_header.eq(next_position(planner.window_end)),
            next_lane.eq(
                one_of(
                    (stays | waits, self.lane),
                    (goes_on, self._lane_of(planner.window_end)),
                    (skips, self._lane_of(planner.offset)),
                )
            ),
            self.rows.next_lane.eq(next_lane),
            self.rows.next_beat.eq(next_header >> self.levels),
        ]
        m.d.sync += [self.lane.eq(next_lane), self.position.eq(next_position(planner.end))]
        with m.If(self.moves):
            m.d.sync += self.planned.eq(plans & planner.whole & ~gives_up)

    def _lane_of(self, position: Value) -> Value:
        """The lane of a position, one bit each."""
        return Cat(position[: self.levels] == lane for lane in range(self.config.units))

    def _accept(self, m: Module) -> None:
        """Accepts the beat at the input into the rows."""
        input_, rows = self.ports.input, self.rows
        arriving = input_.payload
        m.d.comb += [
            input_.ready.eq(
                ~self.stall & (self.starts | (self.belongs & rows.takes) | (self.discarding & ~self.ended))
            ),
            self.accept.eq(input_.valid & input_.ready),
            rows.arriving.eq(arriving.data),
            rows.accept.eq(self.accept),
            rows.position.eq(self.position),
            rows.move.eq(self.moves),
            rows.forget.eq(self.discarding),
            rows.fresh.eq(self.planner.fresh),
        ]
        with m.If(self.accept):
            m.d.sync += self.last_words.eq(self.words_arriving)
        m.d.sync += self.ended.eq(Mux(self.accept, arriving.last, self.ended & ~self.starts))

    def _finish(self, m: Module) -> None:
        """Ends a packet. What is left of a packet that fails, or that has words left over, is discarded first."""
        plan, arriving, events = self.planner.plan, self.ports.input.payload, self.tally.events
        finished_well = Signal()
        finished = Signal()
        error = Signal(Error, reset_less=True)
        m.d.comb += [
            finished_well.eq(self.ends & ~self.fails & self.ends_well),
            finished.eq(finished_well | (self.discarding & self.ended & ~self.stall)),
        ]
        with m.If(self.ends & ~finished_well):
            m.d.sync += [
                self.discarding.eq(1),
                error.eq(
                    first_error(
                        (plan.error != Error.NONE, plan.error),
                        (self.missing & ~plan.last & self.planner.rest_invalid, Error.CODE),
                        (self.missing, Error.TRUNCATED),
                        *([(self.bad_padding, Error.PADDING)] if self.padded else []),
                        otherwise=Error.TRAILING,
                    )
                ),
            ]
        with m.Elif(finished):
            m.d.sync += self.discarding.eq(0)
        m.d.sync += self.busy.eq(self.starts | (self.busy & ~finished))
        delivers = self.spread & ~self.fails
        m.d.comb += [
            events.words_in.eq(Mux(self.accept, self.words_arriving, 0)),
            events.malformed.eq(self.accept & malformed(arriving)),
            events.starts.eq(self.starts),
            events.words_out.eq(Mux(delivers, plan.words + 1, 0)),
            events.literals.eq(Mux(delivers, plan.literals, 0)),
            events.finished.eq(finished),
            events.error.eq(Mux(self.discarding, error, Error.NONE)),
        ]
