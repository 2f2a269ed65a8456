"""A queue in a memory, made for FPGAs."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["MemoryQueue", "Room"]


class MemoryQueue(wiring.Component):
    """``depth`` entries, a power of two; whoever writes keeps count of them, with a :class:`Room`.

    One transfer per cycle in and out; an entry comes out three cycles after it went in. Whether there is one to read
    is found in the cycle before, so that the output's ``ready`` has little to pass.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        assert depth.bit_count() == 1, depth
        self.shape = shape
        self.depth = depth
        super().__init__(
            {"input": In(stream.Signature(shape, always_ready=True)), "output": Out(stream.Signature(shape))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        # One bit more than an address needs: full and empty differ in it alone.
        write_index = Signal(range(2 * self.depth))
        read_index = Signal(range(2 * self.depth))
        next_index = Signal(range(2 * self.depth), init=1)
        more = Signal()
        m.d.comb += [
            write.addr.eq(write_index[: len(write.addr)]),
            write.data.eq(self.input.payload),
            write.en.eq(self.input.valid),
            read.addr.eq(read_index[: len(read.addr)]),
            read.en.eq(more & (~self.output.valid | self.output.ready)),
            self.output.payload.eq(read.data),
        ]
        m.d.sync += [
            write_index.eq(write_index + write.en),
            more.eq(Mux(read.en, write_index != next_index, write_index != read_index)),
            self.output.valid.eq(read.en | (self.output.valid & ~self.output.ready)),
        ]
        with m.If(read.en):
            m.d.sync += [read_index.eq(next_index), next_index.eq(next_index + 1)]
        return m


class Room(wiring.Component):
    """Counts free places, of ``places`` at first; up to ``most`` may be taken in a cycle, and one given back.

    ``there`` is a register, and knows of the last two cycles nothing: it keeps so many places back.
    """

    def __init__(self, places: int, most: int = 1) -> None:
        assert places > 3 * most, (places, most)
        self.places = places
        self.most = most
        super().__init__({"taken": In(range(most + 1)), "given": In(1), "there": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        taken = Signal.like(self.taken)
        given = Signal()
        free = Signal(range(self.places + 1), init=self.places)
        m.d.sync += [
            taken.eq(self.taken),
            given.eq(self.given),
            free.eq(free - taken + given),
            self.there.eq(free >= 3 * self.most),
        ]
        return m
