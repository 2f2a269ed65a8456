"""Leaves out of the last word of packets what is not meant of it."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.fifo import Fifo

from .byte_beats import cut_word
from .tails import bytes_kept

__all__ = ["TailCut"]


class TailCut(wiring.Component):
    """Passes packets of words, or of bytes of whole words, on as packets of bytes, within the cycle.

    ``tails``
        The bytes that are meant of the last word of each packet, 0 for all: of at most ``packets`` that have not left. The
        last beat of a packet waits for it.
    """

    def __init__(self, source: Beat, tail_bits: int, packets: int) -> None:
        self.packets = packets
        lanes = source.word_bits * source.lanes // 8
        super().__init__(
            {
                "tails": In(stream.Signature(tail_bits, always_ready=True)),
                "input": In(stream.Signature(source)),
                "output": Out(stream.Signature(Beat(8, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.waiting = waiting = Fifo(self.tails.payload.shape(), self.packets, reserved=True)
        wiring.connect(m, wiring.flipped(self.tails), waiting.input)
        tail, last = waiting.output, self.input.payload.last
        known = Signal()
        cut_word(m, self.input.payload, self.output.payload, bytes_kept(tail.payload))
        m.d.comb += [
            # A long packet's tail may come after many of its beats.
            known.eq(tail.valid | ~last),
            self.output.valid.eq(self.input.valid & known),
            self.input.ready.eq(self.output.ready & known),
            tail.ready.eq(self.input.valid & self.output.ready & last),
        ]
        return m
