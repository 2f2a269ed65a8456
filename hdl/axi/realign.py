"""Buffers whose words leave in other lanes than they came in, for packets that begin with any word of a beat.

Two successive beats are needed to make one of other lanes, and words have to be rotated. The buffer has both at once: its
beats alternate between two memories, of which each shows one. So there is neither a register that keeps a beat, nor one
behind the rotation: that is where the data are in time for it, before the memories of a reader and behind those of a writer.
"""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import one_of, rotate_up, thermometer
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat

from .gather import StoredBeat
from .ports import PortShape


class ReadEnd(data.StructLayout):
    """What ends with a beat that was read.

    ``last``, ``part``: The packet; a part of the buffer.
    ``words``: Words of the packet's last beat, less one. Where words are moved, it is the last beat that they come to.
    ``joins``: Where words are moved: they come to no beat of their own, because the one before has room.
    """

    def __init__(self, shape: PortShape) -> None:
        words = max(1, (shape.lanes - 1).bit_length())
        super().__init__({"words": words, "joins": int(shape.shifts), "last": 1, "part": 1})


class ReadBeat(data.StructLayout):
    """A beat that was read."""

    def __init__(self, shape: PortShape) -> None:
        super().__init__({"data": shape.data_bits, "end": ReadEnd(shape)})


