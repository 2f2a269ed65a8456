"""The stages of a prefetch channel with several units: the stream is split, and each unit expands and writes its stripes."""

from collections.abc import Callable

from amaranth.hdl import Array, Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.engine.path.ports import Verdict, path_members

from .orders import Orders
from .outcomes import Collector
from .plan import UnitPlan
from .prefetch_unit import PrefetchUnit
from .splitter import Splitter

__all__ = ["PrefetchPath"]


class PrefetchPath(wiring.Component):
    """A :class:`~cdma.hdl.engine.path.data_path.DataPath` that writes several ports. ``sink`` is an array of these.

    ``end``
        Is valid with ``write_outcome.done``.
    ``starved``, ``refused``, ``blocked``
        The splitter has no words; a codec does not take its piece; the unit whose turn it is has no room.
    """

    def __init__(self, plan: UnitPlan, codec: Callable[[], wiring.Component]) -> None:
        self.plan = plan
        self.units = [PrefetchUnit(plan, codec()) for _ in range(plan.units)]
        dev, host = plan.dev, plan.host
        super().__init__(
            {
                **path_members(plan.config, host.address_bits, dev.address_bits),
                "source": Out(ReadPort(host.data_bits, host.address_bits)),
                "sink": Out(WritePort(dev.data_bits, dev.address_bits, dev.word_bits)).array(plan.units),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, config, units = self.plan, self.plan.config, self.units
        word_bits = config.format.stream_bits
        m.submodules.reader = reader = AxiReader(plan.host)
        m.submodules.orders = orders = Orders(plan)
        m.submodules.splitter = splitter = Splitter(config.codec, plan.stripe_words)
        m.submodules.cuts = cuts = Fifo(
            splitter.pieces.payload.shape(),
            1 << (plan.units * plan.in_flight - 1).bit_length(),
            reserved=True,
        )
        m.submodules.collector = collector = Collector(
            plan.dev.address_bits, plan.units, config.stripe_bytes, plan.stripe_words, writes=True
        )
        m.submodules.reports = reports = Fifo(Verdict, config.descriptors, reserved=True)
        for index, unit in enumerate(units):
            m.submodules[f"unit_{index}"] = unit
            wiring.connect(m, orders.stripes[index], unit.stripe)
            wiring.connect(m, unit.report, collector.units[index])
            wiring.connect(m, unit.sink, wiring.flipped(self.sink[index]))
            m.d.comb += [unit.values.eq(self.values), unit.flush.eq(self.flush)]

        wiring.connect(m, wiring.flipped(self.read), reader.command)
        wiring.connect(m, wiring.flipped(self.write), orders.command)
        wiring.connect(m, wiring.flipped(self.route), orders.route)
        wiring.connect(m, reader.port, wiring.flipped(self.source))
        connect_width(m, "read_width", word_bits, reader.output, splitter.input, registered=config.pipelined)
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
            m.d.comb += [
                unit.piece.payload.eq(piece.payload),
                unit.piece.valid.eq(piece.valid & orders.pieces.valid & (turn == index)),
            ]

        wiring.connect(m, orders.reports, collector.order)
        wiring.connect(m, reader.outcome, wiring.flipped(self.read_outcome))
        wiring.connect(m, collector.outcome, wiring.flipped(self.write_outcome))
        wiring.connect(m, collector.verdict, reports.input)
        wiring.connect(m, reports.output, wiring.flipped(self.report))
        m.d.comb += [
            reader.flush.eq(self.flush),
            reader.mark.eq(self.mark),
            collector.mark.eq(self.mark),
            collector.waiting.eq(orders.reports.payload),
            self.end.eq(collector.end),
            # The checker refuses what does not fit.
            self.overflow.eq(0),
            self.read_idle.eq(reader.idle),
            self.read_progress.eq(reader.progress),
            self.write_idle.eq(Cat(unit.idle for unit in units).all()),
            self.write_progress.eq(Cat(unit.progress for unit in units).any()),
            self.starved.eq(orders.pieces.valid & ~piece.valid),
            self.refused.eq(Cat(unit.refused for unit in units).any()),
            self.blocked.eq(piece.valid & ~piece.ready),
        ]
        return m
