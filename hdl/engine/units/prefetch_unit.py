"""A unit of a prefetch channel: expands the piece of each of its stripes, and writes it at a device port of its own."""

from amaranth.hdl import Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.command import Command
from cdma.hdl.axi.ports import WritePort
from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.engine.path.codec_switch import CodecSwitch, Route

from .outcomes import Outcomes, StripeOutcome, StripeVerdict, note_outcome
from .piece_buffer import PieceBuffer
from .plan import UnitPlan
from .stripes import Stripe

__all__ = ["PrefetchUnit"]


class PrefetchUnit(wiring.Component):
    """Each packet at ``piece`` becomes the data of a stripe, and a report.

    ``stripe``
        Stripes. No more than ``plan.in_flight`` may have come and not been reported.
    ``piece``
        A packet for each of them: for the codec, or raw words. One that the stream had no words left for is a single last
        beat without words.
    ``report``
        The reports. That of a piece without words is that the stream is truncated.
    ``sink``
        The AXI4 port.
    ``values``
        The table of the codec.
    ``refused``
        The codec's input waits for the codec.
    ``flush``, ``idle``, ``progress``
        Those of the :class:`.AxiWriter`.
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
                "piece": In(stream.Signature(Beat(config.format.stream_bits, config.codec.units))),
                "report": Out(Outcomes(plan.place_bits, plan.stripe_words, writes=True)),
                "sink": Out(WritePort(dev.data_bits, dev.address_bits, dev.word_bits)),
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
        m.submodules.pieces = pieces = PieceBuffer(self.piece.payload.shape(), config.piece_beats)
        m.submodules.switch = switch = CodecSwitch(self.codec, config.codec, depth)
        m.submodules.writer = writer = AxiWriter(plan.dev)
        m.submodules.outcomes = outcomes = Fifo(StripeOutcome(plan.place_bits), depth, reserved=True)
        m.submodules.ends = ends = Fifo(SPAN_BITS, depth, reserved=True)
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
        wiring.connect(m, commands.output, writer.command)
        wiring.connect(m, routes.output, switch.routes)
        wiring.connect(m, wiring.flipped(self.piece), pieces.input)
        wiring.connect(m, pieces.output, switch.input)
        connect_width(m, "write_width", config.format.stream_bits, switch.output, writer.input)
        wiring.connect(m, writer.port, wiring.flipped(self.sink))

        note_outcome(m, "outcome", writer.outcome, outcomes.input)
        wiring.connect(m, outcomes.output, wiring.flipped(self.report.port))
        wiring.connect(m, ends.output, wiring.flipped(self.report.end))
        wiring.connect(m, verdicts.output, wiring.flipped(self.report.codec))
        error = switch.report.payload.error
        m.d.comb += [
            ends.input.valid.eq(writer.command.valid & writer.command.ready),
            ends.input.payload.eq(writer.end),
            switch.report.ready.eq(1),
            verdicts.input.valid.eq(switch.report.valid),
            verdicts.input.payload.literals.eq(switch.report.payload.literals),
            # The splitter gives no beat that is wrong in another way than by having no words.
            verdicts.input.payload.error.eq(Mux(error == Error.BEAT, Error.TRUNCATED, error)),
            self.report.next_place.eq(writer.outcome.address[: plan.place_bits]),
            switch.values.eq(self.values),
            writer.flush.eq(self.flush),
            # Which address is waited for is known without a note.
            writer.mark.eq(0),
            writer.ahead.eq(0),
            self.idle.eq(writer.idle),
            self.progress.eq(writer.progress),
            self.refused.eq(switch.refused),
        ]
        return m
