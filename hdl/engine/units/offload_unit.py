"""A unit of an offload channel: reads its stripes at a device port of its own, and compresses each."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.command import Command
from cdma.hdl.axi.ports import ReadPort
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.engine.path.codec_switch import CodecSwitch, Route

from .outcomes import Outcomes, StripeOutcome, StripeVerdict, note_outcome
from .piece_buffer import PieceBuffer
from .plan import UnitPlan
from .stripes import Stripe

__all__ = ["OffloadUnit"]


class OffloadUnit(wiring.Component):
    """Each stripe becomes a packet at ``piece``, and a report.

    Reads go ahead as far as the reader's buffer has room, and what is compressed as far as the buffer of the pieces has.

    ``stripe``
        Stripes. No more than ``plan.in_flight`` may have come and not been reported.
    ``piece``
        What the codec makes of each, or the raw words.
    ``report``
        The reports.
    ``source``
        The AXI4 port.
    ``values``
        The table of the codec.
    ``refused``
        The codec's input waits for the codec.
    ``flush``, ``idle``, ``progress``
        Those of the :class:`.AxiReader`.
    """

    def __init__(self, plan: UnitPlan, codec: wiring.Component) -> None:
        self.plan = plan
        self.codec = codec
        config, dev = plan.config, plan.dev
        super().__init__(
            {
                "stripe": In(
                    stream.Signature(
                        Stripe(dev.address_bits, plan.units, plan.stripe_words), always_ready=True
                    )
                ),
                "piece": Out(stream.Signature(Beat(config.format.stream_bits, config.codec.units))),
                "report": Out(Outcomes(plan.place_bits, plan.stripe_words, writes=False)),
                "source": Out(ReadPort(dev.data_bits, dev.address_bits)),
                "values": In(data.ArrayLayout(config.format.entry_bits, config.codec.table_size)),
                "refused": Out(1),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, config = self.plan, self.plan.config
        depth = plan.in_flight
        m.submodules.commands = commands = Fifo(Command(plan.dev.address_bits), depth, reserved=True)
        m.submodules.routes = routes = Fifo(Route, depth, reserved=True)
        m.submodules.reader = reader = AxiReader(plan.dev)
        m.submodules.switch = switch = CodecSwitch(self.codec, config.codec, depth)
        m.submodules.pieces = pieces = PieceBuffer(self.piece.payload.shape(), config.piece_beats)
        m.submodules.outcomes = outcomes = Fifo(StripeOutcome(plan.place_bits), depth, reserved=True)
        m.submodules.verdicts = verdicts = Fifo(StripeVerdict(plan.stripe_words), depth, reserved=True)

        stripe = self.stripe.payload
        m.d.comb += [
            commands.input.valid.eq(self.stripe.valid),
            commands.input.payload.first.eq(stripe.first),
            commands.input.payload.last.eq(stripe.last),
            routes.input.valid.eq(self.stripe.valid),
            routes.input.payload.raw.eq(stripe.raw),
            routes.input.payload.zeros.eq(stripe.zeros),
            routes.input.payload.words.eq(stripe.words),
        ]
        wiring.connect(m, commands.output, reader.command)
        wiring.connect(m, routes.output, switch.routes)
        wiring.connect(m, reader.port, wiring.flipped(self.source))
        connect_width(m, "read_width", config.format.stream_bits, reader.output, switch.input)
        wiring.connect(m, switch.output, pieces.input)
        wiring.connect(m, pieces.output, wiring.flipped(self.piece))

        note_outcome(m, "outcome", reader.outcome, outcomes.input)
        wiring.connect(m, outcomes.output, wiring.flipped(self.report.port))
        wiring.connect(m, verdicts.output, wiring.flipped(self.report.codec))
        m.d.comb += [
            switch.report.ready.eq(1),
            verdicts.input.valid.eq(switch.report.valid),
            verdicts.input.payload.literals.eq(switch.report.payload.literals),
            verdicts.input.payload.error.eq(switch.report.payload.error),
            self.report.next_place.eq(reader.outcome.address[: plan.place_bits]),
            switch.values.eq(self.values),
            reader.flush.eq(self.flush),
            # Which address is waited for is known without a note.
            reader.mark.eq(0),
            self.idle.eq(reader.idle),
            self.progress.eq(reader.progress),
            self.refused.eq(switch.refused),
        ]
        return m
