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
        if self.plan.shaped:
            expanded = self._without_padding(m, expanded)
        connect_width(m, "write_width", expanded.payload.shape().word_bits, expanded, writer.input)
        wiring.connect(m, writer.port, wiring.flipped(self.sink))
        wiring.connect(m, ends.output, wiring.flipped(self.report.end))
        taken = Signal()
        place = self.plan.place_bits
        if early_stripes(self.plan):
            m.submodules.next_stripe = ahead = Ahead(self.plan.in_flight)
            m.d.comb += [
                ahead.given.eq(self.stripe.valid),
                ahead.whole.eq(self._is_whole()),
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

    def _without_padding(self, m: Module, source: stream.Interface) -> stream.Interface:
        """The same packets, but those of padding without words."""
        m.submodules.padded = padded = self._queue(1)
        passed = stream.Signature(source.payload.shape()).create(path=("passed",))
        drops, last = padded.output.payload, source.payload.last
        m.d.comb += [
            padded.input.valid.eq(self.stripe.valid),
            padded.input.payload.eq(self.stripe.payload.padding),
            passed.payload.eq(source.payload),
            passed.valid.eq(source.valid & padded.output.valid & (~drops | last)),
            source.ready.eq(padded.output.valid & (passed.ready | (drops & ~last))),
            padded.output.ready.eq(source.valid & source.ready & last),
        ]
        with m.If(drops):
            m.d.comb += passed.payload.keep.eq(0)
        return passed

    def _error(self, error: Value) -> Value:
        # The splitter gives no beat that is wrong in another way than by having no words.
        return Mux(error == Error.BEAT, Error.TRUNCATED, error)

    def _is_whole(self) -> Value:
        """Whether a stripe has words for all of its memory."""
        stripe = self.stripe.payload
        whole = stripe.words == self.plan.stripe_words
        return whole & ~stripe.padding if self.plan.shaped else whole
