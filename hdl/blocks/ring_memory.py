"""A memory whose entries are written and read in turn, round and round."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream
from amaranth.lib.memory import Memory

from .coded_memory import DataMemory, MemoryCoding
from .memory_styles import BLOCK_RAM

__all__ = ["RingMemory"]


class RingMemory:
    """What the queues in memories share; adds to the module ``m`` of the queue.

    ``depth``
        Number of entries, a power of two.
    ``block_ram``
        Puts the memory into an FPGA's block RAM.
    ``of_data``
        The memory is a :class:`.DataMemory`. With a ``platform`` that codes memories a lost entry is zeros, so that
        nothing of it is written.
    ``write``, ``read``
        Ports of the memory. The read port is clocked and not transparent.
    ``reads``
        Pulse: reads an entry, so that the queue goes on to the next one.
    ``write_index``, ``read_index``
        Registers of the next entry to write and to read, which the queue advances. They have one bit more than an
        address: a full memory and an empty one differ in that bit alone.
    """

    def __init__(
        self,
        m: Module,
        shape: ShapeLike,
        depth: int,
        *,
        block_ram: bool = False,
        of_data: bool = False,
        platform: object = None,
    ) -> None:
        assert depth.bit_count() == 1, depth
        m.submodules.memory = memory = (DataMemory if of_data else Memory)(
            shape=shape, depth=depth, init=[], attrs=BLOCK_RAM if block_ram else {}
        )
        write, read = memory.write_port(), memory.read_port(domain="sync")
        self.write, self.read = write, read
        self._lost = platform.line(memory) if of_data and isinstance(platform, MemoryCoding) else None
        self.reads = Signal()
        self.write_index = Signal(range(2 * depth))
        self.read_index = Signal(range(2 * depth))

    def connect(
        self,
        m: Module,
        source: stream.Interface,
        sink: stream.Interface,
        more: Value,
        loads: Value | None = None,
    ) -> None:
        """Writes what ``source`` transfers, and, while there is ``more``, reads ahead for ``sink``.

        The register of the read port is the payload of ``sink``. It loads when an entry is read, or when ``loads`` says so:
        then and, in vain, while ``sink`` has nothing.
        """
        m.d.comb += [
            self.write.addr.eq(self.write_index[: len(self.write.addr)]),
            self.write.data.eq(source.payload),
            self.write.en.eq(source.valid & source.ready),
            self.read.addr.eq(self.read_index[: len(self.read.addr)]),
            self.reads.eq(more & (~sink.valid | sink.ready)),
            self.read.en.eq(self.reads if loads is None else loads),
            sink.payload.eq(self._given()),
        ]

    def _given(self) -> Value:
        """What is read."""
        if self._lost is None:
            return self.read.data
        return Mux(self._lost, 0, Value.cast(self.read.data))
