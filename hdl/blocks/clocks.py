"""Clock domains: gates of clocks, resets, and crossings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    DomainRenamer,
    Elaboratable,
    Instance,
    Module,
    Mux,
    ResetInserter,
    ResetSignal,
    ShapeLike,
    Signal,
    Value,
)
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2


class Synchroniser(wiring.Component):
    """Two flip-flops in a row, without a reset, in a module that a cell of a library can replace.

    A platform with ``get_synchroniser`` builds it instead.

    ``input``: From flip-flops of another clock domain: a level, or a count of which one bit changes at a time.
    ``output``: The input at the edge before the last one; a change at an edge may come an edge later.
    """

    def __init__(self, bits: int = 1) -> None:
        self.bits = bits
        super().__init__({"input": In(bits), "output": Out(bits)})

    def elaborate(self, platform: object) -> Elaboratable:
        if hasattr(platform, "get_synchroniser"):
            built: Elaboratable = platform.get_synchroniser(self)
            return built
        m = Module()
        first, second = (Signal(self.bits, name=name, reset_less=True) for name in ("first", "second"))
        m.d.sync += [first.eq(self.input), second.eq(first)]
        m.d.comb += self.output.eq(second)
        return m


_Component = TypeVar("_Component", bound=Elaboratable)


class Clocking:
    """The clock and the resets of the parts of a design. Here all have the clock of the design, and a clear of parts is a
    gate of two resets, whose output reaches all flip-flops of a part in the same cycle: on an FPGA the longest net."""

    #: A clear of parts begins a cycle later and ends two cycles later.
    staged = False

    def cleared(
        self, m: Module, name: str, component: _Component, clear: Value, *, whole: bool = False
    ) -> _Component:
        """The ``component`` as a submodule that is reset by ``clear`` too; ``whole`` with parts whose clock is gated."""
        return ResetInserter(clear)(component)

    def gated(
        self,
        m: Module,
        name: str,
        component: _Component,
        active: Callable[[], Value],
        settling: int,
        *,
        clear: Value | None = None,
        local: bool = True,
    ) -> _Component:
        """The ``component`` as a submodule whose clock may stop unless it is ``active``, for ``settling`` cycles after that,
        and in reset. In other cycles its state must not change. It is reset by ``clear`` too. Other components may be in
        the domain of that ``name``, unless it is ``local``."""
        return component if clear is None else self.cleared(m, name, component, clear)

    def beside(self, name: str, component: _Component) -> _Component:
        """A ``component`` in the domain of that ``name``, which is one of :meth:`gated`."""
        return component


PLAIN_CLOCK = Clocking()


class StagedResets(Clocking):
    """Each part is reset by a flip-flop of its own, for an FPGA, in a clock domain with the part's name.

    ``clock``: The clock of the design.
    """

    staged = True

    def __init__(self, clock: Signal) -> None:
        self.clock = clock

    def cleared(
        self, m: Module, name: str, component: _Component, clear: Value, *, whole: bool = False
    ) -> _Component:
        domain = ClockDomain(name, local=True)
        domain.clk = self.clock
        cleared = Signal(name=f"{name}_cleared", init=1)
        before = Signal(name=f"{name}_clear_before", init=1)
        # It depends on itself, because synthesis merges equal flip-flops.
        m.d.sync += [before.eq(clear), cleared.eq(clear | (before & cleared))]
        m.d.comb += domain.rst.eq(cleared)
        m.domains += domain
        return DomainRenamer(name)(component)


class ClockGates(Clocking):
    """Gated clocks, each by an instance of the cell ``kind``; all run while ``scan_enable`` is high."""

    def __init__(self, kind: str, scan_enable: Value) -> None:
        self.kind = kind
        self.scan_enable = scan_enable

    def cleared(
        self, m: Module, name: str, component: _Component, clear: Value, *, whole: bool = False
    ) -> _Component:
        if not whole:
            return super().cleared(m, name, component, clear)
        domain = ClockDomain(name, local=True)
        domain.clk, domain.rst = Signal(name="aclk"), Signal(name="rst")
        m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal() | clear)]
        m.domains += domain
        return DomainRenamer(name)(component)

    def gated(
        self,
        m: Module,
        name: str,
        component: _Component,
        active: Callable[[], Value],
        settling: int,
        *,
        clear: Value | None = None,
        local: bool = True,
    ) -> _Component:
        works = active()
        reset = ResetSignal() if clear is None else ResetSignal() | clear
        runs = Signal(name=f"{name}_runs")
        left = Signal(range(settling + 1), name=f"{name}_settles", init=settling)
        m.d.sync += left.eq(Mux(works, settling, left - left.any()))
        m.d.comb += runs.eq(works | left.any() | reset)
        return self.stopping(m, name, component, runs, reset, local=local)

    def beside(self, name: str, component: _Component) -> _Component:
        return DomainRenamer(name)(component)

    def stopping(
        self, m: Module, name: str, component: _Component, runs: Value, reset: Value, *, local: bool
    ) -> _Component:
        """The ``component`` as a submodule whose clock runs while it ``runs``, and with that ``reset``."""
        domain = ClockDomain(name, local=local)
        # The names within are those of a design without gates.
        domain.clk, domain.rst = Signal(name="aclk"), Signal(name="rst")
        m.submodules[f"{name}_clock"] = Instance(
            self.kind, i_clk=ClockSignal(), i_enable=runs, i_scan_enable=self.scan_enable, o_gated=domain.clk
        )
        m.d.comb += domain.rst.eq(reset)
        m.domains += domain
        return DomainRenamer(name)(component)


class AsyncFifo(wiring.Component):
    """A FIFO of ``depth`` entries, a power of two, and one more in the register of its output.

    Each side has a Gray-coded index, of which one bit changes at a time, and sees the other's through a
    :class:`.Synchroniser`. An entry is in the memory for an edge before it is read.

    Throughput: with a depth of 8, one transfer per cycle of the slower clock. Latency through an empty FIFO: to the third or
    fourth edge of the reader's clock after that of the writer. An entry is free again at the second or third edge of the
    writer's clock after that of the reader.

    ``input``: In the domain ``writes``.
    ``output``: In the domain ``reads``; valid and payload come from flip-flops.
    ``write_clear``, ``read_clear``: Empty a side and clear its index. No reset does, because the other side may read
        it; a :class:`.LinkEnd` knows when it does not.
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
        read_at, removed = self._index(m, self.reads, "read", loads, self.read_clear)
        seen_written = self._seen(m, "written", written, self.reads)
        seen_removed = self._seen(m, "removed", removed, self.writes)
        m.d.comb += [
            # Full: a whole turn ahead, which inverts the upper two bits of a Gray code.
            self.input.ready.eq(written != Cat(seen_removed[:-2], ~seen_removed[-2:])),
            write.en.eq(self.input.valid & self.input.ready),
            write.addr.eq(write_at),
            write.data.eq(self.input.payload),
            read.addr.eq(read_at),
            loads.eq((removed != seen_written) & (~valid | self.output.ready)),
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
