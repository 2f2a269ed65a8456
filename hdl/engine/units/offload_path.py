"""The stages of an offload channel with several units: each compresses its stripes, and the pieces are joined."""

from collections.abc import Callable

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.engine.path.byte_register import register_bytes
from cdma.hdl.engine.path.tail_cut import TailCut

from .joiner import Joiner
from .offload_unit import OffloadUnit
from .plan import UnitPlan
from .units_path import UnitsPath

__all__ = ["OffloadPath"]


class OffloadPath(UnitsPath):
    """A :class:`.UnitsPath` that reads several ports. ``source`` is an array of these.

    ``starved``, ``refused``, ``blocked``
        The unit whose turn it is has no words; a codec does not take what is read; the joined stream waits for the writer.
    """

    def __init__(self, plan: UnitPlan, codec: Callable[[], wiring.Component]) -> None:
        dev, host = plan.dev, plan.host
        ports = {
            "source": Out(dev.read_port).array(plan.units),
            "sink": Out(host.write_port),
        }
        super().__init__(plan, [OffloadUnit(plan, codec()) for _ in range(plan.units)], ports, writes=False)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, config = self.plan, self.plan.config
        word_bits = config.format.stream_bits
        m.submodules.joiner = joiner = Joiner(word_bits, config.codec.units, plan.units)
        m.submodules.writer = writer = AxiWriter(plan.host)
        self._connect_units(m, writer)
        for index, unit in enumerate(self.units):
            wiring.connect(m, unit.source, wiring.flipped(self.source[index]))
            wiring.connect(m, unit.piece, joiner.pieces[index])
        joined = joiner.output
        if config.tail_bits:
            m.submodules.cut = cut = TailCut(joined.payload.shape(), config.tail_bits, plan.total_in_flight)
            wiring.connect(m, joined, cut.input)
            stripe = self.orders.stripe
            m.d.comb += [
                # A compressed stream is whole words.
                cut.tails.valid.eq(stripe.valid & stripe.payload.final),
                cut.tails.payload.eq(Mux(stripe.payload.raw, stripe.payload.tail, 0)),
            ]
            joined = cut.output
            if not config.pipelined:
                joined = register_bytes(m, "passed", joined, late=False)
        moved_bits = joined.payload.shape().word_bits
        connect_width(m, "write_width", moved_bits, joined, writer.input, pipelined=config.pipelined)
        wiring.connect(m, writer.port, wiring.flipped(self.sink))
        pieces = self.orders.pieces
        m.d.comb += [
            joiner.order.valid.eq(pieces.valid),
            joiner.order.payload.unit.eq(pieces.payload.unit),
            joiner.order.payload.final.eq(pieces.payload.final),
            pieces.ready.eq(joiner.order.ready),
            writer.ahead.eq(self.ahead),
            self.end.eq(writer.end),
            self.overflow.eq(writer.overflow),
            self.starved.eq(joiner.waits),
            self.blocked.eq(joiner.output.valid & ~joiner.output.ready),
        ]
        return m
