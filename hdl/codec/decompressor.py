"""The decompressor: headers and literals in, raw words out, at a beat per cycle."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import malformed
from cdma.hdl.blocks.gates import one_of, popcount, thermometer
from cdma.hdl.codec.parts.butterfly import Exchange
from cdma.hdl.codec.parts.classifier import table_of
from cdma.hdl.codec.parts.interface import codec_members
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.codec.parts.tally import DecompressorTally
from cdma.hdl.codec.pipelined.decompressor import PipelinedDecompressor
from cdma.hdl.codec.plain.planner import Planner
from cdma.hdl.codec.plain.word_rows import WordRows
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["Decompressor"]


class Decompressor(wiring.Component):
    """Decompresses packets; ``length`` takes the number of words of each, ``docs/format.md`` says what goes in.

    Two steps, a cycle each. The *planner* takes the codes of the next beat, from a header that it reads where the
    previous window ends or from the rest of the header it has, and finds how the butterfly must be set. The *spreader*
    takes the literals of the planned beat from the window that slides over the rows, and spreads them to their lanes of the
    output, which comes through gates from there. The planner is one beat ahead at most, so header and literals of a
    window's first beat leave the rows in consecutive cycles.

    Work-conserving: with a source that is always valid and a sink that is always ready, the cycles from a packet's first
    beat accepted to its last output beat are at most the sum over its windows of ``max(words in, words out) / lanes``,
    plus 8. Parts of a header beyond one beat cost a cycle each. A packet behind another costs at most one more cycle.
    There are as many rows as this needs: an output-bound window fills them, and the beat at the input counts as one.

    Latency: a window's first output beat is there 2 cycles after its first input beat (one more for each part of a
    header beyond one beat).

    Corrupt packets end. The first beat whose codes are undefined, whose header or whose literals are missing is replaced
    by an empty last beat; the rest of the input packet is discarded. Words left over after a whole packet are discarded
    too. The packet's one report says what was wrong; the packets behind are unharmed. A length of 0 is
    :attr:`Error.TRAILING`. A report that is not accepted stops the packets behind it.

    A pipelined one is a :class:`~cdma.hdl.codec.pipelined.decompressor.PipelinedDecompressor`.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        self.header_part = min(fmt.header_words, lanes)
        self.rows = 2 if self.header_part <= 2 else 3
        super().__init__(codec_members(config, length=True))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        if config.pipelined:
            m.submodules.pipeline = pipeline = PipelinedDecompressor(config)
            wiring.connect(m, wiring.flipped(self), pipeline)
            return m
        fmt, lanes = config.format, config.lanes
        levels, code_bits = exact_log2(lanes), fmt.code_bits
        part_size = self.header_part
        m.submodules.rows = rows = WordRows(fmt.word_bits, lanes, self.rows, part_size)
        m.submodules.planner = planner = Planner(config, part_size)
        m.submodules.tally = tally = DecompressorTally(config.lanes)
        plan, arriving = planner.plan, self.input.payload
        wiring.connect(m, wiring.flipped(self.length), planner.length)
        wiring.connect(m, tally.report, wiring.flipped(self.report))

        #: There is a plan, not yet carried out.
        planned = Signal()
        #: Where the next word to plan is, counted from lane 0 of the oldest beat in the rows.
        position = Signal(range(2 * lanes))
        #: A packet is in work: planned, but not finished.
        busy = Signal()
        discarding = Signal()
        #: The last beat of the packet in work is in the rows, and ends with this lane.
        ended = Signal()
        last_lane = Signal(range(lanes), reset_less=True)
        #: The beat at the input is of the packet in work.
        belongs = Signal()
        arrives = Signal()
        m.d.comb += [
            belongs.eq(busy & ~ended & ~discarding),
            arrives.eq(belongs & self.input.valid & ~tally.stall),
        ]

        # -- Spreader.
        # How many beats have words before `position`, and the last lane of those.
        needed, needed_lane = (position + lanes - 1) >> levels, (position - 1)[:levels]
        missing = Signal()
        ends_well = Signal()
        fails = Signal()
        spread = Signal()
        ends = Signal()
        m.d.comb += [
            # A partial beat is the last, so what is missing then does not come.
            self.output.valid.eq(
                planned & ((needed <= rows.stored) | ended | (plan.error != Error.NONE)) & ~tally.full
            ),
            missing.eq(
                ended
                & (
                    (needed > rows.stored)
                    | ((needed == rows.stored) & (needed != 0) & (needed_lane > last_lane))
                )
            ),
            ends_well.eq(ended & (needed == rows.stored) & ((needed == 0) | (needed_lane == last_lane))),
            fails.eq((plan.error != Error.NONE) | missing),
            spread.eq(self.output.valid & self.output.ready),
            ends.eq(spread & (plan.last | fails)),
            self.output.payload.keep.eq(Mux(fails, 0, thermometer(plan.words, lanes) << 1 | 1)),
            self.output.payload.last.eq(plan.last | fails),
        ]
        moved: Value = rows.window
        for level in reversed(range(levels)):
            m.submodules[f"exchange_{level}"] = exchange = Exchange(fmt.word_bits, lanes, level)
            m.d.comb += [
                exchange.input.eq(moved),
                exchange.swap.eq(plan.swap[level]),
                exchange.straight.eq(plan.straight[level]),
            ]
            moved = exchange.output
        table = table_of(self, config)
        for lane in range(lanes):
            code = plan.codes.word_select(lane, code_bits)
            cases = [(code == entry, value) for entry, value in enumerate(table)]
            literal = code.all() & ~fails  # what is missing is not stable
            m.d.comb += self.output.payload.data[lane].eq(one_of((literal, moved[lane]), *cases))

        # -- Planning: the next beat, while the one before it leaves.
        moves = Signal()
        starts = Signal()
        plans = Signal()
        header_there = Signal()
        header_ends = Signal()
        m.d.comb += moves.eq(spread | ~planned)
        header_last = position + (part_size - 1)
        header_beat, header_lane = header_last >> levels, header_last[:levels]
        # A beat that is partial without being the last is malformed; it counts as whole, lest someone wait for more.
        at_input = header_beat == rows.stored
        fits = ~arriving.last | arriving.keep.bit_select(header_lane, 1)
        with m.If(planner.fresh):
            m.d.comb += [
                header_there.eq(~arriving.last | arriving.keep[part_size - 1]),
                header_ends.eq(arriving.last),
            ]
        with m.Else():
            m.d.comb += [
                header_there.eq(
                    (header_beat + 1 < rows.stored)
                    | ((header_beat + 1 == rows.stored) & (~ended | (header_lane <= last_lane)))
                    | (arrives & at_input & fits)
                ),
                header_ends.eq(ended | (arrives & arriving.last)),
            ]
        # All this does not ask whether the planned beat leaves, which is known last.
        may_start = Signal()
        may_continue = Signal()
        gives_up = Signal()
        m.d.comb += [
            # A new packet's first beat is read at the input, when the packet in work has all its beats or there is none.
            may_start.eq(
                planner.fresh
                & planner.known
                & self.input.valid
                & ~tally.stall
                & (~busy | (planned & plan.last & (plan.error == Error.NONE) & ends_well))
            ),
            # In the cycle in which a packet fails, too: what is planned then is given up at once.
            may_continue.eq(
                ~planner.fresh & busy & ~discarding & (~planner.wants_header | header_there | header_ends)
            ),
            starts.eq(moves & may_start),
            plans.eq(moves & (may_start | may_continue)),
            gives_up.eq(spread & fails & ~planner.fresh),
            planner.header.eq(rows.header),
            planner.header_missing.eq(planner.wants_header & ~header_there & header_ends),
            planner.offset.eq(
                Mux(planner.wants_header, Mux(planner.fresh, 0, position) + part_size, position)
            ),
            planner.take.eq(plans),
            planner.give_up.eq(gives_up),
        ]
        # Where nothing is planned, no packet is in work or the header is not there.
        reads = Signal()
        m.d.comb += reads.eq(planner.wants_header & header_there)
        gone = Mux(planner.fresh, 0, position[:levels]) + Mux(reads, part_size, 0)
        with m.If(moves):
            m.d.sync += [
                position.eq(
                    gone[:levels] + Mux((~planner.wants_header | reads) & planner.whole, planner.count, 0)
                ),
                planned.eq(plans & planner.whole & ~gives_up),
            ]

        # -- The beat at the input goes to the rows.
        accept = Signal()
        m.d.comb += [
            self.input.ready.eq(
                ~tally.stall
                & (starts | (belongs & ((rows.stored < self.rows) | rows.leaves)) | (discarding & ~ended))
            ),
            accept.eq(self.input.valid & self.input.ready),
            rows.arriving.eq(arriving.data),
            rows.accept.eq(accept),
            rows.position.eq(position),
            rows.move.eq(moves),
            rows.read.eq(reads),
            rows.forget.eq(discarding),
            rows.fresh.eq(planner.fresh),
        ]
        above = popcount(arriving.keep[1:])
        with m.If(accept):
            m.d.sync += last_lane.eq(above)
        m.d.sync += ended.eq(Mux(accept, arriving.last, ended & ~starts))

        # -- A packet's end. What is left of a packet that fails, or that has words left over, is discarded first.
        finished_well = Signal()
        finished = Signal()
        error = Signal(Error, reset_less=True)
        m.d.comb += [
            finished_well.eq(ends & ~fails & ends_well),
            finished.eq(finished_well | (discarding & ended & ~tally.stall)),
        ]
        with m.If(ends & ~finished_well):
            m.d.sync += [
                discarding.eq(1),
                error.eq(
                    Mux(
                        plan.error != Error.NONE,
                        plan.error,
                        Mux(missing, Error.TRUNCATED, Error.TRAILING),
                    )
                ),
            ]
        with m.Elif(finished):
            m.d.sync += discarding.eq(0)
        m.d.sync += busy.eq(starts | (busy & ~finished))

        delivers = spread & ~fails
        m.d.comb += [
            tally.events.words_in.eq(Mux(accept, above + arriving.keep[0], 0)),
            tally.events.malformed.eq(accept & malformed(arriving)),
            tally.events.starts.eq(starts),
            tally.events.words_out.eq(Mux(delivers, plan.words + 1, 0)),
            tally.events.literals.eq(Mux(delivers, plan.literals, 0)),
            tally.events.finished.eq(finished),
            tally.events.error.eq(Mux(discarding, error, Error.NONE)),
        ]
        return m
