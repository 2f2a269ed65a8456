"""What the paths of both directions have in common: the units, the order of their stripes, and their reports."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring

from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.engine.pages.feed import PageFeed
from cdma.hdl.engine.path.ports import Verdict, path_members

from .orders import Orders
from .outcomes import Collector
from .plan import UnitPlan
from .unit import Unit

__all__ = ["UnitsPath"]

#: Units that a register with the table may drive; it would be too slow for more.
_UNITS_OF_TABLE = 4


class UnitsPath(wiring.Component):
    """A :class:`~cdma.hdl.engine.path.data_path.DataPath` with several units, all of which write device memory if
    ``writes`` says so, and read it otherwise.

    A subclass adds the AXI4 ports, and what is between the host port and the pieces of the units.
    """

    def __init__(
        self, plan: UnitPlan, units: Sequence[Unit], ports: dict[str, wiring.Member], *, writes: bool
    ) -> None:
        self.plan = plan
        self.units = units
        self.writes = writes
        self.orders = Orders(plan, writes=writes)
        self.collector = Collector(
            plan.dev.address_bits,
            plan.units,
            plan.config.stripe_bytes,
            plan.stripe_words,
            writes=writes,
            shaped=plan.shaped,
        )
        dev, host = plan.dev.address_bits, plan.host.address_bits
        bits = (host, dev) if writes else (dev, host)
        super().__init__({**path_members(plan.config, *bits, compressing=not writes), **ports})

    def _connect_units(self, m: Module, host: AxiReader | AxiWriter) -> None:
        """Adds the units with their orders and reports, and connects them, and commands and states of the ``host`` port,
        to the rest of the channel."""
        plan, units, orders, collector = self.plan, self.units, self.orders, self.collector
        m.submodules.orders = orders
        m.submodules.collector = collector
        m.submodules.reports = reports = Fifo(Verdict, plan.config.descriptors, reserved=True)
        table = Value.cast(self.values)
        for index, unit in enumerate(units):
            if index and index % _UNITS_OF_TABLE == 0:
                # A table changes only while the channel is idle, so it may come a cycle later.
                later = Signal(len(table), name=f"values_{index}", reset_less=True)
                m.d.sync += later.eq(table)
                table = later
            m.submodules[f"unit_{index}"] = unit
            wiring.connect(m, orders.stripes[index], unit.stripe)
            wiring.connect(m, unit.report, collector.units[index])
            m.d.comb += [Value.cast(unit.values).eq(table), unit.flush.eq(self.flush)]
        command, outcome, host_idle, host_progress = host.command, host.outcome, host.idle, host.progress
        if plan.config.pages:
            pages = PageFeed.before(m, host, self, plan.config.descriptors, plan.config.records.pair_bits)
            command, outcome = pages.input, pages.outcome
            host_idle, host_progress = host_idle & pages.idle, host_progress | pages.progress
        read, write = (command, orders.command) if self.writes else (orders.command, command)
        wiring.connect(m, wiring.flipped(self.read), read)
        wiring.connect(m, wiring.flipped(self.route), orders.route)
        if plan.shaped:
            wiring.connect(m, wiring.flipped(self.shapes), orders.shapes)
        wiring.connect(m, wiring.flipped(self.write), write)
        wiring.connect(m, orders.reports, collector.order)
        wiring.connect(m, collector.verdict, reports.input)
        wiring.connect(m, reports.output, wiring.flipped(self.report))

        there, here = ("read", "write") if self.writes else ("write", "read")
        idle, progress = Cat(unit.idle for unit in units), Cat(unit.progress for unit in units)
        wiring.connect(m, collector.outcome, wiring.flipped(getattr(self, f"{here}_outcome")))
        wiring.connect(m, outcome, wiring.flipped(getattr(self, f"{there}_outcome")))
        m.d.comb += [
            host.flush.eq(self.flush),
            host.mark.eq(self.mark),
            collector.mark.eq(self.mark),
            getattr(self, f"{here}_idle").eq(idle.all()),
            getattr(self, f"{here}_progress").eq(progress.any()),
            getattr(self, f"{there}_idle").eq(host_idle),
            getattr(self, f"{there}_progress").eq(host_progress),
            self.refused.eq(Cat(unit.refused for unit in units).any()),
        ]
        # The piece that is waited for; of a channel that writes, the report, or the piece whose report comes next.
        waiting = Value.cast(orders.pieces.payload)
        if self.writes:
            waiting = Mux(orders.reports.valid, Value.cast(orders.reports.payload), waiting)
        m.d.comb += Value.cast(collector.waiting).eq(waiting)
