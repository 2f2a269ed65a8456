"""A FIFO in a memory with one write port and one clocked, non-transparent read port."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
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
        The writer counts its entries, and never has more than ``depth`` inside: ``ready`` is constantly high.
    ``pipelined``
        The memory is block RAM of an FPGA, which is slow. An output register follows its read port: one more entry, and one
        more cycle of latency. Such a FIFO is ``ahead`` as well.
    ``ahead``
        The indices are compared a cycle ahead, for a further cycle of latency. A transfer per cycle takes a depth of four.
    ``late_valid``, ``late_ready``
        ``valid`` of the input, or ``ready`` of the output, may arrive late in the cycle: its index is a
        :class:`.WideCounter`, which takes a few flip-flops more.
    ``of_data``
        Its memory is a :class:`.DataMemory`.
    ``empty``
        High while there is no entry, neither in the memory nor in the registers after it.
    ``level``
        Number of entries in the memory.
    """

    def __init__(
        self,
        shape: ShapeLike,
        depth: int,
        *,
        reserved: bool = False,
        pipelined: bool = False,
        ahead: bool = False,
        late_valid: bool = False,
        late_ready: bool = False,
        of_data: bool = False,
    ) -> None:
        self.shape = shape
        self.depth = depth
        self.reserved = reserved
        self.pipelined = pipelined
        self.ahead = ahead or pipelined
        self.late_valid = late_valid
        self.late_ready = late_ready
        self.of_data = of_data
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
        ring = RingMemory(
            m, self.shape, self.depth, block_ram=self.pipelined, of_data=self.of_data, platform=platform
        )
        read = self._leave(m)
        more = Signal()
        if not self.reserved:
            m.d.comb += self.input.ready.eq(ring.write_index != ring.read_index ^ self.depth)
        some = ring.write_index != ring.read_index
        if self.ahead:
            self._look_ahead(m, ring, more)
        else:
            m.d.comb += more.eq(some)
        ring.connect(m, self.input, read, more)
        m.d.comb += [
            self.level.eq(ring.write_index - ring.read_index),
            self.empty.eq(~some & ~read.valid & ~self.output.valid),
        ]
        self._count(m, "written", ring.write_index, ring.write.en, late=self.late_valid)
        self._count(m, "taken", ring.read_index, ring.reads, late=self.late_ready)
        with m.If(ring.reads):
            m.d.sync += read.valid.eq(1)
        with m.Elif(read.ready):
            m.d.sync += read.valid.eq(0)
        return m

    def _look_ahead(self, m: Module, ring: RingMemory, more: Signal) -> None:
        """Compares the indices a cycle ahead, so that ``ready`` passes little logic on its way to the memory."""
        next_index = Signal.like(ring.read_index, init=1)
        with m.If(ring.reads):
            m.d.sync += next_index.eq(next_index + 1)
        m.d.sync += more.eq(
            Mux(ring.reads, ring.write_index != next_index, ring.write_index != ring.read_index)
        )

    def _count(self, m: Module, name: str, index: Signal, enable: Value, *, late: bool) -> None:
        """Counts an index up in each cycle in which ``enable`` is high; a short index has no long carry."""
        if late and len(index) > 4:
            m.submodules[name] = counter = WideCounter(1, len(index), pipelined=True)
            m.d.comb += [counter.amount.eq(enable), index.eq(counter.value)]
        else:
            with m.If(enable):
                m.d.sync += index.eq(index + 1)

    def _leave(self, m: Module) -> stream.Interface:
        """What comes from the memory: the output, or what goes to the register before it."""
        if not self.pipelined:
            return self.output
        read = stream.Signature(self.shape).create(path=("read",))
        # Without a reset, so that it can be the output register of a block RAM.
        leaving = Signal(self.shape, reset_less=True)
        m.d.comb += [read.ready.eq(~self.output.valid | self.output.ready), self.output.payload.eq(leaving)]
        with m.If(read.ready):
            m.d.sync += [self.output.valid.eq(read.valid), leaving.eq(read.payload)]
        return read
