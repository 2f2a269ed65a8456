"""Beats in a memory, of which two neighbours are written at once, some lanes of each."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.gates import thermometer

__all__ = ["BeatFill"]


class BeatFill(wiring.Component):
    """A queue of beats that is written across the border of two: the one that is *filled* and the *next* one.

    There is a memory for each lane, with an address of its own for writing. So words that wait until their beat is full
    take no register, and what is full takes none on its way out.

    ``words``
        A word for each lane.
    ``write``
        Writes all lanes in this cycle; not unless ``ready`` is high.
    ``below``
        Lanes that are written to the next beat, the others to the one that is filled. A lane may be written again until its
        beat is done.
    ``done``, ``end``
        With ``write``: the beat that is filled is complete, and the next one becomes the one that is filled; how many words
        it has, and whether it ends its packet.
    ``ready``
        There is room for both beats. It comes from a register, which does not know yet what was done in the cycle before.
    ``output``
        The beats that are done. Throughput: one per cycle. Latency: two cycles, as of a :class:`.Fifo`. ``valid`` and the
        words come from registers.
    """

    #: Beats in the memory. After a pause of the output there are enough of them until ``ready`` has made room for more.
    DEPTH = 8

    def __init__(self, word_bits: int, lanes: int) -> None:
        self.beat = Beat(word_bits, lanes)
        self.end_shape = data.StructLayout({"count": range(lanes + 1), "last": 1})
        super().__init__(
            {
                "words": In(self.beat["data"].shape),
                "write": In(1),
                "below": In(lanes),
                "done": In(1),
                "end": In(self.end_shape),
                "ready": Out(1),
                "output": Out(stream.Signature(self.beat)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        out = self.output
        # One bit more than an address: a full memory and an empty one differ in that bit alone.
        filled = Signal(range(2 * self.DEPTH))
        following = Signal.like(filled, init=1)
        read = Signal.like(filled)
        reads = Signal()
        level = Signal.like(filled)
        m.d.comb += [
            level.eq(filled - read),
            reads.eq((filled != read) & (~out.valid | out.ready)),
        ]
        # One beat more may be done by now, and two are written.
        m.d.sync += self.ready.eq(level <= self.DEPTH - 3)
        with m.If(self.write & self.done):
            m.d.sync += [filled.eq(following), following.eq(following + 1)]
        with m.If(reads):
            m.d.sync += [read.eq(read + 1), out.valid.eq(1)]
        with m.Elif(out.ready):
            m.d.sync += out.valid.eq(0)

        lanes = [Mux(self.below[lane], following, filled) for lane in range(self.beat.lanes)]
        for lane, place in enumerate(lanes):
            self._memory(m, f"lane_{lane}", place, self.words[lane], read, reads, out.payload.data[lane])
        end = Signal(self.end_shape)
        self._memory(m, "ends", filled, Value.cast(self.end), read, reads, Value.cast(end))
        m.d.comb += [
            out.payload.keep.eq(thermometer(end.count, self.beat.lanes)),
            out.payload.last.eq(end.last),
        ]
        return m

    def _memory(
        self, m: Module, name: str, place: Value, source: Value, read: Value, reads: Value, sink: Value
    ) -> None:
        """Adds a memory that is written in each cycle in which lanes are."""
        m.submodules[name] = memory = Memory(shape=len(source), depth=self.DEPTH, init=[])
        write_port, read_port = memory.write_port(), memory.read_port(domain="sync")
        m.d.comb += [
            write_port.addr.eq(place[: len(write_port.addr)]),
            write_port.data.eq(source),
            write_port.en.eq(self.write),
            read_port.addr.eq(read[: len(read_port.addr)]),
            read_port.en.eq(reads),
            sink.eq(read_port.data),
        ]
