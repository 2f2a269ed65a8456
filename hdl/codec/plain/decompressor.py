"""The plain decompressor, made of logic and flip-flops."""

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import popcount, thermometer
from cdma.hdl.blocks.registers import malformed
from cdma.hdl.codec.parts.compressor import DecompressorTally
from cdma.hdl.codec.parts.interface import Error, connect_table, has_one_entry
from cdma.hdl.spec.codec import CodecConfig

from .packet_end import HeaderArrival, PacketEnd, PaddingCheck, Progress
from .planner import Plan, Planner
from .positions import HeaderPositions, HeadersAhead, HeldBeat
from .word_rows import Spreader, WordRows

__all__ = ["PlainDecompressor"]

#: From so many units in a beat on, a header takes too long to be found, counted and planned in one cycle.
_MANY_UNITS = 32


class PlainDecompressor(Elaboratable):
    """Drives the ``ports`` of a :class:`~cdma.hdl.codec.generate.Decompressor`, and is what that elaborates to.

    It takes two steps, of a cycle each. The *planner* takes the codes of the next beat from a header, which it reads where
    the window before ends, and finds the settings of the butterfly. The *spreader* takes the literals of the planned beat
    from the window of words that slides over the rows, and spreads them to their lanes of the output, with no register in
    between. The planner is at most one beat ahead, so that the header and the literals of a window's first beat leave the
    rows in consecutive cycles. Where a beat has many units and a window several beats, a header is read into a register one
    cycle earlier still, with the last beat of the window before.

    A window that is limited by the output fills all rows, and the beat at the input counts as one. A dense window after it
    may lack the beat that found no room (docs/verification.md has the contract). A decompressor with less than two queued
    beats holds one beat in their place, and takes the words after it from the input.
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
        self.ahead = ahead = (
            config.work_conserving and config.beats > 1 and config.header_reads == 1 and units >= _MANY_UNITS
        )
        #: With a queue, several beats are stored; without one, a single beat, which takes a fifth less area.
        self.rows: WordRows | HeldBeat
        options = {"inverted": self.spreader.inverted, "padded": self.padded}
        beats = 1
        if config.work_conserving:
            beats = 2 if self.header_part <= 2 else 3
            self.rows = WordRows(fmt.stream_bits, units, beats, self.header_part, ahead=ahead, **options)
        else:
            self.rows = HeldBeat(fmt.stream_bits, units, self.header_part, **options)
        self.positions: HeaderPositions | HeadersAhead = (HeadersAhead if ahead else HeaderPositions)(
            units, self.header_part, padded=self.padded
        )
        self.header = HeaderArrival(
            units, self.header_part, positions=8 * units if ahead else 2 * units + self.padded, beats=beats
        )
        self.end = PacketEnd(
            units, beats=beats, positions=2 * units + self.padded, shows_input=not config.work_conserving
        )
        self.planner = Planner(config, self.header_part, ahead=ahead)
        self.progress = Progress(Plan(config))
        self.tally = DecompressorTally(config)

        #: A beat is planned, and not yet delivered.
        self.planned = Signal()
        #: What pads the window of the planned beat is not zero.
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
        #: The packet in flight ends where its last literal is, and all of it has been accepted.
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
            end.starts.eq(self.starts),
            end.accept.eq(self.accept),
            end.last.eq(self.ports.input.payload.last),
            end.words.eq(self.words_arriving),
            end.arrives.eq(self.arrives),
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
        """Looks at the padding of a window with its last beat."""
        m.submodules.padding_check = check = PaddingCheck(self.config)
        window = Value.cast(self.rows.window)
        m.d.comb += [
            Value.cast(check.window).eq(~window if self.spreader.inverted else window),
            check.offset.eq(self.rows.offset),
            check.following.eq(self.rows.following),
            check.end.eq(self.positions.position),
            check.padding.eq(self.planner.plan.padding),
            self.bad_padding.eq(check.wrong & ~self.end.missing),
        ]

    def _plan(self, m: Module) -> None:
        """Plans the next beat while the one before leaves.

        Whether that leaves is known last, so nothing but ``moves`` depends on it.
        """
        planner, plan, positions, arriving = (
            self.planner,
            self.planner.plan,
            self.positions,
            self.ports.input.payload,
        )
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
            header.ended.eq(self.end.ended),
            header.last_words.eq(self.end.last_words),
            header.arrives.eq(self.arrives),
            header.keep.eq(arriving.keep),
            header.last.eq(arriving.last),
            positions.moves.eq(self.moves),
            positions.fresh.eq(planner.fresh),
            positions.wants_header.eq(planner.wants_header),
            positions.end.eq(planner.end),
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
            # This holds in the cycle in which a packet fails, too. What is planned then is given up at once.
            may_continue.eq(
                ~planner.fresh
                & self.progress.busy
                & ~self.progress.discarding
                & (~planner.wants_header | header.there)
            ),
            header.position.eq(positions.position),
            planner.take.eq(self.moves & (may_start | may_continue)),
            planner.header_missing.eq(planner.wants_header & header.missing),
            planner.offset.eq(positions.offset),
            planner.rest_offset.eq(positions.rest_offset),
            positions.there.eq(header.there),
            positions.whole.eq(planner.whole),
            positions.window_end.eq(planner.window_end),
            self.rows.next_lane.eq(positions.next_lane),
            self.rows.next_beat.eq(positions.next_beat),
        ]
        return planner.take & planner.whole

    def _follow_ahead(self, m: Module) -> Value:
        """Reads a header a beat before its window is planned; returns whether a beat is planned."""
        planner, header, positions = self.planner, self.header, self.positions
        may_read = ~planner.fresh & self.progress.busy & ~self.progress.discarding & header.there
        m.d.comb += [
            header.position.eq(positions.head),
            planner.take.eq(self.moves & planner.holds),
            planner.load.eq(self.starts | (may_read & planner.frees)),
            planner.header_missing.eq(header.missing),
            planner.base.eq(positions.base),
            positions.holds.eq(planner.holds),
            positions.next_header.eq(planner.next_header),
            self.rows.head.eq(positions.head),
        ]
        return planner.take

    def _accept(self, m: Module) -> None:
        """Accepts the beat at the input into the rows."""
        input_, rows = self.ports.input, self.rows
        arriving = input_.payload
        m.d.comb += [
            input_.ready.eq(
                ~self.stall
                & (self.starts | (self.belongs & rows.takes) | (self.progress.discarding & ~self.end.ended))
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
            progress.starts.eq(self.starts),
            progress.ends.eq(self.ends),
            progress.fails.eq(self.fails),
            progress.fits.eq(self.end.fits),
            progress.plan.eq(plan),
            progress.rest_invalid.eq(self.planner.rest_invalid),
            progress.missing.eq(self.end.missing),
            progress.bad_padding.eq(self.bad_padding),
            progress.ended.eq(self.end.ended),
            progress.stall.eq(self.stall),
            events.words_in.eq(Mux(self.accept, self.words_arriving, 0)),
            events.malformed.eq(self.accept & malformed(arriving)),
            events.starts.eq(self.starts),
            events.words_out.eq(Mux(delivers, plan.words + 1, 0)),
            events.literals.eq(Mux(delivers, plan.literals, 0)),
            events.finished.eq(progress.finished),
            events.error.eq(progress.error),
        ]
