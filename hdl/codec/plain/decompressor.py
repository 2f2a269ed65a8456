"""The plain decompressor, made of logic and flip-flops."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import popcount, thermometer
from cdma.hdl.blocks.elaboration import copies
from cdma.hdl.blocks.registers import malformed
from cdma.hdl.codec.parts.codes import sent_of, table_of, word_of
from cdma.hdl.codec.parts.counts import DecompressorTally
from cdma.hdl.codec.parts.interface import Error, connect_table, has_one_entry, table_members
from cdma.hdl.codec.parts.network import pairs
from cdma.hdl.spec.codec import CodecConfig

from .headers import HeaderPositions, HeadersAhead
from .packet_end import HeaderArrival, PacketEnd, PaddingCheck, Progress
from .planner import GroupPlanner, Plan, Planner, PlannerAhead
from .word_rows import HeldBeat, WordRows, WordRowsAhead


class Expander(wiring.Component):
    """The levels of the butterfly in the order that spreads words. Combinational.

    ``swap``, ``straight``: The pairs of lanes of each level that exchange their words, and the complement.
    ``literal``: The lanes of the output with a literal.
    ``input``: Words before the first level; their complements if :attr:`inverted`.
    ``output``: Literals in their lanes, and 0 in the others.

    A selection by two signals of which one is set needs fewer gates if it may invert the word. So every level inverts, and
    the last one puts out 0 in lanes without a literal, where it selects neither word.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        self.lanes = lanes
        self.levels = exact_log2(lanes)
        #: Whether the words at the input are complements, so that those at the output are not.
        self.inverted = bool(self.levels % 2)
        words = data.ArrayLayout(word_bits, lanes)
        settings = data.ArrayLayout(lanes // 2, self.levels)
        super().__init__(
            {
                "swap": In(settings),
                "straight": In(settings),
                "literal": In(lanes),
                "input": In(words),
                "output": Out(words),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words = self.input
        if not self.levels:
            m.d.comb += self.output[0].eq(Mux(self.literal, words[0], 0))
            return m
        for level in range(self.levels - 1, 0, -1):
            moved = Signal.like(self.output, name=f"after_{level}")
            for pair, lane, other in self._exchanges(level):
                straight, swap = self.straight[level][pair], self.swap[level][pair]
                m.d.comb += moved[lane].eq(~(Mux(straight, words[lane], 0) | Mux(swap, words[other], 0)))
            words = moved
        for pair, lane, other in self._exchanges(0):
            stays, comes = (each[0][pair] & self.literal[lane] for each in (self.straight, self.swap))
            m.d.comb += self.output[lane].eq(~(Mux(stays, words[lane], ~0) & Mux(comes, words[other], ~0)))
        return m

    def _exchanges(self, level: int) -> Iterator[tuple[int, int, int]]:
        """For each lane the number of its pair, the lane, and the other one."""
        for pair, low in enumerate(pairs(self.lanes, level)):
            high = low | 1 << level
            yield from ((pair, low, high), (pair, high, low))


class Spreader(wiring.Component):
    """Spreads the literals of a beat to their lanes, and adds the words that are not literals. Combinational.

    ``plan``: The beat.
    ``fails``: It cannot be delivered. Missing literals are not stable, so they do not reach the output then.
    ``window``: Its literals in the window of the rows; their complements if :attr:`inverted`.
    ``values``: Table of frequent values, if the configuration leaves it to run time.
    ``data``: The words.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        self.expander = Expander(fmt.stream_bits, config.units)
        super().__init__(
            {
                "plan": In(Plan(config)),
                "fails": In(1),
                "window": In(data.ArrayLayout(fmt.stream_bits, config.units)),
                **table_members(config),
                "data": Out(data.ArrayLayout(fmt.word_bits, config.lanes)),
            }
        )

    @property
    def inverted(self) -> bool:
        """Whether the window has complements."""
        return self.expander.inverted

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, plan = self.config, self.plan
        m.submodules.expander = expander = self.expander
        present = thermometer(plan.words, config.lanes) << 1 | 1
        m.d.comb += [
            *copies(expander, plan, "swap", "straight"),
            expander.literal.eq(Mux(self.fails, 0, sent_of(plan.codes, present, config))),
            expander.input.eq(self.window),
        ]
        table = table_of(self, config)
        parts = config.format.parts
        for lane in range(config.lanes):
            code = plan.codes.word_select(lane, config.format.code_bits)
            stored = Cat(expander.output[lane * parts + part] for part in range(parts))
            m.d.comb += self.data[lane].eq(word_of(code, table, stored, config))
        return m


#: From so many stream words in a beat on, a cycle is too short to find, count and plan a header.
_MANY_UNITS = 32


class PlainDecompressor(Elaboratable):
    """The elaboration of a plain :class:`~cdma.hdl.codec.generate.Decompressor`, whose ``ports`` it drives.

    It has two steps, of a cycle each. The *planner* reads the codes of the next beat from a header, which begins where the
    window before ends, and finds the settings of the butterfly. The *spreader* reads the literals of the planned beat from
    the window of words that slides over the rows, and spreads them to their lanes of the output, with no register in
    between. The planner is at most one beat ahead, so that the header and the literals of a window's first beat leave the
    rows in consecutive cycles. With many stream words in a beat and several beats in a window, a header is read into a
    register one cycle earlier still, with the last beat of the window before.

    A window that is limited by the output fills all rows, and the beat at the input counts as one. A dense window after it
    may lack the beat for which there was no room (docs/verification.md has the contract). A decompressor with less than two
    queued beats holds one beat instead, and reads the words after it from the input.
    """

    def __init__(self, config: CodecConfig, ports: wiring.PureInterface) -> None:
        self.config = config
        self.ports = ports
        fmt, units = config.format, config.units
        self.levels = exact_log2(units)
        self.header_part = fmt.header_words // config.header_reads
        self.spreader = Spreader(config)
        self.padded = fmt.align_words > 1
        #: Whether a header is read a beat before it is needed, because there is much to count in it.
        grouped = fmt.mask_words > 0
        self.ahead = (
            not grouped
            and config.work_conserving
            and config.beats > 1
            and config.header_reads == 1
            and units >= _MANY_UNITS
        )
        together = (WordRows, HeaderPositions, GroupPlanner if grouped else Planner)
        rows, positions, planner = (WordRowsAhead, HeadersAhead, PlannerAhead) if self.ahead else together
        options = {"inverted": self.spreader.inverted, "padded": self.padded}
        self.rows: WordRows | HeldBeat
        if config.work_conserving:
            self.rows = rows(fmt.stream_bits, units, 2 + (self.header_part > 2), self.header_part, **options)
        else:
            # A single beat needs a fifth less area.
            self.rows = HeldBeat(fmt.stream_bits, units, self.header_part, **options)
        beats = self.rows.beats
        self.positions: HeaderPositions | HeadersAhead = positions(
            units, self.header_part, padded=self.padded
        )
        self.header = HeaderArrival(units, self.header_part, positions=self.positions.reach, beats=beats)
        self.end = PacketEnd(
            units, beats=beats, positions=2 * units + self.padded, shows_input=not config.work_conserving
        )
        self.planner = planner(config, self.header_part)
        self.progress = Progress(Plan(config))
        self.tally = DecompressorTally(config)

        #: A beat is planned, and not yet delivered.
        self.planned = Signal()
        #: Padding of the planned beat's window is not zero.
        self.bad_padding = Signal()
        #: Number of words of the beat at the input.
        self.words_arriving = Signal(range(units + 1))
        #: The beat at the input is of the packet in flight; it arrives in this cycle.
        self.belongs = Signal()
        self.arrives = Signal()
        #: No beat arrives, no packet starts, and none finishes but with a beat that is delivered.
        self.stall = Signal()
        #: The beat at the input is accepted.
        self.accept = Signal()
        #: The packet in flight ends with its last literal, and all of it has been accepted.
        self.accepted_well = Signal()
        #: The planned beat cannot be delivered; an empty last beat replaces it.
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
        if not self.config.work_conserving:
            m.d.comb += self.rows.arrives.eq(self.arrives)
            # A beat that is offered may be at the input in part, so it must not be offered in the cycle before a stall.
            stall = stall | self.tally.closing
        m.d.comb += [
            self.stall.eq(stall),
            self.words_arriving.eq(
                popcount(self.ports.input.payload.keep[1:]) + self.ports.input.payload.keep[0]
            ),
            self.belongs.eq(self.progress.busy & ~self.end.ended & ~self.progress.discarding),
            self.arrives.eq(self.belongs & self.ports.input.valid & ~self.stall),
        ]
        self._offer(m)
        if self.padded:
            self._check_padding(m)
        m.submodules.spreader = spreader = self.spreader
        connect_table(m, self.config, self.ports, spreader)
        m.d.comb += [
            spreader.plan.eq(self.planner.plan),
            spreader.fails.eq(self.fails),
            spreader.window.eq(self.rows.window),
            self.ports.output.payload.data.eq(spreader.data),
        ]
        self._plan(m)
        self._accept(m)
        self._finish(m)
        return m

    def _offer(self, m: Module) -> None:
        """Offers the planned beat when its literals are in the rows, or are known to be missing."""
        plan, output = self.planner.plan, self.ports.output
        visible, invalid = self.rows.visible, plan.error != Error.NONE
        m.submodules.packet_end = end = self.end
        m.d.comb += [
            *copies(end, self, "starts", "accept", "arrives"),
            end.last.eq(self.ports.input.payload.last),
            end.words.eq(self.words_arriving),
            end.stored.eq(self.rows.stored),
            end.position.eq(self.positions.position),
            # A partial beat is the last of its packet, so that literals which are missing then will not arrive.
            output.valid.eq(
                self.planned
                & ((self.positions.position <= (visible << self.levels)) | end.known | invalid)
                & ~self.tally.full
            ),
            self.accepted_well.eq(end.fits_stored & ~self.bad_padding),
            self.fails.eq(invalid | self.end.missing | self.bad_padding),
            self.spread.eq(output.valid & output.ready),
            self.ends.eq(self.spread & (plan.last | self.fails)),
            output.payload.keep.eq(Mux(self.fails, 0, thermometer(plan.words, self.config.lanes) << 1 | 1)),
            output.payload.last.eq(plan.last | self.fails),
        ]

    def _check_padding(self, m: Module) -> None:
        """Checks the padding of a window with its last beat."""
        m.submodules.padding_check = check = PaddingCheck(self.config)
        m.d.comb += [
            Value.cast(check.window).eq(self.rows.turned(self.rows.window)),
            *copies(check, self.rows, "offset", "following"),
            check.end.eq(self.positions.position),
            check.padding.eq(self.planner.plan.padding),
            self.bad_padding.eq(check.wrong & ~self.end.missing),
        ]

    def _plan(self, m: Module) -> None:
        """Plans the next beat while the one before leaves, which is known last: only ``moves`` depends on it."""
        planner, plan, positions = self.planner, self.planner.plan, self.positions
        may_start = Signal()
        gives_up = Signal()
        m.submodules.positions = positions
        m.submodules.header_arrival = header = self.header
        m.d.comb += [
            self.moves.eq(self.spread | ~self.planned),
            # The first beat of a packet is read at the input, when no packet is in flight or that packet has all its beats.
            may_start.eq(
                planner.fresh
                & planner.known
                & self.ports.input.valid
                & ~self.stall
                & (
                    ~self.progress.busy
                    | (self.planned & plan.last & (plan.error == Error.NONE) & self.accepted_well)
                )
            ),
            self.starts.eq(self.moves & may_start),
            gives_up.eq(self.spread & self.fails & ~planner.fresh),
            planner.header.eq(self.rows.header),
            planner.moves.eq(self.moves),
            planner.give_up.eq(gives_up),
            header.fresh.eq(planner.fresh),
            header.stored.eq(self.rows.stored),
            header.arrives.eq(self.arrives),
            *copies(header, self.end, "ended", "last_words"),
            *copies(header, self.ports.input.payload, "keep", "last"),
            positions.moves.eq(self.moves),
            *copies(positions, planner, "fresh", "wants_header", "end"),
            self.rows.read.eq(positions.read),
        ]
        plans = self._follow_ahead(m) if self.ahead else self._follow(m, may_start)
        with m.If(self.moves):
            m.d.sync += self.planned.eq(plans & ~gives_up)

    def _follow(self, m: Module, may_start: Signal) -> Value:
        """Reads a header in the cycle in which its first beat is planned; returns whether a beat is."""
        planner, header, positions = self.planner, self.header, self.positions
        may_continue = Signal()
        m.d.comb += [
            # This holds in the cycle in which a packet fails, too. The beat that is planned then is dropped at once.
            may_continue.eq(
                ~planner.fresh
                & self.progress.busy
                & ~self.progress.discarding
                & (~planner.wants_header | header.arrived)
            ),
            header.position.eq(positions.position),
            planner.advance.eq(self.moves & (may_start | may_continue)),
            planner.header_missing.eq(planner.wants_header & header.missing),
            positions.arrived.eq(header.arrived),
            *copies(planner, positions, "offset", "rest_offset"),
            *copies(positions, planner, "whole", "window_end"),
            *copies(self.rows, positions, "next_lane", "next_beat"),
        ]
        return planner.advance & planner.whole

    def _follow_ahead(self, m: Module) -> Value:
        """Reads a header a beat before its window is planned; returns whether a beat is planned."""
        planner, header, positions = self.planner, self.header, self.positions
        may_read = ~planner.fresh & self.progress.busy & ~self.progress.discarding & header.arrived
        m.d.comb += [
            header.position.eq(positions.head),
            planner.advance.eq(self.moves & planner.holds),
            planner.load.eq(self.starts | (may_read & planner.frees)),
            planner.header_missing.eq(header.missing),
            planner.base.eq(positions.base),
            *copies(positions, planner, "holds", "next_header"),
            self.rows.head.eq(positions.head),
        ]
        return planner.advance

    def _accept(self, m: Module) -> None:
        """Accepts the beat at the input into the rows."""
        input_, rows = self.ports.input, self.rows
        arriving = input_.payload
        m.d.comb += [
            input_.ready.eq(
                ~self.stall
                & (self.starts | (self.belongs & rows.room) | (self.progress.discarding & ~self.end.ended))
            ),
            self.accept.eq(input_.valid & input_.ready),
            rows.arriving.eq(arriving.data),
            rows.accept.eq(self.accept),
            rows.position.eq(self.positions.position),
            rows.move.eq(self.moves),
            rows.forget.eq(self.progress.discarding),
            rows.fresh.eq(self.planner.fresh),
        ]

    def _finish(self, m: Module) -> None:
        """Ends a packet, and counts what is reported of it."""
        plan, arriving, events = self.planner.plan, self.ports.input.payload, self.tally.events
        m.submodules.progress = progress = self.progress
        delivers = self.spread & ~self.fails
        m.d.comb += [
            *copies(progress, self, "starts", "ends", "fails", "bad_padding", "stall"),
            *copies(progress, self.end, "fits", "missing", "ended"),
            *copies(progress, self.planner, "plan", "rest_invalid"),
            events.words_in.eq(Mux(self.accept, self.words_arriving, 0)),
            events.malformed.eq(self.accept & malformed(arriving)),
            events.starts.eq(self.starts),
            events.words_out.eq(Mux(delivers, plan.words + 1, 0)),
            events.literals.eq(Mux(delivers, plan.literals, 0)),
            *copies(events, progress, "finished", "error"),
        ]
