"""A FIFO whose memory has one write port and one clocked, non-transparent read port."""

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["Fifo"]


class Fifo(wiring.Component):
    """``depth`` entries, a power of two, and one more in the read port's register.

    One transfer per cycle in and out; an entry that goes into an empty FIFO comes out two cycles later.
    ``ready`` of the input and ``valid`` of the output come from flip-flops, the payload from the memory's
    read register. There is always room for ``depth`` entries.

    ``reserved``
        Whoever writes keeps count and never has more than ``depth`` entries inside: ``ready`` is constantly
        high, and nothing is compared for it.
    ``empty``
        Nothing is inside, not even an entry that is not out yet.
    """

    def __init__(self, shape: ShapeLike, depth: int, *, reserved: bool = False) -> None:
        assert depth.bit_count() == 1, depth
        self.shape = shape
        self.depth = depth
        self.reserved = reserved
        super().__init__(
            {
                "input": In(stream.Signature(shape, always_ready=reserved)),
                "output": Out(stream.Signature(shape)),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        # One bit more than an address needs: full and empty differ in it alone.
        write_index = Signal(range(2 * self.depth))
        read_index = Signal(range(2 * self.depth))
        more = Signal()
        if not self.reserved:
            m.d.comb += self.input.ready.eq(write_index != read_index ^ self.depth)
        m.d.comb += [
            more.eq(write_index != read_index),
            write.addr.eq(write_index[: len(write.addr)]),
            write.data.eq(self.input.payload),
            write.en.eq(self.input.valid & self.input.ready),
            read.addr.eq(read_index[: len(read.addr)]),
            read.en.eq(more & (~self.output.valid | self.output.ready)),
            self.output.payload.eq(read.data),
            self.empty.eq(~more & ~self.output.valid),
        ]
        with m.If(write.en):
            m.d.sync += write_index.eq(write_index + 1)
        with m.If(read.en):
            m.d.sync += [read_index.eq(read_index + 1), self.output.valid.eq(1)]
        with m.Elif(self.output.ready):
            m.d.sync += self.output.valid.eq(0)
        return m