class ReadStore(wiring.Component):
    """The buffer of a reader: beats of memory in, packets whose first word is in lane 0 out.

    ``input``: Beats whose words have moved up, cyclically, until the packet's first word is in lane 0. The writer
        counts them: at most ``shape.buffer``.
    ``turns``: How far the words of each packet have moved.
    ``freed``: A beat with ``part`` leaves.

    Throughput: a beat of memory per cycle. Latency: that of :class:`.Fifo`; the words of a beat that are not shown with the
    one before wait for the next one.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "input": In(stream.Signature(ReadBeat(shape), always_ready=True)),
                "turns": In(stream.Signature(exact_log2(shape.lanes))),
                "output": Out(stream.Signature(Beat(shape.word_bits, shape.lanes))),
                "freed": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape, lanes, out = self.shape, self.shape.lanes, self.output
        m.submodules.beats = beats = Fifo(
            ReadBeat(shape),
            shape.buffer,
            reserved=True,
            pipelined=shape.pipelined,
            late_valid=True,
            of_data=True,
            banks=2,
        )
        wiring.connect(m, wiring.flipped(self.input), beats.input)
        # The bank with the older beat; the words that this has not any more are in the newer one. Two flip-flops for the
        # same reason as a turn.
        sides = Signal(2, init=1)
        (older, older_valid), (newer, newer_valid) = (
            (Signal(ReadEnd(shape), name=name), Signal(name=f"{name}_valid")) for name in ("older", "newer")
        )
        #: The words of the older beat have left with those of the one before.
        spent = Signal()
        joins = Signal()
        pops = Signal()
        turn = self.turns.payload
        straight = turn == 0
        one, other = (Cat(front.payload.end, front.valid) for front in beats.output)
        m.d.comb += [
            Cat(older, older_valid).eq(Mux(sides[0], one, other)),
            Cat(newer, newer_valid).eq(Mux(sides[0], other, one)),
            joins.eq(~(older.last | straight) & newer.last & newer.joins),
            pops.eq(older_valid & (spent | (out.valid & out.ready))),
            out.valid.eq(self.turns.valid & older_valid & ~spent & (older.last | straight | newer_valid)),
            out.payload.last.eq(older.last | joins),
            out.payload.keep.eq(
                Cat(
                    ~out.payload.last | (Mux(older.last, older.words, newer.words) >= lane)
                    for lane in range(lanes)
                )
            ),
            self.turns.ready.eq(pops & older.last),
            self.freed.eq(pops & older.part),
            *(front.ready.eq(pops & side) for front, side in zip(beats.output, sides, strict=True)),
        ]
        with m.If(pops):
            m.d.sync += [sides.eq(~sides), spent.eq(joins & ~spent)]
        for lane in range(lanes):
            # Behind a packet's last word are no words of the next one.
            near, far = straight | (turn > lane), ~(straight | older.last) & (turn <= lane)
            uses = [(near & sides[bank]) | (far & sides[1 - bank]) for bank in (0, 1)]
            words = [front.payload.data.word_select(lane, shape.word_bits) for front in beats.output]
            m.d.comb += out.payload.data[lane].eq(one_of(*zip(uses, words, strict=True)))
        return m


class WriteStore(wiring.Component):
    """The buffer of a writer: the words of packets as they come in, beats of memory out.

    ``input``: The keep of a beat of memory, with the data of the beat at the input of the writer whose words end it, or
        any if none are left. The writer counts them: at most ``shape.buffer``.
    ``output``: Beats of memory.
    ``turn``: The turn of the beat at the output, which brings a packet's first word from lane 0 to its place.
    ``level``: That of :class:`.Fifo`.

    Throughput: a beat per cycle. Latency: that of :class:`.Fifo`.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        stored = stream.Signature(StoredBeat(shape))
        super().__init__(
            {
                "input": In(stream.Signature(StoredBeat(shape), always_ready=True)),
                "output": Out(stored),
                "turn": In(shape.turn),
                "level": Out(range(shape.buffer + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape, lanes, turn, out = self.shape, self.shape.lanes, self.turn, self.output
        m.submodules.beats = beats = Fifo(
            StoredBeat(shape),
            shape.buffer,
            reserved=True,
            pipelined=shape.pipelined,
            late_ready=True,
            of_data=True,
            banks=2,
        )
        # The bank with the beat at the output; the other one has the beat before it, which leaves with this one, if there
        # has been one. Two flip-flops for the same reason as a turn.
        sides = Signal(2, init=1)
        follows = Signal()
        leaves = Signal()
        valid = Signal()
        keep = Signal(lanes)
        keep_before = Signal(lanes)
        one, other = beats.output
        m.d.comb += [
            beats.input.valid.eq(self.input.valid),
            beats.input.payload.eq(self.input.payload),
            self.level.eq(beats.level),
            Cat(valid, keep).eq(
                Mux(sides[0], *(Cat(each.valid, each.payload.keep) for each in (one, other)))
            ),
            keep_before.eq(Mux(sides[0], other.payload.keep, one.payload.keep)),
            out.valid.eq(valid),
            leaves.eq(valid & out.ready),
            one.ready.eq(leaves & follows & sides[1]),
            other.ready.eq(leaves & follows & sides[0]),
            # A beat that is lost in memory has no words, and those that it has in this one are not written either.
            out.payload.keep.eq(
                Cat(keep[lane] & ((turn.ones <= lane) | keep_before[-1]) for lane in range(lanes))
            ),
        ]
        with m.If(leaves):
            m.d.sync += [sides.eq(~sides), follows.eq(1)]
        chosen = []
        for lane in range(lanes):
            # The words of the last lanes are those of the beat before, which stays if there is one.
            near, far = turn.zeros >= lane, follows & (turn.ones > lanes - 1 - lane)
            uses = [(near & sides[bank]) | (far & sides[1 - bank]) for bank in (0, 1)]
            words = [front.payload.data.word_select(lane, shape.word_bits) for front in beats.output]
            chosen.append(one_of(*zip(uses, words, strict=True)))
        m.d.comb += out.payload.data.eq(Cat(rotate_up(chosen, turn)))
        return m


class Raise(wiring.Component):
    """The beats of memory that the beats of a packet become whose first word comes to another lane: what they keep.

    ``shift``: Number of lanes for each packet; it is accepted when the packet has left.
    ``input``: Packets. An empty last beat ends a packet without adding to it.
    ``output``: The packets. The first word of a packet is in lane ``shift``, and the first beat does not keep the lanes
        below.

    Throughput: a beat per cycle, and one cycle more for a packet whose words need one beat more than it had. Latency: none;
    the outputs follow the inputs within the cycle.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        beats = stream.Signature(data.StructLayout({"keep": lanes, "last": 1}))
        super().__init__(
            {"shift": In(stream.Signature(exact_log2(lanes))), "input": In(beats), "output": Out(beats)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, out, shift = self.input.payload, self.output.payload, self.shift.payload
        turned = Cat(rotate_up(list(beat.keep), shift))
        #: Words of lanes below the shift, which belong to the next beat. None of them is in the last lane.
        held = Signal(self.lanes - 1)
        #: Only the words held are left of the packet.
        rest = Signal()
        spills = Signal()
        go = Signal()
        below = Signal(self.lanes)
        m.d.comb += [
            below.eq(thermometer(shift, self.lanes)),
            spills.eq(beat.last & below[0] & turned[0]),
            go.eq(self.output.valid & self.output.ready),
            self.output.valid.eq(self.shift.valid & (rest | self.input.valid)),
            self.input.ready.eq(self.shift.valid & self.output.ready & ~rest),
            self.shift.ready.eq(go & out.last),
            out.last.eq(rest | (beat.last & ~spills)),
            out.keep.eq(Cat(held & below, C(0, 1)) | Mux(rest, 0, turned & ~below)),
        ]
        with m.If(go):
            m.d.sync += [rest.eq(spills & ~rest), held.eq(Mux(out.last, 0, turned & below))]
        return m
