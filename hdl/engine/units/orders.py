"""Distributes the stripes of descriptors to the units, and their order to the stages that need it."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.command import Command
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.engine.path.codec_switch import Route
from cdma.hdl.engine.shapes.layout import WalkLayout

from .extents import Extents
from .outcomes import ReportOrder
from .plan import UnitPlan
from .stripes import StripeWalk

__all__ = ["Orders"]


class Orders(wiring.Component):
    """Walks through the stripes of each descriptor. A stripe goes to its unit when that has less than ``plan.in_flight``.

    Throughput: a stripe per cycle, and two cycles more for each descriptor.

    ``command``, ``route``
        Those of the :class:`.StripeWalk`.
    ``shapes``
        With ``plan.shaped``: those of the :class:`.Extents`, and so are the command and the route then.
    ``stripes``
        The stripes of each unit.
    ``pieces``
        Their order, for whom joins or distributes their pieces.
    ``reports``
        Their order, for whom collects their reports: each once it is taken from ``pieces``.
    ``stripe``
        The stripe that is given to its unit, for whom else must know it.
    """

    def __init__(self, plan: UnitPlan, *, writes: bool) -> None:
        self.plan = plan
        self.writes = writes
        self.shape = plan.stripe
        flags = ("shaped",) if plan.shaped else ()
        command = Command(plan.dev.address_bits, *flags, owner=plan.dev.owner_bits)
        order = ReportOrder(plan.dev.address_bits, plan.units, plan.place_bits, shaped=plan.shaped)
        super().__init__(
            {
                "command": In(stream.Signature(command)),
                "route": In(stream.Signature(Route(plan.config.tail_bits))),
                **({"shapes": In(stream.Signature(WalkLayout))} if plan.shaped else {}),
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
            plan.dev.owner_bits,
            config.tail_bits,
            shaped=plan.shaped,
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
