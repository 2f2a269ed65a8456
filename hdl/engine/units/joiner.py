"""Distributes the stripes of descriptors to the units, and their order to the stages that need it. Joins the pieces that
the units make of a descriptor's stripes to one packet. Splits the compressed packet of a descriptor into one packet
for each stripe.
"""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import Command
from cdma.hdl.blocks.arithmetic import rotate_up, thermometer
from cdma.hdl.blocks.elaboration import copies, optional
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat, count_kept, slice_before
from cdma.hdl.engine.path.base import base_command
from cdma.hdl.engine.path.switches import Route
from cdma.hdl.engine.shapes.segments import WalkPort
from cdma.hdl.spec.codec import CodecConfig

from .cutter import Cutter
from .outcomes import ReportOrder
from .stores import BeatFill, BeatStore, Extents, UnitPlan
from .stripes import StripeWalk
from .windows import BeatEnds, HeaderWalk, WindowLengths


class Orders(wiring.Component):
    """Walks through the stripes of each descriptor. A stripe goes to its unit when that has less than ``plan.in_flight``.

    Throughput: a stripe per cycle, and two cycles more for each descriptor.

    ``command``, ``route``: Those of the :class:`.StripeWalk`.
    ``base``: With bases: that of the :class:`.StripeWalk`.
    ``shapes``: With ``plan.shaped``: those of the :class:`.Extents`, and so are the command and the route then.
    ``stripes``: The stripes of each unit.
    ``pieces``: Their order, for whom joins or distributes their pieces.
    ``reports``: Their order, for whom collects their reports: each once it is taken from ``pieces``.
    ``stripe``: The stripe that is given to its unit, for whom else must know it.
    """

    def __init__(self, plan: UnitPlan, *, writes: bool) -> None:
        self.plan = plan
        self.writes = writes
        self.shape = plan.stripe
        flags = ("shaped",) if plan.shaped else ()
        command = Command(plan.dev.address_bits, *flags, user=plan.dev.user_bits)
        based, bits = plan.config.delta, plan.dev.address_bits
        order = ReportOrder(bits, plan.units, plan.place_bits, shaped=plan.shaped, based=based)
        super().__init__(
            {
                "command": In(stream.Signature(command)),
                "route": In(stream.Signature(Route(plan.config.tail_bits))),
                **optional(plan.shaped, shapes=In(WalkPort(plan.config.dimensions))),
                **optional(based, base=In(stream.Signature(base_command(bits, plan.dev.user_bits)))),
                "stripes": Out(stream.Signature(self.shape, always_ready=True)).array(plan.units),
                "pieces": Out(stream.Signature(order)),
                "reports": Out(stream.Signature(order)),
                "stripe": Out(stream.Signature(self.shape, always_ready=True)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, units = self.plan, self.plan.units
        config = plan.config
        depth = plan.total_in_flight
        m.submodules.walk = walk = StripeWalk(
            plan.dev.address_bits,
            units,
            config.stripe_bytes,
            config.format.word_bits,
            plan.dev.user_bits,
            config.tail_bits,
            shaped=plan.shaped,
            based=config.delta,
        )
        m.submodules.pieces = pieces = Fifo(self.pieces.payload.shape(), depth, reserved=True)
        m.submodules.reports = reports = Fifo(self.reports.payload.shape(), depth, reserved=True)
        command, route = walk.command, walk.route
        if plan.shaped:
            m.submodules.extents = extents = Extents(plan, reads=not self.writes)
            wiring.connect(m, wiring.flipped(self.shapes), extents.shapes)
            wiring.connect(m, extents.command, command)
            wiring.connect(m, extents.route, route)
            command, route = extents.input, extents.whole_route
        wiring.connect(m, wiring.flipped(self.command), command)
        wiring.connect(m, wiring.flipped(self.route), route)
        if config.delta:
            wiring.connect(m, wiring.flipped(self.base), walk.base)
        wiring.connect(m, pieces.output, wiring.flipped(self.pieces))
        wiring.connect(m, reports.output, wiring.flipped(self.reports))

        stripe = walk.stripes.payload
        free = Array(Signal(name=f"free_{unit}", init=1) for unit in range(units))
        m.d.comb += [
            self.stripe.payload.eq(stripe),
            self.stripe.valid.eq(walk.stripes.valid & free[stripe.unit]),
            walk.stripes.ready.eq(free[stripe.unit]),
            pieces.input.valid.eq(self.stripe.valid),
            pieces.input.payload.unit.eq(stripe.unit),
            pieces.input.payload.number.eq(stripe.first[plan.place_bits :]),
            pieces.input.payload.raw.eq(stripe.raw),
            pieces.input.payload.final.eq(stripe.final),
            reports.input.valid.eq(self.pieces.valid & self.pieces.ready),
            reports.input.payload.eq(self.pieces.payload),
        ]
        if plan.shaped:
            m.d.comb += [
                pieces.input.payload.padding.eq(stripe.padding),
                pieces.input.payload.place.eq(stripe.first[: plan.place_bits]),
            ]
        if config.delta:
            m.d.comb += copies(pieces.input.payload, stripe, "delta", "base")
        collected = Signal()
        m.d.comb += collected.eq(self.reports.valid & self.reports.ready)
        for unit, port in enumerate(self.stripes):
            inside = Signal(range(plan.in_flight + 1), name=f"inside_{unit}")
            following = Signal.like(inside, name=f"following_{unit}")
            gives = self.stripe.valid & (stripe.unit == unit)
            m.d.comb += [
                port.valid.eq(gives),
                port.payload.eq(stripe),
                following.eq(inside + gives - (collected & (self.reports.payload.unit == unit))),
            ]
            m.d.sync += [inside.eq(following), free[unit].eq(following != plan.in_flight)]
        return m


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

    ``order``: One entry for each packet of a unit. It is taken with the last beat of that.
    ``pieces``: The units' packets. One may be empty: a single last beat without words.
    ``output``: The joined packets.
    ``waits``: The unit whose turn it is has no beat.
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


#: Beats that have arrived when one of them is no longer held, besides those that arrive while its lengths are found.
_WAY = 8


class Piece(data.StructLayout):
    """A piece of a packet, that is, a stripe.

    ``words``: Number of its raw words, at least one; a whole number of windows in every piece but the final one.
    ``raw``: Says that the packet is not compressed, the same for all pieces of a packet.
    ``final``: Ends the packet.
    """

    def __init__(self, stripe_words: int) -> None:
        super().__init__({"words": range(stripe_words + 1), "raw": 1, "final": 1})


class Splitter(wiring.Component):
    """Cuts packets at window boundaries.

    ``pieces``: The pieces of the packets, in order. A piece is completed without the next one.
    ``input``: Packets, whose words come without holes; the last beat may be empty.
    ``output``: One packet for each piece, from lane 0 on. A piece other than the final one ends after its windows,
        which are found from their headers, or, in a raw packet, after its words. The final one gets all that is left,
        words too many among them. If a packet ends early, a piece gets what there is of it. Where that is no word, the
        piece is a single empty beat.

    Throughput: one beat of ``output`` per cycle, so a piece of ``n`` stream words takes ``n / units`` cycles, rounded up,
    however many windows a beat has. Latency: 7 cycles from the first beat of a packet in to the first beat out; with a
    header of several words a cycle more, and one for each further beat that a header may reach into. A beat leaves the
    splitter only when the next one has arrived, or it is the last of its packet. No ``ready`` of an input follows that of
    the output within a cycle.
    """

    def __init__(self, config: CodecConfig, stripe_words: int) -> None:
        self.config = config
        self.stripe_words = stripe_words
        beat = stream.Signature(Beat(config.format.stream_bits, config.units))
        super().__init__(
            {
                "pieces": In(stream.Signature(Piece(stripe_words))),
                "input": In(beat),
                "output": Out(beat),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, beat = self.config, self.input.payload
        m.submodules.lengths = lengths = WindowLengths(config)
        m.submodules.walk = walk = HeaderWalk(config)
        depth = 1 << (lengths.latency + _WAY - 1).bit_length()
        m.submodules.store = words = BeatStore(config.format.stream_bits, config.units, depth)
        # As many beats as have words inside, at most.
        m.submodules.ends = ends = Fifo(BeatEnds(config), depth, reserved=True)
        m.submodules.cutter = cutter = Cutter(config, -(-self.stripe_words // config.lanes))
        arrives = Signal()
        m.d.comb += [
            arrives.eq(self.input.valid & ~words.full),
            self.input.ready.eq(words.input.ready),
            words.input.valid.eq(self.input.valid & ~lengths.merges),
            words.input.payload.eq(beat.data),
            lengths.input.valid.eq(arrives),
            lengths.input.payload.eq(beat),
            words.read.eq(cutter.read),
            words.below.eq(cutter.below),
            words.take.eq(cutter.take),
            cutter.words.eq(words.words),
        ]
        wiring.connect(m, lengths.output, walk.input)
        wiring.connect(m, walk.output, ends.input)
        wiring.connect(m, ends.output, cutter.ends)
        wiring.connect(m, cutter.output, wiring.flipped(self.output))

        pieces = slice_before(m, "pieces_slice", cutter.pieces)
        count = Signal.like(self.pieces.payload.words)
        m.d.comb += [
            pieces.valid.eq(self.pieces.valid),
            self.pieces.ready.eq(pieces.ready),
            count.eq(
                Mux(self.pieces.payload.raw, self._parts(config.lanes), self._parts(config.format.window))
            ),
            pieces.payload.count.eq(count),
            pieces.payload.raw.eq(self.pieces.payload.raw),
            pieces.payload.final.eq(self.pieces.payload.final),
        ]
        return m

    def _parts(self, size: int) -> Value:
        """How many parts of that size the words of the piece fill, the last perhaps in part; a power of two."""
        bits = size.bit_length() - 1
        words = self.pieces.payload.words
        return (words >> bits) + words[:bits].any()
