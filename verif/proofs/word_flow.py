"""Blocks that move words to other lanes or widths: every word arrives, in order, and packets keep their ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.blocks.width import Narrow, Widen
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.network import Exchange, Ranking, Routes

from .bench import Bench, free, hold, last_cycle, obey
from .proof import Config, Proof, codec_in

_BITS = 2


def packed(keep: Value) -> Value:
    """Whether only the lowest lanes are kept."""
    return ~(keep[1:] & ~keep[:-1]).any()


class Flow(NamedTuple):
    """What goes in and what comes out in a cycle.

    ``put``, ``take``: Whether the beats on either side count in this cycle.
    ``gone``, ``inside``: Lanes that leave, and lanes that were inside before.
    """

    beat: Value
    out: Value
    put: Signal
    take: Signal
    gone: Signal
    inside: Signal


@dataclass(eq=False)
class WordFlow(Bench):
    """A block through which words flow, with ghosts that follow one word, and the end of a packet.

    ``lanes_in``, ``lanes_out``: Words of a beat on either side.
    ``stall``: Most cycles in a row in which it does not accept a beat although its output is accepted.
    ``shift``: ``up`` or ``down`` for blocks that shift packets, by a shift that stays the same until it is accepted;
        one that shifts up shows as ``leaving`` the shift of the packet at its output.
    ``buffer``: Beats of a buffer in it.
    ``keeps_input``: The block shows the parts of a beat before it accepts it: words are inside as soon as they are
        offered.

    Ghost state: ``inside`` counts the lanes that have gone in and not come out; of a packet that is shifted up, the
    lanes before its first word count too. ``ahead`` counts those before the tracked word, so a beat that comes out has
    it in lane ``ahead``, or accounts for all of its lanes from ``ahead``. ``rest`` counts those up to the end of the
    tracked packet, after ``ends`` ends of packets that are inside before it.
    """

    block: Callable[[], wiring.Component]
    lanes_in: int
    lanes_out: int
    stall: int
    shift: str = ""
    keeps_input: bool = False
    buffer: int = 0

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.block()
        entering, leaving = dut.input, dut.output
        obey(m, entering, "input")
        hold(m, leaving, "output")
        beat, out = entering.payload, leaving.payload
        most = 2 * max(self.lanes_in, self.lanes_out) + 2 * (1 + self.buffer) * self.lanes_out
        taken = Signal()
        put = Signal()
        take = Signal()
        m.d.comb += [taken.eq(entering.valid & entering.ready), take.eq(leaving.valid & leaving.ready)]
        if self.keeps_input:
            m.d.comb += put.eq(
                entering.valid & ~last_cycle(m, entering.valid & ~entering.ready, "input_waits")
            )
        else:
            m.d.comb += put.eq(taken)

        begins, out_begins = Signal(init=1), Signal(init=1)
        with m.If(taken):
            m.d.sync += begins.eq(beat.last)
        with m.If(take):
            m.d.sync += out_begins.eq(out.last)
        shift, below, gap, out_gap = self._shift(m, dut, begins, out_begins)

        count = Signal(range(most))
        leaves = Signal(range(most))
        gone = Signal(range(most))
        inside = Signal(range(most + 1))
        m.d.comb += [
            count.eq(popcount(beat.keep | below) - popcount(below) + gap),
            leaves.eq(popcount(out.keep) + out_gap),
            gone.eq(Mux(take, leaves, 0)),
            Assume(~entering.valid | packed(beat.keep | below)),
            Assume(~entering.valid | beat.last | (beat.keep | below).all()),
        ]
        if self.shift == "down":
            # Each beat has a word.
            m.d.comb += Assume(~entering.valid | (popcount(beat.keep | below) > Mux(begins, shift, 0)))
        m.d.sync += inside.eq(inside + Mux(put, count, 0) - gone)
        ends = Signal(range(4 + self.buffer))
        m.d.sync += ends.eq(ends + (put & beat.last) - (take & out.last))

        flow = Flow(beat, out, put, take, gone, inside)
        self.follow_word(m, flow, below=below, gap=gap, shift=shift)
        self.follow_end(m, flow, ends, count)
        waits = Signal(range(self.stall + 2))
        held_up = entering.valid & leaving.ready & ~entering.ready
        if self.shift:
            held_up &= dut.shift.valid
        m.d.sync += waits.eq(Mux(held_up, Mux(waits == self.stall + 1, waits, waits + 1), 0))
        m.d.comb += [
            Assert(~(held_up & (waits == self.stall))),
            Assert(inside <= most // 2 + self.lanes_out),
            # Beats that come out are packed, and only the last of a packet is not full.
            Assert(~leaving.valid | out.last | (leaves == self.lanes_out)),
            Assert(~leaving.valid | packed(out.keep | self._gap_mask(out_gap))),
        ]

    def _gap_mask(self, out_gap: Value) -> Value:
        mask: Value = (1 << out_gap) - 1
        return mask[: self.lanes_out]

    def _shift(
        self, m: Module, dut: wiring.Component, begins: Value, out_begins: Value
    ) -> tuple[Value, Value, Value, Value]:
        """The shift of the packet; lanes of its first beat that do not count; lanes before its first word, in and out."""
        none = Signal(max(1, exact_log2(self.lanes_in)), name="no_shift")
        nothing = Signal(self.lanes_in, name="none_below")
        if not self.shift:
            return none, nothing, none, none
        free(m, "shift_valid", dut.shift.valid)
        free(m, "shift_payload", dut.shift.payload)
        shift = dut.shift.payload
        was_taken = last_cycle(m, dut.shift.valid & dut.shift.ready, "shift_taken", init=1)
        offered = last_cycle(m, dut.shift.valid & ~dut.shift.ready, "shift_offered")
        same = shift == last_cycle(m, shift, "shift_before")
        m.d.comb += [Assume(was_taken | same), Assume(~offered | dut.shift.valid)]
        below = Signal(self.lanes_in)
        gap = Signal.like(shift, name="gap")
        out_gap = Signal.like(shift, name="out_gap")
        if self.shift == "down":
            m.d.comb += below.eq(Mux(begins, (1 << shift) - 1, 0))
        else:
            m.d.comb += [gap.eq(Mux(begins, shift, 0)), out_gap.eq(Mux(out_begins, dut.leaving, 0))]
        return shift, below, gap, out_gap

    def follow_word(self, m: Module, flow: Flow, *, below: Value, gap: Value, shift: Value) -> None:
        """Follows one word, which may be any, from where it goes in to where it comes out."""
        beat, out, put, take, gone, inside = flow
        lane = free(m, "follow_lane", shape=max(1, ceil_log2(self.lanes_in)))
        follow = free(m, "follow")
        tracked, came_out = Signal(), Signal()
        word, ahead = Signal(_BITS), Signal.like(inside)
        now, word_now, ahead_now = Signal(), Signal(_BITS), Signal.like(inside)
        there = (beat.keep & ~below).bit_select(lane, 1)
        with m.If(~tracked & put & follow & there):
            m.d.comb += [
                now.eq(1),
                word_now.eq(beat.data[lane]),
                ahead_now.eq(inside + gap + lane - popcount(below)),
            ]
        with m.Else():
            m.d.comb += [now.eq(tracked), word_now.eq(word), ahead_now.eq(ahead)]
        arrives = now & take & (ahead_now < gone)
        m.d.sync += [
            tracked.eq(now & ~arrives),
            word.eq(word_now),
            ahead.eq(ahead_now - gone),
            came_out.eq(came_out | (arrives & (word_now == 1))),
        ]
        kept = Signal()
        shown = Signal(_BITS)
        with m.Switch(ahead_now):
            for number in range(self.lanes_out):
                with m.Case(number):
                    m.d.comb += [kept.eq(out.keep[number]), shown.eq(out.data[number])]
        m.d.comb += [
            Assert(~arrives | (kept & (shown == word_now))),
            Cover(came_out & (shift == 0)),
            Cover(arrives & (ahead_now == self.lanes_out - 1)),
        ]

    def follow_end(self, m: Module, flow: Flow, ends: Value, count: Value) -> None:
        """Follows the end of one packet, which may be any."""
        beat, out, put, take, gone, inside = flow
        follow = free(m, "follow_end")
        tracked, came_out = Signal(name="tracked_end"), Signal(name="end_came_out")
        rest, before = Signal.like(inside), Signal.like(ends)
        now = Signal(name="end_now")
        rest_now, before_now = Signal.like(inside), Signal.like(ends)
        with m.If(~tracked & put & beat.last & follow):
            m.d.comb += [now.eq(1), rest_now.eq(inside + count), before_now.eq(ends)]
        with m.Else():
            m.d.comb += [now.eq(tracked), rest_now.eq(rest), before_now.eq(before)]
        arrives = now & take & out.last & (before_now == 0)
        m.d.sync += [
            tracked.eq(now & ~arrives),
            rest.eq(rest_now - gone),
            before.eq(before_now - (take & out.last)),
            came_out.eq(came_out | arrives),
        ]
        m.d.comb += [
            Assert(~arrives | (rest_now == gone)),
            # An end never comes before the words that belong before it.
            Assert(~(now & take & ~arrives) | (rest_now >= gone)),
            # No end is invented.
            Assert(~(take & out.last) | (ends != 0) | (put & beat.last)),
            Cover(came_out),
        ]


def flow_proof(
    kind: type[wiring.Component],
    config: str,
    name: str,
    block: Callable[[], wiring.Component],
    *shape: Any,
    quick: bool = True,
    depth: int = 0,
    **more: Any,
) -> Proof:
    """Of ``depth`` cycles, or of any number."""
    claim = "every word arrives, in order and unchanged; packets keep their ends; the stream rules; no stall"
    return Proof(
        name=name,
        config=config,
        claim=claim,
        blocks=(kind,),
        bench=lambda: WordFlow(block, *shape, **more),
        method="bmc" if depth else "pdr",
        depth=depth,
        quick=quick,
    )


class _Network(Bench):
    """The counts, the routes and the exchanges of all levels, in either order.

    Any one lane has a mark, which arrives where a word of this lane would. Literals and offset may be any.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.levels = exact_log2(lanes)

    def through(self, m: Module, literal: Value, offset: Value, marks: Value, order: list[int]) -> Value:
        m.submodules.ranking = ranking = Ranking(self.lanes)
        m.submodules.routes = routes = Routes(self.lanes)
        m.d.comb += [ranking.literal.eq(literal), routes.ranks.eq(ranking.ranks), routes.offset.eq(offset)]
        for level in order:
            m.submodules[f"level_{level}"] = exchange = Exchange(1, self.lanes, level)
            m.d.comb += [
                Value.cast(exchange.input).eq(marks),
                exchange.swap.eq(routes.swap[level]),
                exchange.straight.eq(~routes.swap[level]),
            ]
            marks = Value.cast(exchange.output)
        return marks

    def describe(self, m: Module) -> None:
        literal = free(m, "literal", shape=self.lanes)
        offset = free(m, "offset", shape=self.levels)
        lane = free(m, "lane", shape=self.levels)
        rank = Signal(range(self.lanes + 1))
        place = Signal(self.levels)
        m.d.comb += [
            # Counted in the plainest way, which is not the block's.
            rank.eq(sum((Mux(lane > index, literal[index], 0) for index in range(self.lanes)), start=0)),
            place.eq(rank + offset),
        ]
        is_literal = (literal >> lane)[0]
        arrived = Signal(self.lanes)
        m.d.comb += arrived.eq(self.route(m, literal, offset, lane, place))
        expected = self.expected(lane, place)
        with m.If(is_literal):
            m.d.comb += [
                Assert(arrived == 1 << expected),
                Cover((expected == self.lanes - 1) & (rank == 0)),
                Cover((rank == self.lanes - 1) & (offset != 0)),
            ]

    def route(self, m: Module, literal: Value, offset: Value, lane: Value, place: Value) -> Value:
        raise NotImplementedError

    def expected(self, lane: Value, place: Value) -> Value:
        raise NotImplementedError


