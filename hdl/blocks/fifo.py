"""A FIFO in a memory with one write port and one clocked, non-transparent read port."""

from amaranth.hdl import Module, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .counter import WideCounter
from .ring_memory import RingMemory

__all__ = ["Fifo"]


class Fifo(wiring.Component):
    """A FIFO of ``depth`` entries, a power of two, and one more in the register of the read port.

    Throughput: one transfer per cycle in and out. Latency: an entry that goes into an empty FIFO comes out two cycles
    later. ``ready`` of the input and ``valid`` of the output come from flip-flops, the payload from the register of
    the read port. The FIFO always takes ``depth`` entries.

    ``reserved``
        Promises that the writer counts and never has more than ``depth`` entries inside: ``ready`` is constantly
        high, and nothing is compared for it.
    ``apart``
        Compares the indices for each write nevertheless. Synthesis then sees that no entry is written while it is read,
        and puts no logic around an FPGA's block RAM for that case.
    ``late_valid``, ``late_ready``
        ``valid`` of the input, or ``ready`` of the output, may come late in the cycle: counting up the index after it
        takes little logic, and a few flip-flops more.
    ``empty``
        Is high while no entry is inside, not even one that has not come out yet.
    ``level``
        Number of entries, of which the one at the output is none.
    """

    def __init__(
        self,
        shape: ShapeLike,
        depth: int,
        *,
        reserved: bool = False,
        apart: bool = False,
        late_valid: bool = False,
        late_ready: bool = False,
    ) -> None:
        self.shape = shape
        self.depth = depth
        self.reserved = reserved
        self.apart = apart
        self.late_valid = late_valid
        self.late_ready = late_ready
        super().__init__(
            {
                "input": In(stream.Signature(shape, always_ready=reserved)),
                "output": Out(stream.Signature(shape)),
                "empty": Out(1),
                "level": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ring = RingMemory(m, self.shape, self.depth)
        more = Signal()
        free = ring.write_index != ring.read_index ^ self.depth
        if not self.reserved:
            m.d.comb += self.input.ready.eq(free)
        m.d.comb += more.eq(ring.write_index != ring.read_index)
        ring.connect(m, self.input, self.output, more)
        if self.apart:
            m.d.comb += ring.write.en.eq(self.input.valid & free)
        m.d.comb += [
            self.level.eq(ring.write_index - ring.read_index),
            self.empty.eq(~more & ~self.output.valid),
        ]
        self._count(m, "written", ring.write_index, ring.write.en, late=self.late_valid)
        self._count(m, "taken", ring.read_index, ring.read.en, late=self.late_ready)
        with m.If(ring.read.en):
            m.d.sync += self.output.valid.eq(1)
        with m.Elif(self.output.ready):
            m.d.sync += self.output.valid.eq(0)
        return m

    def _count(self, m: Module, name: str, index: Signal, enable: Value, *, late: bool) -> None:
        """Counts an index up in each cycle in which ``enable`` is high; a short index has no long carry."""
        if late and len(index) > 4:
            m.submodules[name] = counter = WideCounter(1, len(index), lookahead=True)
            m.d.comb += [counter.amount.eq(enable), index.eq(counter.value)]
        else:
            with m.If(enable):
                m.d.sync += index.eq(index + 1)
