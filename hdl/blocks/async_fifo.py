"""A FIFO between two clock domains."""

from amaranth.hdl import Cat, DomainRenamer, Module, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .synchroniser import Synchroniser

__all__ = ["AsyncFifo"]


class AsyncFifo(wiring.Component):
    """A FIFO of ``depth`` entries, a power of two, and one more in the register of its output.

    Each side has a Gray-coded index, of which one bit changes at a time, and sees the other's through a
    :class:`.Synchroniser`. An entry is in the memory for an edge before it is read.

    Throughput: with a depth of 8, one transfer per cycle of the slower clock. Latency: an entry that goes into an empty
    FIFO comes out at the third edge of the reader's clock after that of the writer, or at the fourth. The room of an entry
    is there again at the second edge of the writer's clock after that of the reader, or at the third.

    ``input``
        In the domain ``writes``.
    ``output``
        In the domain ``reads``; valid and payload come from flip-flops.
    ``write_clear``, ``read_clear``
        Empty a side and set its index back to 0. No reset does, because the other side may look at it; a
        :class:`.LinkEnd` says when it does not.
    """

    def __init__(self, shape: ShapeLike, depth: int, *, writes: str = "write", reads: str = "read") -> None:
        self.depth = depth
        self.writes, self.reads = writes, reads
        self.shape = shape
        super().__init__(
            {
                "input": In(stream.Signature(shape)),
                "output": Out(stream.Signature(shape)),
                "write_clear": In(1),
                "read_clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = memory.write_port(domain=self.writes), memory.read_port(domain="comb")
        offered = Signal.like(self.output.payload, reset_less=True)
        valid = Signal(reset_less=True)
        loads = Signal()
        write_at, written = self._index(m, self.writes, "write", write.en, self.write_clear)
        read_at, taken = self._index(m, self.reads, "read", loads, self.read_clear)
        seen_written = self._seen(m, "written", written, self.reads)
        seen_taken = self._seen(m, "taken", taken, self.writes)
        m.d.comb += [
            # Full: a whole turn ahead, which inverts the upper two bits of a Gray code.
            self.input.ready.eq(written != Cat(seen_taken[:-2], ~seen_taken[-2:])),
            write.en.eq(self.input.valid & self.input.ready),
            write.addr.eq(write_at),
            write.data.eq(self.input.payload),
            read.addr.eq(read_at),
            loads.eq((taken != seen_written) & (~valid | self.output.ready)),
            self.output.valid.eq(valid),
            self.output.payload.eq(offered),
        ]
        with m.If(loads):
            m.d[self.reads] += offered.eq(read.data)
        m.d[self.reads] += valid.eq((loads | (valid & ~self.output.ready)) & ~self.read_clear)
        return m

    def _index(self, m: Module, domain: str, name: str, steps: Value, clear: Value) -> tuple[Signal, Signal]:
        """A side's place in the memory, and its index as the other side sees it."""
        bits = exact_log2(self.depth) + 1
        index = Signal(bits, name=f"{name}_index", reset_less=True)
        gray = Signal(bits, name=f"{name}_gray", reset_less=True)
        following = (index + 1)[:bits]
        with m.If(clear):
            m.d[domain] += [index.eq(0), gray.eq(0)]
        with m.Elif(steps):
            m.d[domain] += [index.eq(following), gray.eq(following ^ (following >> 1))]
        return index[:-1], gray

    def _seen(self, m: Module, name: str, gray: Signal, domain: str) -> Signal:
        """The index of the other side."""
        seen = Synchroniser(len(gray))
        m.submodules[f"{name}_seen"] = DomainRenamer(domain)(seen)
        m.d.comb += seen.input.eq(gray)
        return seen.output
