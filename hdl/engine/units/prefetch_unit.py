"""A unit of a prefetch channel: expands the piece of each of its stripes, and writes it at a device port of its own."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.engine.path.codec_switch import CodecSwitch
from cdma.hdl.engine.path.tail_cut import TailCut

from .ahead import Ahead, early_stripes
from .piece_buffer import PieceBuffer
from .plan import UnitPlan
from .unit import Unit

__all__ = ["PrefetchUnit"]


class PrefetchUnit(Unit):
    """Each packet at ``piece`` becomes the data of a stripe, and a report.

    ``piece``
        A packet for each stripe: for the codec, or raw words. One that the stream had no words left for is a single last
        beat without words, and its report is that the stream is truncated.
    ``sink``
        The AXI4 port.
    """

    def __init__(self, plan: UnitPlan, codec: wiring.Component) -> None:
        config, dev = plan.config, plan.dev
        members = {
            "piece": In(stream.Signature(Beat(config.format.stream_bits, config.codec.units))),
            "sink": Out(dev.write_port),
        }
        super().__init__(plan, codec, members, writes=True)

    def _stages(self, m: Module, switch: CodecSwitch, pieces: PieceBuffer) -> AxiWriter:
        m.submodules.pieces = pieces
        m.submodules.switch = switch
        m.submodules.writer = writer = AxiWriter(self.plan.unit_port)
        m.submodules.ends = ends = self._queue(self.report.end.payload.shape())
        wiring.connect(m, wiring.flipped(self.piece), pieces.input)
        wiring.connect(m, pieces.output, switch.input)
        config, stripe = self.plan.config, self.stripe
        expanded = switch.output
        if config.tail_bits:
            beat = expanded.payload.shape()
            m.submodules.cut = cut = TailCut(beat, config.tail_bits, self.plan.in_flight)
            wiring.connect(m, expanded, cut.input)
            m.d.comb += [cut.tails.valid.eq(stripe.valid), cut.tails.payload.eq(stripe.payload.tail)]
            expanded = cut.output
        connect_width(m, "write_width", expanded.payload.shape().word_bits, expanded, writer.input)
        wiring.connect(m, writer.port, wiring.flipped(self.sink))
        wiring.connect(m, ends.output, wiring.flipped(self.report.end))
        taken = Signal()
        place = self.plan.place_bits
        if early_stripes(self.plan):
            m.submodules.next_stripe = ahead = Ahead(self.plan.in_flight)
            m.d.comb += [
                ahead.given.eq(self.stripe.valid),
                ahead.whole.eq(self.stripe.payload.words == self.plan.stripe_words),
                ahead.busy.eq(writer.command.valid),
                ahead.taken.eq(taken),
                writer.ahead.eq(ahead.ahead),
            ]
        m.d.comb += [
            taken.eq(writer.command.valid & writer.command.ready),
            ends.input.valid.eq(taken),
            # The bit above the place differs from that of the stripe's own address if the whole stripe is written.
            ends.input.payload.eq(
                Cat(writer.end[:place], writer.end[place] ^ writer.command.payload.first[place])
            ),
        ]
        return writer

    def _error(self, error: Value) -> Value:
        # The splitter gives no beat that is wrong in another way than by having no words.
        return Mux(error == Error.BEAT, Error.TRUNCATED, error)
