"""Cuts commands into the bursts that carry them out, where it is known beforehand how much is moved."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .command import Command
from .port_shape import PortShape

__all__ = ["CutBurst", "Cutter"]


class CutBurst(data.StructLayout):
    """A burst: the number of its first beat in memory, its beats less one, and whether the packet has no other after it.
    Where commands may end within a beat, also the words that then fit in its last one, and where they may begin within one
    the ``lane`` of its first word. ``owner`` is the command's."""

    def __init__(self, shape: PortShape) -> None:
        super().__init__(
            {
                "beat": shape.address_bits - shape.blocks.beat_log2,
                "len": range(shape.burst),
                "end": 1,
                **({"words": range(shape.lanes + 1)} if shape.limited else {}),
                **({"lane": exact_log2(shape.lanes)} if shape.realign else {}),
                **({"owner": shape.owner_bits} if shape.owner_bits else {}),
            }
        )


class Cutter(wiring.Component):
    """Gives a burst per cycle, and none in the cycle in which a command comes.

    Where the shape is ``in_place`` any command may have a part of its first and of its last beat.

    ``command``
        Whole beats but for the first one of a packet; ``more`` says that the packet goes on with the next command.
    ``skip``
        The packet has ended: while high, the next burst of each command counts as its last one.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "command": In(stream.Signature(Command(shape.address_bits, "more", owner=shape.owner_bits))),
                "output": Out(stream.Signature(CutBurst(shape))),
                "skip": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        blocks = self.shape.blocks
        command, burst = self.command.payload, self.output.payload
        inside = Signal()
        block = Signal(blocks.block_bits, reset_less=True)
        following = Signal(blocks.block_bits + 1)
        wrapped = Signal()
        start = Signal(blocks.place_bits, reset_less=True)
        final = Signal()
        at_last = Signal()
        length = Signal(blocks.place_bits)
        m.d.comb += [
            at_last.eq(block == blocks.block(command.last)),
            final.eq(at_last | self.skip),
            following.eq(block + 1),
            self.output.valid.eq(inside),
            burst.beat.eq(blocks.beat(command.first, command.last, wrapped, block, start)),
            burst.len.eq(length),
            burst.end.eq(final & ~command.more),
            self.command.ready.eq(inside & self.output.ready & final),
            length.eq(self.shape.burst - 1 - start),
        ]
        if self.shape.owner_bits:
            m.d.comb += burst.owner.eq(command.owner)
        if self.shape.realign:
            first = Signal()
            with m.If(self.output.ready | ~inside):
                m.d.sync += first.eq(~inside)
            m.d.comb += burst.lane.eq(Mux(first, blocks.lane(command.first, self.shape.word_bits), 0))
        if self.shape.limited:
            word_log2 = self.shape.word_log2
            whole = command.last[:word_log2].all()
            m.d.comb += burst.words.eq(command.last[word_log2 : blocks.beat_log2] + whole)
        with m.If(at_last):
            m.d.comb += length.eq(blocks.place(command.last) - start)
        with m.If(~inside & self.command.valid):
            m.d.sync += [
                inside.eq(1),
                block.eq(blocks.block(command.first)),
                wrapped.eq(0),
                start.eq(blocks.place(command.first)),
            ]
        with m.Elif(self.output.valid & self.output.ready):
            m.d.sync += [
                inside.eq(~final),
                block.eq(following),
                wrapped.eq(wrapped | following[-1]),
                start.eq(0),
            ]
        return m
