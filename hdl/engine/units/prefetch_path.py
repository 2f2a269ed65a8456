"""The stages of a prefetch channel with several units: the stream is split, and each unit expands and writes its stripes."""

from collections.abc import Callable

from amaranth.hdl import Array, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.engine.path.byte_register import register_bytes
from cdma.hdl.engine.path.recount import counted_in

from .plan import UnitPlan
from .prefetch_unit import PrefetchUnit
from .splitter import Splitter
from .units_path import UnitsPath

__all__ = ["PrefetchPath"]


class PrefetchPath(UnitsPath):
    """A :class:`.UnitsPath` that writes several ports. ``sink`` is an array of these.

    ``end``
        Is valid with ``write_outcome.done``.
    ``starved``, ``refused``, ``blocked``
        The splitter has no words; a codec does not take its piece; the unit whose turn it is has no room.
    """

    def __init__(self, plan: UnitPlan, codec: Callable[[], wiring.Component]) -> None:
        dev, host = plan.dev, plan.host
        ports = {
            "source": Out(host.read_port),
            "sink": Out(dev.write_port).array(plan.units),
        }
        super().__init__(plan, [PrefetchUnit(plan, codec()) for _ in range(plan.units)], ports, writes=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, config, units, orders = self.plan, self.plan.config, self.units, self.orders
        word_bits = config.format.stream_bits
        m.submodules.reader = reader = AxiReader(plan.host)
        m.submodules.splitter = splitter = Splitter(config.codec, plan.stripe_words)
        m.submodules.cuts = cuts = Fifo(splitter.pieces.payload.shape(), plan.total_in_flight, reserved=True)
        self._connect_units(m, reader)
        wiring.connect(m, reader.port, wiring.flipped(self.source))
        source = reader.output
        if config.tail_bits and not config.pipelined:
            source = register_bytes(m, "shifted", source, late=True)
        source = counted_in(m, "read_words", source, word_bits)
        connect_width(m, "read_width", word_bits, source, splitter.input, pipelined=config.pipelined)
        wiring.connect(m, cuts.output, splitter.pieces)
        stripe = orders.stripe.payload
        m.d.comb += [
            cuts.input.valid.eq(orders.stripe.valid),
            cuts.input.payload.words.eq(stripe.words),
            cuts.input.payload.raw.eq(stripe.raw),
            cuts.input.payload.final.eq(stripe.final),
        ]
        # A unit's buffer takes a piece by its order.
        turn, piece = orders.pieces.payload.unit, splitter.output
        m.d.comb += [
            piece.ready.eq(orders.pieces.valid & Array(unit.piece.ready for unit in units)[turn]),
            orders.pieces.ready.eq(piece.valid & piece.ready & piece.payload.last),
        ]
        for index, unit in enumerate(units):
            wiring.connect(m, unit.sink, wiring.flipped(self.sink[index]))
            m.d.comb += [
                unit.piece.payload.eq(piece.payload),
                unit.piece.valid.eq(piece.valid & orders.pieces.valid & (turn == index)),
            ]
        m.d.comb += [
            self.end.eq(self.collector.end),
            # The checker refuses what does not fit.
            self.overflow.eq(0),
            self.starved.eq(orders.pieces.valid & ~piece.valid),
            self.blocked.eq(piece.valid & ~piece.ready),
        ]
        return m
