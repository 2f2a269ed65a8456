"""Joins the pieces that the units make of a descriptor's stripes to one packet."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import Beat, count_kept
from cdma.hdl.blocks.gates import rotate_up, thermometer

from .beat_fill import BeatFill

__all__ = ["JoinOrder", "Joiner"]


class JoinOrder(data.StructLayout):
    """Which unit makes the next piece, and whether it is the last one of its packet."""

    def __init__(self, units: int) -> None:
        super().__init__({"unit": range(units), "final": 1})


class Joiner(wiring.Component):
    """Takes one packet from the input of each unit in the order of ``order``, and joins their words without a gap, up to
    and including the packet that is ``final``.

    Throughput: a beat per cycle in. So a piece of n words takes n / ``lanes`` cycles, rounded up, and a packet takes one
    more if its last words need a beat of their own. Latency: two cycles. ``ready`` of the inputs does not depend on that
    of the output within the cycle, and ``valid`` and words of the output come from registers.

    ``order``
        One entry for each packet of a unit. It is taken with the last beat of that.
    ``pieces``
        The units' packets. One may be empty: a single last beat without words.
    ``output``
        The joined packets.
    ``waits``
        The unit whose turn it is has no beat.
    """

    def __init__(self, word_bits: int, lanes: int, units: int) -> None:
        self.beat = Beat(word_bits, lanes)
        self.units = units
        super().__init__(
            {
                "order": In(stream.Signature(JoinOrder(units))),
                "pieces": In(stream.Signature(self.beat)).array(units),
                "output": Out(stream.Signature(self.beat)),
                "waits": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self.beat.lanes
        order = self.order
        m.submodules.fill = fill = BeatFill(self.beat.word_bits, lanes)
        wiring.connect(m, fill.output, wiring.flipped(self.output))

        beat = Signal(self.beat)
        valid = Signal()
        take = Signal()
        turn = order.payload.unit
        #: Words of the beat that is filled, and the lanes that have them.
        count = Signal(exact_log2(lanes))
        below = Signal(lanes)
        #: All words of the packet are in, and the beat that is filled ends it.
        closing = Signal()
        m.d.comb += [
            beat.eq(Array(piece.payload for piece in self.pieces)[turn]),
            valid.eq(order.valid & Array(piece.valid for piece in self.pieces)[turn]),
            take.eq(valid & fill.ready & ~closing),
            order.ready.eq(take & beat.last),
            self.waits.eq(order.valid & ~valid),
        ]
        for unit, piece in enumerate(self.pieces):
            m.d.comb += piece.ready.eq(take & (turn == unit))

        total = Signal(range(2 * lanes))
        full = Signal()
        over = Signal()
        ends = Signal()
        m.d.comb += [
            total.eq(count + count_kept(beat.keep)),
            full.eq(total[-1]),
            over.eq(full & total[:-1].any()),
            ends.eq(beat.last & order.payload.final),
            fill.write.eq(take | (closing & fill.ready)),
            fill.below.eq(below),
            fill.done.eq(closing | full | ends),
            fill.end.last.eq(closing | (ends & ~over)),
            fill.end.count.eq(Mux(closing, count, Cat(total[:-1] & ~full.replicate(len(count)), full))),
        ]
        for lane, word in enumerate(rotate_up([Value.cast(beat.data[lane]) for lane in range(lanes)], count)):
            m.d.comb += fill.words[lane].eq(word)
        with m.If(fill.write):
            m.d.sync += closing.eq(ends & over & ~closing)
            with m.If(fill.end.last):
                m.d.sync += [count.eq(0), below.eq(0)]
            with m.Else():
                m.d.sync += [count.eq(total), below.eq(thermometer(total[:-1], lanes))]
        return m
