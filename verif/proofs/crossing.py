"""A FIFO between two clocks, and its link: nothing lost, doubled or out of order, and each side may be reset alone."""

from __future__ import annotations

from amaranth.hdl import Assert, Cat, Cover, DomainRenamer, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import popcount
from cdma.hdl.blocks.clocks import AsyncFifo, Synchroniser
from cdma.hdl.blocks.queues import LinkEnd, join_ends

from .bench import Bench, fixed, free, last_cycle
from .free_clocks import FreeClocks
from .proof import REDUCED, Proof

__all__ = ["PROOFS", "Crossing", "Passage"]

#: Bits of an entry.
_BITS = 2
_WRITES, _READS = "write", "read"


class Passage(wiring.Component):
    """A FIFO with a link, whose sides may be reset.

    ``write_settles``, ``read_settles``
        A side has finished what is open.
    ``up``
        The writer, and the reader, let transfers pass.
    ``clears``
        They set their indices back.
    """

    def __init__(self, depth: int, fifo: type[AsyncFifo] = AsyncFifo) -> None:
        self.fifo = fifo(_BITS, depth, writes=_WRITES, reads=_READS)
        self.ends = [LinkEnd(), LinkEnd()]
        super().__init__(
            {
                "input": In(stream.Signature(_BITS)),
                "output": Out(stream.Signature(_BITS)),
                "settles": In(2),
                "up": Out(2),
                "clears": Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fifo = fifo = self.fifo
        for name, end in zip((_WRITES, _READS), self.ends, strict=True):
            m.submodules[f"{name}_end"] = DomainRenamer(name)(end)
        join_ends(m, *self.ends)
        writer, reader = self.ends
        m.d.comb += [
            Cat(end.settled for end in self.ends).eq(self.settles),
            self.up.eq(Cat(end.open for end in self.ends)),
            self.clears.eq(Cat(end.clear for end in self.ends)),
            fifo.write_clear.eq(writer.clear),
            fifo.read_clear.eq(reader.clear),
            fifo.input.valid.eq(self.input.valid & writer.open),
            fifo.input.payload.eq(self.input.payload),
            self.input.ready.eq(fifo.input.ready & writer.open),
            self.output.valid.eq(fifo.output.valid & reader.open),
            self.output.payload.eq(fifo.output.payload),
            fifo.output.ready.eq(self.output.ready & reader.open),
        ]
        return m


class Crossing(Bench):
    """A FIFO and its link on clocks that tick at any time, with a ghost that follows one entry, which may be any.

    ``resets``
        Each side is reset at any time, and takes any time to settle; or neither ever is.

    Ghost state: ``put`` and ``taken`` count entries since the writer, and the reader, have set their indices back. Of the
    entry that is followed, ``place`` is its number, ``age`` the edges of the reader since it went in, and ``gone`` is high
    once it has come out.
    """

    def __init__(self, passage: Passage, *, resets: bool) -> None:
        super().__init__()
        self.passage, self.resets = passage, resets
        self.most = passage.fifo.depth + 1

    def describe(self, m: Module) -> None:
        clocks, dut = FreeClocks(_WRITES, _READS), self.passage
        m.submodules.dut = clocks.built(dut)
        for name in (_WRITES, _READS):
            free(m, f"{name}_ticks", clocks.ticks[name])
            m.d.comb += clocks.resets[name].eq(free(m, f"{name}_resets") if self.resets else 0)
        for number, late in enumerate(clocks.late):
            free(m, f"late_{number}", late)
        for name, signal in (
            ("payload", dut.input.payload),
            ("valid", dut.input.valid),
            ("ready", dut.output.ready),
        ):
            free(m, name, signal)
        m.d.comb += dut.settles.eq(free(m, "settles", shape=2) if self.resets else 3)
        counts, clears = [], []
        for index, port in enumerate((dut.input, dut.output)):
            edge = clocks.ticks[(_WRITES, _READS)[index]]
            counts.append(count := Signal((2 * self.most + 2).bit_length(), name=f"count_{index}"))
            clears.append(clear := dut.clears[index] & edge)
            with m.If(clear):
                m.d.sync += count.eq(0)
            with m.Elif(port.valid & port.ready & edge):
                m.d.sync += count.eq(count + 1)
        self._follow(m, clocks, counts, clears[0])
        for number, seen in enumerate(clocks.inputs):
            before = last_cycle(m, seen, f"input_{number}")
            jumps = last_cycle(m, Cat(clears).any(), f"cleared_{number}")
            m.d.comb += Assert(jumps | (popcount(seen ^ before) <= 1))

    def _follow(self, m: Module, clocks: FreeClocks, counts: list[Signal], cleared: Value) -> None:
        dut, late = self.passage, 5
        entering, leaving = dut.input, dut.output
        put, taken = counts
        inside = (put - taken)[: len(put)]
        follow, entry = free(m, "follow"), fixed(m, "entry", _BITS)
        tracked, gone, again = Signal(), Signal(), Signal()
        place = Signal.like(put)
        age = Signal(range(late + 1))
        ticks = clocks.ticks
        due = tracked & (taken == place)
        with m.If(cleared):
            m.d.sync += [tracked.eq(0), again.eq(gone)]
        with (
            m.Elif(~tracked),
            m.If(follow & entering.valid & entering.ready & ticks[_WRITES] & (entering.payload == entry)),
        ):
            m.d.sync += [tracked.eq(1), gone.eq(0), place.eq(put), age.eq(0)]
        with m.Else():
            with m.If(ticks[_READS] & (age != late)):
                m.d.sync += age.eq(age + 1)
            with m.If(due & leaving.valid & leaving.ready & ticks[_READS]):
                m.d.sync += gone.eq(1)
            with m.If((put - place)[: len(put)] == 2 * self.most):
                m.d.sync += tracked.eq(0)
        m.d.comb += [
            Assert(~(entering.valid & entering.ready) | (inside < self.most)),
            Assert(~leaving.valid | ((inside != 0) & (inside <= self.most))),
            Assert(~(due & leaving.valid) | ((leaving.payload == entry) & ~gone)),
            Cover(gone & (entry == 1)),
            Cover(inside == self.most),
        ]
        if self.resets:
            m.d.comb += Cover(again & due & leaving.valid)
        else:
            m.d.comb += Assert(~(due & ~gone & (age == late)) | leaving.valid)


def _proof(depth: int, *, resets: bool) -> Proof:
    return Proof(
        name="crossing_resets" if resets else "crossing",
        config=f"depth {depth}",
        claim="between two clocks that tick at any time "
        + (
            "and are reset at any time, what comes out has gone in since, once, unchanged and in order"
            if resets
            else "nothing is lost, doubled or out of order, an entry comes out in time, and an index changes bit by bit"
        ),
        blocks=(AsyncFifo, LinkEnd, Synchroniser),
        bench=lambda: Crossing(Passage(depth), resets=resets),
        cover=40,
        prepare=REDUCED,
        quick=False,
    )


PROOFS = [_proof(2, resets=False), _proof(4, resets=False), _proof(2, resets=True)]
