"""A unit of an offload channel: reads its stripes at a device port of its own, and compresses each."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out

from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.engine.path.codec_switch import CodecSwitch
from cdma.hdl.engine.path.recount import counted_in

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
        words = counted_in(m, "read_words", reader.output, word_bits)
        connect_width(m, "read_width", word_bits, words, switch.input)
        wiring.connect(m, switch.output, pieces.input)
        wiring.connect(m, pieces.output, wiring.flipped(self.piece))
        return reader