class Concentrated(_Network):
    """The word of a literal arrives in the lane ``(offset + rank) % lanes``, and in no other."""

    def route(self, m: Module, literal: Value, offset: Value, lane: Value, place: Value) -> Value:
        marks = Signal(self.lanes)
        m.d.comb += marks.eq(1 << lane)
        return self.through(m, literal, offset, marks, list(range(self.levels)))

    def expected(self, lane: Value, place: Value) -> Value:
        return place


class Expanded(_Network):
    """The word of the lane ``(offset + rank) % lanes`` arrives at the literal that has this rank, and at no other lane."""

    def route(self, m: Module, literal: Value, offset: Value, lane: Value, place: Value) -> Value:
        marks = Signal(self.lanes)
        m.d.comb += marks.eq(1 << place)
        return self.through(m, literal, offset, marks, list(reversed(range(self.levels))))

    def expected(self, lane: Value, place: Value) -> Value:
        return lane


#: The networks of both directions: the codec that has it, the bench, the claim.
_NETWORKS: dict[str, tuple[type[wiring.Component], type[_Network], str]] = {
    "butterfly_concentrate": (
        Compressor,
        Concentrated,
        "every literal arrives in lane (offset + rank) mod lanes",
    ),
    "butterfly_expand": (
        Decompressor,
        Expanded,
        "every word arrives at the literal of its rank, for every offset",
    ),
}


