"""A memory port in another clock domain than the engine."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import DomainRenamer, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.async_fifo import AsyncFifo
from cdma.hdl.blocks.link_end import LinkEnd, join_ends

from .answering import Answering
from .finishing import Finishing
from .ports import ReadPort, WritePort

__all__ = ["PortCrossing"]

#: Entries of the FIFOs of data, which keep the rate of the slower clock, and of the others.
_DATA, _FEW = 8, 4


class PortCrossing(wiring.Component):
    """Takes the five channels of AXI4 to another clock domain; either domain may be reset alone.

    ``read``, ``write``
        The engine, in the domain ``sync``.
    ``bus_read``, ``bus_write``
        The bus, in the domain ``bus``. All outputs come from flip-flops or pass a gate after them.
    ``linked``
        Low while one of both is lost, and may have something open that the other one has not.
    ``ids``, ``most``
        See :class:`.Answering`.
    """

    def __init__(self, read: ReadPort, write: WritePort, ids: Sequence[int], most: int, *, bus: str) -> None:
        self.shapes = read, write
        self.ids, self.most, self.bus = ids, most, bus
        super().__init__(
            {
                "read": In(read),
                "write": In(write),
                "bus_read": Out(read),
                "bus_write": Out(write),
                "linked": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        near = Answering(*self.shapes, self.ids, self.most)
        far = Finishing(*self.shapes, self.most * len(self.ids))
        here, there = LinkEnd(), LinkEnd()
        m.submodules.answering, m.submodules.core_end = near, here
        m.submodules.finishing = DomainRenamer(self.bus)(far)
        m.submodules.bus_end = DomainRenamer(self.bus)(there)
        join_ends(m, here, there)
        m.d.comb += self.linked.eq(here.open)
        for end, side in ((here, near), (there, far)):
            m.d.comb += [side.open.eq(end.open), end.settled.eq(side.settled)]
        wiring.connect(m, wiring.flipped(self.read), near.read)
        wiring.connect(m, wiring.flipped(self.write), near.write)
        wiring.connect(m, far.bus_read, wiring.flipped(self.bus_read))
        wiring.connect(m, far.bus_write, wiring.flipped(self.bus_write))
        for name, source, sink, depth in (
            ("ar", near.far_read.ar, far.read.ar, _FEW),
            ("aw", near.far_write.aw, far.write.aw, _FEW),
            ("w", near.far_write.w, far.write.w, _DATA),
            ("r", far.read.r, near.far_read.r, _DATA),
            ("b", far.write.b, near.far_write.b, _FEW),
        ):
            leaves = name in ("ar", "aw", "w")
            writes, reads = ("sync", self.bus) if leaves else (self.bus, "sync")
            writer, reader = (here, there) if leaves else (there, here)
            fifo = AsyncFifo(source.payload.shape(), depth, writes=writes, reads=reads)
            m.submodules[name] = fifo
            m.d.comb += [fifo.write_clear.eq(writer.clear), fifo.read_clear.eq(reader.clear)]
            wiring.connect(m, source, fifo.input)
            wiring.connect(m, fifo.output, sink)
        return m
