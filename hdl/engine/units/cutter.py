"""Cuts a packet where pieces end, and moves each piece to lane 0."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import one_of, rotate_up
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.spec.codec import CodecConfig

from .windows import BeatEnds


class PieceEnd(data.StructLayout):
    """Where a piece ends.

    ``count``: Number of windows after which the piece ends; of a raw packet, number of beats.
    ``raw``: Says that the packet is raw: windows are not looked at.
    ``final``: Says that the piece ends with its packet.
    """

    def __init__(self, most: int) -> None:
        super().__init__({"count": range(most + 1), "raw": 1, "final": 1})


class Cutter(wiring.Component):
    """Cuts packets into pieces, one after the other.

    ``pieces``: The end of each piece, ``most`` windows or beats after its beginning at most.
    ``ends``: Where windows end in each beat of the packets.
    ``read``, ``below``, ``take``, ``words``: Ports of a :class:`~.stores.BeatStore` that has the words of these beats,
        at the latest when ``ends`` has them.
    ``output``: Each piece as a packet of its own, from lane 0 on. A piece for which its packet has no word left is an
        empty beat.

    The words of a beat that is put out are the upper lanes of one beat of the packet, which is held, and the lower lanes of
    the next one. They are read together, and only rotated. A piece that ends in a beat leaves its last words while the beat
    becomes the held one for the next piece.

    Throughput: one beat per cycle of ``output``, without a pause between pieces or packets. Latency: one cycle. A beat that
    is not the last of its piece waits for the next beat of its packet, unless the piece begins in lane 0. ``valid`` of the
    output comes from a register, and its payload from registers through the rotation.
    """

    def __init__(self, config: CodecConfig, most: int) -> None:
        self.config = config
        self.most = most
        units, bits = config.units, config.format.stream_bits
        self.levels = exact_log2(units)
        super().__init__(
            {
                "pieces": In(stream.Signature(PieceEnd(most))),
                "ends": In(stream.Signature(BeatEnds(config))),
                "read": Out(1),
                "below": Out(units, init=-1),
                "take": Out(1),
                "words": In(data.ArrayLayout(bits, units)),
                "output": Out(stream.Signature(Beat(bits, units))),
            }
        )
        #: A piece is in hand.
        self.busy = Signal()
        self.raw = Signal(reset_less=True)
        self.final = Signal(reset_less=True)
        #: The packet has ended, but not with the piece in hand.
        self.short = Signal()
        #: The next word of the packet is in this lane of the held beat. The lanes ``below`` are those of the next beat, and
        #: where all are below, nothing is held.
        self.lane = Signal(self.levels)
        #: Windows that end until the end of the piece, from the beginning of the held beat and of the next one on. May be
        #: negative for the next one if the piece ends in the held one.
        self.left_held = Signal((most + 2 * units).bit_length())
        self.left_next = Signal.like(self.left_held)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units, ends, out = self.config.units, self.ends.payload, self.output.payload
        lanes = range(units)
        held = Signal.like(ends, reset_less=True)
        offers = Signal()
        moves = Signal()
        fire = Signal()
        # Where the piece ends, in the held beat or else in the next one: by its windows, or with the packet. Of two lanes
        # the lower one counts.
        in_held, stops_held, until_held = self._find(m, "held", held, self.left_held, ~self.below)
        in_next, stops_next, until_next = self._find(m, "next", ends, self.left_next, self.below)
        ended = Signal()
        #: Nothing is left of the packet.
        over = Signal()
        m.d.comb += [
            offers.eq(self.busy & (self.short | in_held | self.ends.valid)),
            moves.eq(~self.output.valid | self.output.ready),
            fire.eq(offers & moves),
            self.read.eq(fire),
            self.take.eq(fire & ~self.short & ~in_held),
            self.ends.ready.eq(self.take),
            ended.eq(self.short | in_held | in_next | ends.empty),
            over.eq(self.short | Mux(in_held, stops_held, stops_next | ends.empty)),
        ]
        with m.If(self.take):
            m.d.sync += held.eq(ends)

        # What is read in this cycle is put out in the next one.
        keep = Signal(units, reset_less=True)
        amount = Signal(self.levels, reset_less=True)
        of_next = (until_next & ~ends.empty.replicate(units)) & ~(self.short | in_held).replicate(units)
        with m.If(moves):
            m.d.sync += self.output.valid.eq(offers)
        with m.If(fire):
            m.d.sync += [
                keep.eq((self.below & of_next) | (~self.below & until_held)),
                amount.eq(-self.lane),
                out.last.eq(ended),
            ]
        read = [Cat(keep[lane], self.words[lane]) for lane in lanes]
        for lane, word in enumerate(rotate_up(read, amount)):
            m.d.comb += Cat(out.keep[lane], out.data[lane]).eq(word)
        # The piece after this one begins behind its last word.
        until = Mux(in_held, until_held, until_next)
        last = until & ~(until >> 1)
        after = one_of(*((last[lane], Value.cast((lane + 1) % units)) for lane in lanes))
        with m.If(fire & ended):
            m.d.sync += [
                self.below.eq(until | over.replicate(units)),
                self.lane.eq(Mux(over, 0, after)),
                self.short.eq(over & ~self.final),
            ]
        self._count(m, fire, ended, over)
        return m

    def _find(
        self, m: Module, name: str, ends: data.View, left: Value, lanes: Value
    ) -> tuple[Value, Value, Value]:
        """Whether the piece ends in one of the ``lanes`` of a beat, and the packet with it; and the lanes until there."""
        units = self.config.units
        marks = Signal(units, name=f"marks_{name}")
        until = Signal(units, name=f"until_{name}")
        found = Signal(name=f"found_{name}")
        stops = Signal(name=f"stops_{name}")
        reached = [
            self._is_end(ends, lane) & (self._rank(ends, lane) == left) & ~self.final for lane in range(units)
        ]
        m.d.comb += [
            marks.eq((Cat(reached) | ends.stop) & lanes),
            until.eq(Cat(~marks[:lane].any() for lane in range(units))),
            found.eq(marks.any()),
            stops.eq((marks & until & ends.stop).any()),
        ]
        return found, stops, until

    def _is_end(self, ends: data.View, lane: int) -> Value:
        """Of a raw packet, every beat counts as a window."""
        return ends.ends[lane] & ~self.raw if lane < self.config.units - 1 else ends.ends[lane] | self.raw

    def _rank(self, ends: data.View, lane: int) -> Value:
        rank = ends.rank[f"lane_{lane}"]
        return rank if lane < self.config.units - 1 else Mux(self.raw, 1, rank)

    def _count(self, m: Module, fire: Value, ended: Value, over: Value) -> None:
        """Counts down the windows that are left of the piece, and takes the next one.

        All sums are known before it is known which one is right.
        """
        bits = len(self.left_held)
        load = Signal()
        passed = self._rank(self.ends.payload, self.config.units - 1)
        held, next_, more = self.left_held, self.left_next, self.pieces.payload.count
        rest = Signal(bits)
        held_more, next_more, rest_more = (
            Signal(bits, name=f"{name}_more") for name in ("held", "next", "rest")
        )
        m.d.comb += [
            self.pieces.ready.eq((fire & ended) | ~self.busy),
            load.eq(self.pieces.valid & self.pieces.ready),
            rest.eq(next_ - passed),
            held_more.eq(held + more),
            next_more.eq(next_ + more),
            rest_more.eq(rest + more),
        ]
        fresh = fire & ended & over
        goes, stays = self.take & ~fresh, ~self.take & ~fresh
        m.d.sync += [
            held.eq(
                one_of(
                    (self.take & load, next_more),
                    (self.take & ~load, next_),
                    (~self.take & load, held_more),
                    (~self.take & ~load, held),
                )
            ),
            next_.eq(
                one_of(
                    (fresh & load, more),
                    (goes & load, rest_more),
                    (goes & ~load, rest),
                    (stays & load, next_more),
                    (stays & ~load, next_),
                )
            ),
        ]
        with m.If(load):
            m.d.sync += [self.raw.eq(self.pieces.payload.raw), self.final.eq(self.pieces.payload.final)]
        m.d.sync += self.busy.eq(load | (self.busy & ~(fire & ended)))
