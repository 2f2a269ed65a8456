"""The decompressor: headers and literals in, raw words out, at a beat per cycle."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .butterfly import Exchange, Routes, log2, one_of, popcount, thermometer
from .classifier import table_of
from .params import CodecConfig
from .streams import Beat, Error, Report
from .tally import DecompressorTally
from .window_store import malformed
from .word_rows import WordRows

__all__ = ["Decompressor"]


class Decompressor(wiring.Component):
    """Decompresses packets; ``length`` takes the number of words of each, ``docs/format.md`` says what goes in.

    Two steps, a cycle each. The *planner* takes the codes of the next beat, from a header that it reads where the
    previous window ends or from the rest of the header it has, and finds how the butterfly must be set. The *spreader*
    takes the literals of the planned beat from the input rows, which include the beat at the input, and spreads them to
    their lanes in the output register. The planner is one beat ahead at most, so header and literals of a window's
    first beat leave the rows in consecutive cycles.

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
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        self.header_part = min(fmt.header_words, lanes)
        self.header_parts = fmt.header_words // self.header_part
        self.rows = 2 if self.header_part <= 2 else 3
        members = {
            "input": In(stream.Signature(Beat(fmt.word_bits, lanes))),
            "length": In(stream.Signature(32)),
            "output": Out(stream.Signature(Beat(fmt.word_bits, lanes))),
            "report": Out(stream.Signature(Report)),
        }
        if config.runtime_values:
            members["values"] = In(data.ArrayLayout(fmt.word_bits, config.table_size))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        fmt, lanes, beats = config.format, config.lanes, config.beats
        levels, code_bits = log2(lanes), fmt.code_bits
        part_size, parts = self.header_part, self.header_parts

        #: Beats that have words in the rows; behind them comes the beat at the input, if it belongs here.
        stored = Signal(range(self.rows + 1))
        #: The last beat of the packet in work is among the rows.
        ended = Signal()
        #: A packet is in work: planned, but not finished.
        busy = Signal()
        discarding = Signal()
        m.submodules.tally = tally = DecompressorTally(config)
        m.submodules.rows = rows = WordRows(fmt.word_bits, lanes, self.rows, part_size)
        arriving = self.input.payload
        #: Where the words of the row accepted last end.
        last_lane = Signal(range(lanes), reset_less=True)
        #: The beat at the input is of the packet in work.
        belongs = Signal()
        arrives = Signal()
        m.d.comb += [
            belongs.eq(busy & ~ended & ~discarding),
            arrives.eq(belongs & self.input.valid & ~tally.stall),
        ]

        def in_rows(end: Value) -> Value:
            """Whether all words before ``end`` are in the rows."""
            count, lane = (end + lanes - 1) >> levels, (end - 1)[:levels]
            return (count == 0) | (count < stored) | ((count == stored) & (~ended | (lane <= last_lane)))

        def at_hand(end: Value) -> Value:
            """Whether all words before ``end`` are in the rows or at the input."""
            count, lane = (end + lanes - 1) >> levels, (end - 1)[:levels]
            # A beat that is partial without being the last is malformed; it counts as whole, lest someone wait for more.
            at_input = arrives & (count == stored + 1) & (~arriving.last | arriving.keep.bit_select(lane, 1))
            return in_rows(end) | at_input

        # -- The plan: one beat, ready to be spread.
        planned = Signal()
        plan_swap = Signal(data.ArrayLayout(lanes // 2, levels), reset_less=True)
        plan_codes = Signal(lanes * code_bits, reset_less=True)
        plan_literals = Signal(range(lanes + 1), reset_less=True)
        plan_words = Signal(range(lanes), reset_less=True)  # minus one
        plan_last = Signal(reset_less=True)
        plan_error = Signal(Error, reset_less=True)
        #: Where the next word to plan is, counted from the oldest beat's lane 0.
        position = Signal(range(2 * lanes))

        # -- Spreader.
        enough = Signal()
        missing = Signal()
        fails = Signal()
        spread = Signal()
        ends = Signal()
        m.d.comb += [
            enough.eq(in_rows(position)),
            missing.eq(~enough & ended),
            fails.eq((plan_error != Error.NONE) | missing),
            self.output.valid.eq(planned & (enough | fails) & ~tally.full),
            spread.eq(self.output.valid & self.output.ready),
            ends.eq(spread & (plan_last | fails)),
            self.output.payload.keep.eq(Mux(fails, 0, thermometer(plan_words, lanes) << 1 | 1)),
            self.output.payload.last.eq(plan_last | fails),
        ]
        moved: Value = rows.window
        for level in reversed(range(levels)):
            exchange = Exchange(fmt.word_bits, lanes, level)
            m.submodules[f"exchange_{level}"] = exchange
            m.d.comb += [exchange.input.eq(moved), exchange.swap.eq(plan_swap[level])]
            moved = exchange.output
        table = table_of(self, config)
        for lane in range(lanes):
            code = plan_codes.word_select(lane, code_bits)
            cases = [(code == entry, value) for entry, value in enumerate(table)]
            literal_here = code.all() & ~fails  # what is missing is not stable
            m.d.comb += self.output.payload.data[lane].eq(one_of((literal_here, moved[lane]), *cases))

        # -- Planner.
        remaining = Signal(32)
        remaining_known = Signal()
        fresh = Signal(init=1)  # the next plan starts a packet
        place = Signal(range(beats))  # of the next beat in its window
        part = Signal(range(parts))
        header_rest = Signal(fmt.window * code_bits, reset_less=True)
        may_plan = Signal()
        wants_header = Signal()
        header_there = Signal()
        m.d.comb += [
            wants_header.eq(place == 0),
            may_plan.eq(spread | ~planned),
        ]
        # A packet ends well if its words end with its last literal.
        ends_well = Signal()
        end_row, end_lane = (position + lanes - 1) >> levels, (position - 1)[:levels]
        m.d.comb += ends_well.eq(ended & (end_row == stored) & ((end_row == 0) | (end_lane == last_lane)))
        header_end = Signal(range(3 * lanes + 1))
        m.d.comb += header_end.eq(Mux(fresh, 0, position) + part_size)
        # A new packet's first beat is read at the input, when the packet in work has all its beats or there is none.
        starts = Signal()
        m.d.comb += [
            starts.eq(
                fresh
                & remaining_known
                & self.input.valid
                & may_plan
                & ~tally.stall
                & (~busy | (ends & ~fails & ends_well))
            ),
            header_there.eq(
                Mux(fresh, ~arriving.last | arriving.keep[part_size - 1], at_hand(position + part_size))
            ),
        ]
        header_missing = Signal()
        m.d.comb += header_missing.eq(
            wants_header & ~header_there & Mux(fresh, arriving.last, ended | (arrives & arriving.last))
        )
        continues = Signal()
        m.d.comb += continues.eq(
            ~fresh & busy & ~discarding & ~ends & may_plan & (~wants_header | header_there | header_missing)
        )
        plans = Signal()
        m.d.comb += plans.eq(starts | continues)

        header = Signal(fmt.window * code_bits)
        bits_of_part = part_size * fmt.word_bits
        m.d.comb += header.eq(Cat(header_rest[: (parts - 1) * bits_of_part], rows.header))
        whole = Signal()
        m.d.comb += whole.eq(~wants_header | (part == parts - 1) | header_missing)

        codes = Signal(lanes * code_bits)
        rest = Signal(fmt.window * code_bits)
        m.d.comb += rest.eq(Mux(wants_header, header, header_rest))
        m.d.comb += codes.eq(rest)
        literal = Signal(lanes)
        m.d.comb += literal.eq(Cat(codes.word_select(lane, code_bits).all() for lane in range(lanes)))

        # What the beat has, and whether its codes may be so.
        full_beats = remaining >> levels
        odd = remaining[:levels]
        last = Signal()
        keep = Signal(lanes)
        m.d.comb += [
            last.eq((full_beats == 0) | ((full_beats == 1) & (odd == 0))),
            keep.eq(Mux(full_beats == 0, thermometer(odd, lanes), ~0)),
        ]
        undefined = Signal()
        wrong = []
        for lane in range(lanes):
            code = codes.word_select(lane, code_bits)
            if config.table_size < fmt.literal_code:
                wrong.append((code >= config.table_size) & ~code.all())
            wrong.append(~keep[lane] & code.any())
        if beats > 1:
            beyond = Signal(fmt.window * code_bits)
            # Places of beats which the window does not have: what is left of the header after this beat. The rest of
            # the header is shifted out with zeros behind it, so a whole window's last beat leaves nothing.
            m.d.comb += beyond.eq(rest >> lanes * code_bits)
            wrong.append(last & beyond.any())
        m.d.comb += undefined.eq(Cat(wrong).any())

        m.submodules.routes = routes = Routes(lanes)
        first_literal = Signal(range(3 * lanes + 1))
        m.d.comb += first_literal.eq(Mux(wants_header & ~header_missing, header_end, position))
        m.d.comb += [routes.literal.eq(literal), routes.offset.eq(first_literal)]

        # What leaves the rows this cycle, in words from the oldest beat's lane 0.
        offset = Signal(range(lanes))
        moves_on = Signal()
        gone = Signal(range(3 * lanes + 1))
        retire = Signal(range(4))
        m.d.comb += [
            moves_on.eq(may_plan),
            gone.eq(Mux(plans, first_literal, position)),
            retire.eq(Mux(moves_on, gone >> levels, 0)),
        ]
        with m.If(moves_on):
            m.d.sync += [
                offset.eq(gone),
                position.eq(gone[:levels] + Mux(plans & whole, routes.count, 0)),
                planned.eq(plans & whole),
            ]
        closes = Signal()
        m.d.comb += closes.eq(plans & whole & (last | header_missing | undefined))
        with m.If(plans & whole):
            m.d.sync += [
                fresh.eq(closes),
                place.eq(Mux(closes | (place == beats - 1), 0, place + 1)),
                part.eq(0),
                header_rest.eq(rest >> lanes * code_bits),
                plan_swap.eq(routes.swap),
                plan_codes.eq(codes),
                plan_literals.eq(routes.count),
                plan_words.eq(Mux(last, odd - 1, lanes - 1)),
                plan_last.eq(last),
                plan_error.eq(
                    Mux(
                        remaining == 0,
                        Error.TRAILING,
                        Mux(header_missing, Error.TRUNCATED, Mux(undefined, Error.CODE, Error.NONE)),
                    )
                ),
            ]
        with m.Elif(plans):
            m.d.sync += [fresh.eq(0), part.eq(part + 1)]
            for i in range(parts - 1):
                with m.If(part == i):
                    m.d.sync += header_rest[i * bits_of_part : (i + 1) * bits_of_part].eq(rows.header)

        # A length is taken in advance, when the packet before it has been planned or given up.
        gives_up = Signal()
        m.d.comb += [
            gives_up.eq(ends & fails & ~fresh),
            self.length.ready.eq(~remaining_known | closes | gives_up),
        ]
        with m.If(gives_up):
            m.d.sync += [fresh.eq(1), place.eq(0), part.eq(0)]
        with m.If(self.length.ready):
            m.d.sync += [remaining.eq(self.length.payload), remaining_known.eq(self.length.valid)]
        with m.Elif(plans & whole):
            m.d.sync += remaining.eq(remaining - lanes)

        # The beat at the input goes to a row, unless all its words leave at once.
        accept = Signal()
        stored_before = Signal.like(stored)
        m.d.comb += [
            self.input.ready.eq(
                ~tally.stall
                & (starts | (belongs & ((stored < self.rows) | (retire != 0))) | (discarding & ~ended))
            ),
            accept.eq(self.input.valid & self.input.ready),
            stored_before.eq(Mux(starts | discarding, 0, stored)),
        ]
        m.d.comb += [
            rows.arriving.eq(arriving.data),
            rows.stored.eq(stored),
            rows.offset.eq(offset),
            rows.retire.eq(retire),
            rows.next_offset.eq(Mux(moves_on, gone[:levels], offset)),
            rows.begin.eq(starts),
            rows.position.eq(position),
            rows.fresh.eq(fresh),
        ]
        with m.If(retire > stored_before):
            m.d.sync += stored.eq(0)
        with m.Else():
            m.d.sync += stored.eq(stored_before - retire + accept)
        with m.If(accept):
            m.d.sync += last_lane.eq(popcount(arriving.keep[1:]))
        m.d.sync += ended.eq(Mux(accept, arriving.last, ended & ~starts))

        # A packet's end. What is left of a packet that fails, or that has words left over, is discarded first.
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
                        plan_error != Error.NONE,
                        plan_error,
                        Mux(missing, Error.TRUNCATED, Error.TRAILING),
                    )
                ),
            ]
        with m.Elif(finished):
            m.d.sync += discarding.eq(0)
        m.d.sync += busy.eq(starts | (busy & ~finished))

        delivers = spread & ~fails
        m.d.comb += [
            tally.events.words_in.eq(Mux(accept, popcount(arriving.keep), 0)),
            tally.events.malformed.eq(accept & malformed(arriving)),
            tally.events.starts.eq(starts),
            tally.events.words_out.eq(Mux(delivers, plan_words + 1, 0)),
            tally.events.literals.eq(Mux(delivers, plan_literals, 0)),
            tally.events.finished.eq(finished),
            tally.events.error.eq(Mux(discarding, error, Error.NONE)),
        ]
        wiring.connect(m, tally.report, wiring.flipped(self.report))
        return m