def _butterfly(name: str, lanes: int) -> Proof:
    codec, bench, claim = _NETWORKS[name]
    # Sixteen lanes are one level more than eight.
    return Proof(
        name=name,
        config=f"{lanes} lanes",
        claim=claim,
        blocks=(codec,),
        bench=lambda: bench(lanes),
        cover=2,
        quick=lanes < 16,
    )


_BUTTERFLIES = [_butterfly(name, lanes) for name in _NETWORKS for lanes in (2, 4, 8, 16)]


def own_proofs(block: str, config: Config) -> list[Proof]:
    """Those of the lanes of a design's codec; of an engine, in both directions."""
    codec = codec_in(config)
    if codec is None:
        return []
    names = {"compressor": ["butterfly_concentrate"], "decompressor": ["butterfly_expand"]}
    wanted = names.get(block, list(_NETWORKS))
    return [
        proof for proof in _BUTTERFLIES if proof.name in wanted and proof.config == f"{codec.units} lanes"
    ]


PROOFS = [
    flow_proof(Widen, "1 to 4 lanes", "widen", lambda: Widen(_BITS, 1, 4), 1, 4, 0),
    flow_proof(Widen, "2 to 4 lanes", "widen", lambda: Widen(_BITS, 2, 4), 2, 4, 0, quick=False),
    flow_proof(Narrow, "4 to 1 lanes", "narrow", lambda: Narrow(_BITS, 4, 1), 4, 1, 3, keeps_input=True),
    flow_proof(
        Narrow, "4 to 2 lanes", "narrow", lambda: Narrow(_BITS, 4, 2), 4, 2, 1, keeps_input=True, quick=False
    ),
    *_BUTTERFLIES,
]
