"""A unit of an offload channel: reads its stripes at a device port of its own, and compresses each."""

from amaranth.hdl import Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.engine.path.codec_switch import CodecSwitch
from cdma.hdl.engine.path.recount import counted_in
from cdma.hdl.engine.shapes.padding import Filler, frequent_fill

from .piece_buffer import PieceBuffer
from .plan import UnitPlan
from .unit import Unit

__all__ = ["OffloadUnit"]


class OffloadUnit(Unit):
    """Each stripe becomes a packet at ``piece``, and a report.

    Reads go ahead as far as the reader's buffer has room, and what is compressed as far as the buffer of the pieces has.

    ``piece``
        What the codec makes of each stripe, or the raw words.
    ``source``
        The AXI4 port.
    """

    def __init__(self, plan: UnitPlan, codec: wiring.Component) -> None:
        config, dev = plan.config, plan.dev
        members = {
            "piece": Out(stream.Signature(Beat(config.format.stream_bits, config.codec.units))),
            "source": Out(dev.read_port),
        }
        super().__init__(plan, codec, members, writes=False)

    def _stages(self, m: Module, switch: CodecSwitch, pieces: PieceBuffer) -> AxiReader:
        m.submodules.reader = reader = AxiReader(self.plan.unit_port)
        m.submodules.switch = switch
        m.submodules.pieces = pieces
        wiring.connect(m, reader.port, wiring.flipped(self.source))
        word_bits = self.plan.config.format.stream_bits
        source = self._filled(m, reader.output) if self.plan.shaped else reader.output
        words = counted_in(m, "read_words", source, word_bits)
        connect_width(m, "read_width", word_bits, words, switch.input)
        wiring.connect(m, switch.output, pieces.input)
        wiring.connect(m, pieces.output, wiring.flipped(self.piece))
        return reader

    def _asks(self) -> Value:
        asks = self.stripe.valid
        return asks & ~self.stripe.payload.padding if self.plan.shaped else asks

    def _filled(self, m: Module, source: stream.Interface) -> stream.Interface:
        """What is read, and padding as packets of their own."""
        stripe, beat = self.stripe.payload, source.payload.shape()
        fill = frequent_fill(self.plan.config, self.values)
        m.submodules.filler = filler = Filler(beat.word_bits, beat.lanes, fill_bits=len(fill))
        beats = stripe.words >> exact_log2(self.plan.dev.data_bits // self.plan.config.format.word_bits)
        m.submodules.packets = packets = self._queue(
            data.StructLayout({"padding": 1, "frequent": 1, "beats": len(beats)})
        )
        m.d.comb += [
            packets.input.valid.eq(self.stripe.valid),
            packets.input.payload.padding.eq(stripe.padding),
            packets.input.payload.frequent.eq(~stripe.raw & ~stripe.zeros),
            packets.input.payload.beats.eq(beats - 1),
            filler.segments.valid.eq(packets.output.valid),
            packets.output.ready.eq(filler.segments.ready),
            filler.segments.payload.whole.eq(~packets.output.payload.padding),
            filler.segments.payload.padding.eq(packets.output.payload.padding),
            filler.segments.payload.last.eq(1),
            filler.segments.payload.frequent.eq(packets.output.payload.frequent),
            filler.segments.payload.beats.eq(packets.output.payload.beats),
            filler.fill.eq(fill),
        ]
        wiring.connect(m, source, filler.input)
        return filler.output
