"""What the units of both directions have in common: the queues of their stripes, the codec and the reports."""

from amaranth.hdl import Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.command import Command
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.engine.path.codec_switch import CodecSwitch, Route

from .outcomes import Outcomes, StripeOutcome, StripeVerdict, note_outcome
from .piece_buffer import PieceBuffer
from .plan import UnitPlan

__all__ = ["Unit"]


class Unit(wiring.Component):
    """A codec between the stripes at a device port of its own and their pieces of the stream.

    A subclass adds ``piece`` and the AXI4 port to the ``members``, and the data's way between them.

    ``piece``
        Packets of the stream, one for each stripe.
    ``stripe``
        Stripes. No more than ``plan.in_flight`` may have come and not been reported.
    ``report``
        The reports.
    ``values``
        The table of the codec.
    ``refused``
        The codec's input waits for the codec.
    ``flush``, ``idle``, ``progress``
        Those of the :class:`.AxiReader` or :class:`.AxiWriter`.
    """

    def __init__(
        self, plan: UnitPlan, codec: wiring.Component, members: dict[str, wiring.Member], *, writes: bool
    ) -> None:
        self.plan = plan
        self.codec = codec
        config = plan.config
        super().__init__(
            {
                "stripe": In(stream.Signature(plan.stripe, always_ready=True)),
                **members,
                "report": Out(Outcomes(plan.place_bits, plan.stripe_words, writes=writes)),
                "values": In(data.ArrayLayout(config.format.entry_bits, config.codec.table_size)),
                "refused": Out(1),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
            }
        )

    def _queue(self, shape: object) -> Fifo:
        """A queue with room for an entry of every stripe in flight."""
        return Fifo(shape, self.plan.in_flight, reserved=True)

    def _stages(self, m: Module, switch: CodecSwitch, pieces: PieceBuffer) -> AxiReader | AxiWriter:
        """Adds the stages of the data to the module, and connects them; gives the one at the AXI4 port."""
        raise NotImplementedError

    def _asks(self) -> Value:
        """Whether a stripe comes that is a command of the port."""
        return self.stripe.valid

    def _error(self, error: Value) -> Value:
        """What is reported of a stripe whose codec reports this."""
        return error

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, config, stripe = self.plan, self.plan.config, self.stripe.payload
        command = Command(plan.dev.address_bits, owner=plan.dev.owner_bits)
        m.submodules.commands = commands = self._queue(command)
        m.submodules.routes = routes = self._queue(Route())
        switch = CodecSwitch(self.codec, config.codec, plan.in_flight)
        port = self._stages(m, switch, PieceBuffer(self.piece.payload.shape(), config.piece_beats))
        m.submodules.outcomes = outcomes = self._queue(StripeOutcome(plan.place_bits))
        m.submodules.verdicts = verdicts = self._queue(StripeVerdict(plan.stripe_words))

        m.d.comb += [
            commands.input.valid.eq(self._asks()),
            commands.input.payload.first.eq(stripe.first),
            commands.input.payload.last.eq(stripe.last),
            routes.input.valid.eq(self.stripe.valid),
            routes.input.payload.raw.eq(stripe.raw),
            routes.input.payload.zeros.eq(stripe.zeros),
            routes.input.payload.words.eq(stripe.words),
        ]
        if plan.dev.owner_bits:
            m.d.comb += commands.input.payload.owner.eq(stripe.owner)
        wiring.connect(m, commands.output, port.command)
        wiring.connect(m, routes.output, switch.routes)
        note_outcome(m, "outcome", port.outcome, outcomes.input)
        wiring.connect(m, outcomes.output, wiring.flipped(self.report.port))
        wiring.connect(m, verdicts.output, wiring.flipped(self.report.codec))
        m.d.comb += [
            switch.report.ready.eq(1),
            verdicts.input.valid.eq(switch.report.valid),
            verdicts.input.payload.literals.eq(switch.report.payload.literals),
            verdicts.input.payload.error.eq(self._error(switch.report.payload.error)),
            self.report.next_place.eq(port.outcome.address[: plan.place_bits]),
            switch.values.eq(self.values),
            port.flush.eq(self.flush),
            # Which address is waited for is known without a note.
            port.mark.eq(0),
            self.idle.eq(port.idle),
            self.progress.eq(port.progress),
            self.refused.eq(switch.refused),
        ]
        return m
