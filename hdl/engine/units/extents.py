"""What a descriptor's stripes are walked in: all of its memory, or the rows of a shape and the padding between them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.command import Command
from cdma.hdl.engine.path.codec_switch import Route
from cdma.hdl.engine.shapes.feed import ShapeFeed
from cdma.hdl.engine.shapes.layout import WalkLayout

from .plan import UnitPlan

__all__ = ["Extents"]


class Extents(wiring.Component):
    """Makes of the command and the route of each descriptor with a shape one of each for every row and every padding, in the
    order of the stream. Others pass on as they are.

    ``shapes``
        Those of the :class:`.ShapeFeed`.
    ``input``, ``whole_route``
        Those of descriptors.
    ``command``, ``route``
        Those of extents: of one that is padding, the address is 0. Valid, and to be taken, together.
    """

    def __init__(self, plan: UnitPlan, *, reads: bool) -> None:
        self.plan = plan
        self.reads = reads
        route = Route(plan.config.tail_bits)
        bits, owner = plan.dev.address_bits, plan.dev.owner_bits
        super().__init__(
            {
                "shapes": In(stream.Signature(WalkLayout)),
                "input": In(stream.Signature(Command(bits, "shaped", owner=owner))),
                "whole_route": In(stream.Signature(route)),
                "command": Out(stream.Signature(Command(bits, "more", "padding", owner=owner))),
                "route": Out(stream.Signature(route)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dev = self.plan.dev
        # Its beats are words: no piece of a stripe is joined to another one.
        m.submodules.feed = feed = ShapeFeed(
            self.plan.config.dimensions,
            dev.address_bits,
            self.plan.word_log2,
            dev.outstanding,
            dev.owner_bits,
            joins=False,
            reads=self.reads,
        )
        wiring.connect(m, wiring.flipped(self.shapes), feed.shapes)
        wiring.connect(m, wiring.flipped(self.input), feed.input)
        segment, row, whole_route = feed.segments.payload, feed.command, self.whole_route
        padding = segment.padding
        there = Signal()
        takes = Signal()
        m.d.comb += [
            there.eq(feed.segments.valid & whole_route.valid & (padding | row.valid)),
            self.command.valid.eq(there),
            self.route.valid.eq(there),
            self.command.payload.first.eq(Mux(padding, 0, row.payload.first)),
            self.command.payload.last.eq(row.payload.last),
            self.command.payload.more.eq(~segment.last),
            self.command.payload.padding.eq(padding),
            self.route.payload.eq(whole_route.payload),
            takes.eq(there & self.command.ready),
            feed.segments.ready.eq(takes),
            row.ready.eq(takes & ~padding),
            whole_route.ready.eq(takes & segment.last),
        ]
        with m.If(~segment.whole):
            m.d.comb += self.route.payload.words.eq(segment.beats + 1)
        if dev.owner_bits:
            m.d.comb += self.command.payload.owner.eq(row.payload.owner)
        return m
