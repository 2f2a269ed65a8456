"""What the paths of both directions have in common: the units, the order of their stripes, and their reports. The stages
of an offload channel with several units: each compresses its stripes, and the pieces are joined. The stages of a
prefetch channel with several units: the stream is split, and each unit expands and writes its stripes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring

from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import StreamRegister, slice_after
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.engine.path.ports import End, Path
from cdma.hdl.engine.path.switches import counted_in
from cdma.hdl.engine.path.tails import TailCut

from .joiner import Joiner, Orders, Splitter
from .outcomes import Collector
from .stores import UnitPlan
from .unit import OffloadUnit, PrefetchUnit, Unit

#: Units that a register with the table may drive; it would be too slow for more.
_UNITS_OF_TABLE = 4


class UnitsPath(Path):
    """A path with several units, all of which write device memory if ``writes`` says so, and read it otherwise.

    A subclass has what is between the host port and the pieces of the units.
    """

    def __init__(self, plan: UnitPlan, units: Sequence[Unit], *, writes: bool) -> None:
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
            based=plan.config.delta,
        )
        ports = (plan.host, plan.dev) if writes else (plan.dev, plan.host)
        super().__init__(plan.config, *ports, {}, compressing=not writes, base=plan.base)

    def _connect_units(self, m: Module, host: AxiReader | AxiWriter) -> None:
        """Adds the units with their orders and reports, and connects them, and commands and states of the ``host`` port,
        to the rest of the channel."""
        plan, units, orders, collector = self.plan, self.units, self.orders, self.collector
        m.submodules.orders = orders
        m.submodules.collector = collector
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
        idle, progress = Cat(unit.idle for unit in units), Cat(unit.progress for unit in units)
        device = End(orders.command, collector.outcome, idle.all(), progress.any())
        base = None
        if plan.base is not None:
            idle, progress = Cat(unit.base_idle for unit in units), Cat(unit.base_progress for unit in units)
            base = End(orders.base, collector.base_outcome, idle.all(), progress.any())
            for unit, port in zip(units, self.bases, strict=True):
                wiring.connect(m, unit.bases, wiring.flipped(port))
        self._connect_ends(m, device, host, collector.verdict, base)
        wiring.connect(m, wiring.flipped(self.route), orders.route)
        if plan.shaped:
            wiring.connect(m, wiring.flipped(self.shapes), orders.shapes)
        wiring.connect(m, orders.reports, collector.order)
        m.d.comb += [
            collector.mark.eq(self.mark),
            self.refused.eq(Cat(unit.refused for unit in units).any()),
        ]
        # The piece that is waited for; of a channel that writes, the report, or the piece whose report comes next.
        waiting = Value.cast(orders.pieces.payload)
        if self.writes:
            waiting = Mux(orders.reports.valid, Value.cast(orders.reports.payload), waiting)
        m.d.comb += Value.cast(collector.waiting).eq(waiting)


class OffloadPath(UnitsPath):
    """A :class:`.UnitsPath` that reads several ports. ``source`` is an array of these.

    ``starved``, ``refused``, ``blocked``: The unit whose turn it is has no words; a codec does not take what is read;
        the joined stream waits for the writer.
    """

    def __init__(self, plan: UnitPlan, codec: Callable[[], wiring.Component]) -> None:
        super().__init__(plan, [OffloadUnit(plan, codec()) for _ in range(plan.units)], writes=False)

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
                joined = slice_after(m, "passed", joined, kind=StreamRegister)
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


class PrefetchPath(UnitsPath):
    """A :class:`.UnitsPath` that writes several ports. ``sink`` is an array of these.

    ``end``: Is valid with ``write_outcome.done``.
    ``starved``, ``refused``, ``blocked``: The splitter has no words; a codec does not take its piece; the unit whose
        turn it is has no room.
    """

    def __init__(self, plan: UnitPlan, codec: Callable[[], wiring.Component]) -> None:
        super().__init__(plan, [PrefetchUnit(plan, codec()) for _ in range(plan.units)], writes=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, config, units, orders = self.plan, self.plan.config, self.units, self.orders
        word_bits = config.format.stream_bits
        m.submodules.reader = reader = AxiReader(plan.host)
        m.submodules.splitter = splitter = Splitter(config.codec, plan.stripe_words)
        m.submodules.cuts = cuts = Fifo(splitter.pieces.payload.shape(), plan.total_in_flight, reserved=True)
        self._connect_units(m, reader)
        wiring.connect(m, reader.port, wiring.flipped(self.source))
        source = counted_in(m, "read_words", reader.output, word_bits)
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
