"""The stages of an offload channel with several units: each compresses its stripes, and the pieces are joined."""

from collections.abc import Callable

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.engine.path.ports import Verdict, path_members

from .joiner import Joiner
from .offload_unit import OffloadUnit
from .orders import Orders
from .outcomes import Collector
from .plan import UnitPlan

__all__ = ["OffloadPath"]


class OffloadPath(wiring.Component):
    """A :class:`~cdma.hdl.engine.path.data_path.DataPath` that reads several ports. ``source`` is an array of these.

    ``starved``, ``refused``, ``blocked``
        The unit whose turn it is has no words; a codec does not take what is read; the joined stream waits for the writer.
    """

    def __init__(self, plan: UnitPlan, codec: Callable[[], wiring.Component]) -> None:
        self.plan = plan
        self.units = [OffloadUnit(plan, codec()) for _ in range(plan.units)]
        dev, host = plan.dev, plan.host
        super().__init__(
            {
                **path_members(plan.config, dev.address_bits, host.address_bits),
                "source": Out(ReadPort(dev.data_bits, dev.address_bits)).array(plan.units),
                "sink": Out(WritePort(host.data_bits, host.address_bits, host.word_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, config, units = self.plan, self.plan.config, self.units
        word_bits = config.format.stream_bits
        m.submodules.orders = orders = Orders(plan)
        m.submodules.joiner = joiner = Joiner(word_bits, config.codec.units, plan.units)
        m.submodules.collector = collector = Collector(
            plan.dev.address_bits, plan.units, config.stripe_bytes, plan.stripe_words, writes=False
        )
        m.submodules.reports = reports = Fifo(Verdict, config.descriptors, reserved=True)
        m.submodules.writer = writer = AxiWriter(plan.host)
        for index, unit in enumerate(units):
            m.submodules[f"unit_{index}"] = unit
            wiring.connect(m, orders.stripes[index], unit.stripe)
            wiring.connect(m, unit.piece, joiner.pieces[index])
            wiring.connect(m, unit.report, collector.units[index])
            wiring.connect(m, unit.source, wiring.flipped(self.source[index]))
            m.d.comb += [unit.values.eq(self.values), unit.flush.eq(self.flush)]

        wiring.connect(m, wiring.flipped(self.read), orders.command)
        wiring.connect(m, wiring.flipped(self.route), orders.route)
        wiring.connect(m, wiring.flipped(self.write), writer.command)
        wiring.connect(m, orders.reports, collector.order)
        connect_width(m, "write_width", word_bits, joiner.output, writer.input, registered=config.pipelined)
        wiring.connect(m, writer.port, wiring.flipped(self.sink))
        wiring.connect(m, collector.outcome, wiring.flipped(self.read_outcome))
        wiring.connect(m, writer.outcome, wiring.flipped(self.write_outcome))
        wiring.connect(m, collector.verdict, reports.input)
        wiring.connect(m, reports.output, wiring.flipped(self.report))
        m.d.comb += [
            writer.flush.eq(self.flush),
            writer.ahead.eq(self.ahead),
            writer.mark.eq(self.mark),
            collector.mark.eq(self.mark),
            collector.waiting.eq(orders.pieces.payload),
            joiner.order.valid.eq(orders.pieces.valid),
            joiner.order.payload.unit.eq(orders.pieces.payload.unit),
            joiner.order.payload.final.eq(orders.pieces.payload.final),
            orders.pieces.ready.eq(joiner.order.ready),
            self.end.eq(writer.end),
            self.overflow.eq(writer.overflow),
            self.read_idle.eq(Cat(unit.idle for unit in units).all()),
            self.read_progress.eq(Cat(unit.progress for unit in units).any()),
            self.write_idle.eq(writer.idle),
            self.write_progress.eq(writer.progress),
            self.starved.eq(joiner.waits),
            self.refused.eq(Cat(unit.refused for unit in units).any()),
            self.blocked.eq(joiner.output.valid & ~joiner.output.ready),
        ]
        return m
