"""Beats in a memory, of which two neighbours are read at once, some lanes of each."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["BeatStore"]


class BeatStore(wiring.Component):
    """A queue of beats that is read across the border of two: the *held* beat and the *next* one.

    There is a memory for each lane, with an address of its own. So a beat that is made of two costs no register for one of
    them, and no multiplexer for words.

    ``input``
        Words of beats, of which ``depth - 1`` can be inside besides the held one. ``depth`` is a power of two. ``ready``
        comes from a register, which does not know yet whether the held beat leaves in the cycle before.
    ``full``
        Complement of ``ready``, from a register of its own: the other one writes the memories of all lanes, and what else
        depends on it would wait for those wires.
    ``read``
        Reads all lanes in this cycle.
    ``below``
        Lanes that are read from the next beat, the others from the held one.
    ``take``
        The next beat becomes the held one; what is read in this cycle does not depend on it.
    ``words``
        What was read, in the next cycle, and until ``read`` is high again.
    """

    def __init__(self, bits: int, lanes: int, depth: int) -> None:
        assert depth.bit_count() == 1, depth
        self.bits = bits
        self.lanes = lanes
        self.depth = depth
        words = data.ArrayLayout(bits, lanes)
        super().__init__(
            {
                "input": In(stream.Signature(words)),
                "full": Out(1, init=1),
                "read": In(1),
                "below": In(lanes),
                "take": In(1),
                "words": Out(words),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # One bit more than an address: a full memory and an empty one differ in that bit alone.
        write = Signal(range(2 * self.depth))
        following = Signal.like(write)
        held = Signal.like(write, init=-1)
        writes = Signal()
        m.d.comb += writes.eq(self.input.valid & self.input.ready)
        after_write = Signal.like(write, init=1)
        room = Signal()
        limit = held ^ self.depth
        m.d.comb += room.eq(Mux(writes, after_write != limit, write != limit))
        m.d.sync += [self.input.ready.eq(room), self.full.eq(~room)]
        with m.If(writes):
            m.d.sync += [write.eq(after_write), after_write.eq(after_write + 1)]
        with m.If(self.take):
            m.d.sync += [held.eq(following), following.eq(following + 1)]
        for lane in range(self.lanes):
            m.submodules[f"lane_{lane}"] = memory = Memory(shape=self.bits, depth=self.depth, init=[])
            write_port, read_port = memory.write_port(), memory.read_port(domain="sync")
            m.d.comb += [
                write_port.addr.eq(write[: len(write_port.addr)]),
                write_port.data.eq(self.input.payload[lane]),
                # What is here without being valid is written over. So this register alone drives the memories of all lanes.
                write_port.en.eq(self.input.ready),
                read_port.addr.eq(Mux(self.below[lane], following, held)[: len(read_port.addr)]),
                read_port.en.eq(self.read),
                self.words[lane].eq(read_port.data),
            ]
        return m
