"""A queue in a memory, made for FPGAs."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .coded_memory import MemoryCoding
from .ring_memory import RingMemory

__all__ = ["MemoryQueue"]


class MemoryQueue(wiring.Component):
    """A queue of ``depth`` entries, a power of two, whose writer counts them, for example with a :class:`Credit`.

    Throughput: one transfer per cycle in and out. Latency: an entry comes out three cycles after it went in.

    A :class:`Fifo` is a cycle faster, but compares its indices between ``ready`` of the output and the memory. Here
    they are compared a cycle ahead, so that ``ready`` passes through little logic: an FPGA's clock needs that.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self.shape = shape
        self.depth = depth
        super().__init__(
            {"input": In(stream.Signature(shape, always_ready=True)), "output": Out(stream.Signature(shape))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ring = RingMemory(m, self.shape, self.depth)
        next_index = Signal(range(2 * self.depth), init=1)
        more = Signal()
        #: As ``valid`` of the output, for all bits of an entry, which on an FPGA are far from the indices. It depends on
        #: itself, so that synthesis does not make one of both.
        loaded = Signal()
        # Where words have checks nothing is read in vain: a word that nobody wrote may be a lost one.
        loads = None if isinstance(platform, MemoryCoding) else ~loaded | self.output.ready
        ring.connect(m, self.input, self.output, more, loads)
        m.d.sync += [
            ring.write_index.eq(ring.write_index + ring.write.en),
            more.eq(Mux(ring.reads, ring.write_index != next_index, ring.write_index != ring.read_index)),
            self.output.valid.eq(ring.reads | (self.output.valid & ~self.output.ready)),
            loaded.eq(ring.reads | (loaded & ~self.output.ready)),
        ]
        with m.If(ring.reads):
            m.d.sync += [ring.read_index.eq(next_index), next_index.eq(next_index + 1)]
        return m
