"""Joins the pieces that the units make of a descriptor's stripes to one packet."""

from amaranth.hdl import Array, C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.gates import rotate_up
from cdma.hdl.blocks.stream_register import StreamRegister

__all__ = ["JoinOrder", "Joiner"]


class JoinOrder(data.StructLayout):
    """Which unit makes the next piece, and whether it is the last one of its packet."""

    def __init__(self, units: int) -> None:
        super().__init__({"unit": range(units), "final": 1})


class _Held(data.StructLayout):
    """The words that are held until their beat is full: ``count`` of them, from lane 0 on; ``ends`` the packet."""

    def __init__(self, beat: Beat) -> None:
        super().__init__(
            {"data": beat["data"].shape, "count": range(beat.lanes), "ends": 1},
        )


class Joiner(wiring.Component):
    """Takes one packet from the input of each unit in the order of ``order``, and joins their words without a gap, up to
    and including the packet that is ``final``.

    Throughput: a beat per cycle in. So a piece of n words takes n / ``lanes`` cycles, rounded up, and a packet takes one
    more if its last words need a beat of their own. Latency: one cycle. ``ready`` of the inputs follows that of the output
    within the cycle.

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
        m.submodules.leaving = leaving = StreamRegister(self.beat)
        wiring.connect(m, leaving.output, wiring.flipped(self.output))
        out = leaving.input
        held = Signal(_Held(self.beat))

        beat = Signal(self.beat)
        valid = Signal()
        take = Signal()
        turn = order.payload.unit
        m.d.comb += [
            beat.eq(Array(piece.payload for piece in self.pieces)[turn]),
            valid.eq(order.valid & Array(piece.valid for piece in self.pieces)[turn]),
            # What is left of the packet before goes out first.
            take.eq(valid & out.ready & ~held.ends),
            order.ready.eq(take & beat.last),
            self.waits.eq(order.valid & ~valid),
        ]
        for unit, piece in enumerate(self.pieces):
            m.d.comb += piece.ready.eq(take & (turn == unit))

        turned = rotate_up([Value.cast(beat.data[lane]) for lane in range(lanes)], held.count)
        count = Signal(range(lanes + 1))
        total = Signal(range(2 * lanes))
        full = Signal()
        ends = Signal()
        m.d.comb += [
            count.eq(sum(beat.keep[lane] for lane in range(lanes))),
            total.eq(held.count + count),
            full.eq(total >= lanes),
            ends.eq(beat.last & order.payload.final),
        ]
        with m.If(held.ends):
            m.d.comb += [
                out.valid.eq(1),
                out.payload.data.eq(held.data),
                out.payload.keep.eq((C(1, lanes + 1) << held.count) - 1),
                out.payload.last.eq(1),
            ]
            with m.If(out.ready):
                m.d.sync += [held.ends.eq(0), held.count.eq(0)]
        with m.Else():
            over = Signal()
            m.d.comb += [
                over.eq(full & (total[:-1] != 0)),
                out.valid.eq(valid & (full | ends)),
                out.payload.keep.eq(Cat(full | (total > lane) for lane in range(lanes))),
                out.payload.last.eq(ends & ~over),
            ]
            for lane in range(lanes):
                m.d.comb += out.payload.data[lane].eq(Mux(held.count > lane, held.data[lane], turned[lane]))
            with m.If(take):
                m.d.sync += [
                    held.count.eq(Mux(ends & ~over, 0, total)),
                    held.ends.eq(ends & over),
                ]
                for lane in range(lanes):
                    with m.If(full | (held.count <= lane)):
                        m.d.sync += held.data[lane].eq(turned[lane])
        return m
