"""Clock domains: gates of clocks, resets, and crossings."""

from __future__ import annotations

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

__all__ = [
    "ALWAYS",
    "AsyncFifo",
    "ClockGates",
    "Synchroniser",
    "declare_always",
    "reset_around",
    "reset_with",
]


class Synchroniser(wiring.Component):
    """Two flip-flops in a row, without a reset; a team may put a cell of its library here.

    A platform with ``get_synchroniser`` builds it instead.

    ``input``
        Out of flip-flops of another clock domain. It is a level, or a count of which one bit changes at a time.
    ``output``
        The input as it was at the edge before the last one. A change that an edge meets may come an edge later.
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


def reset_with(
    m: Module, name: str, component: _Component, clear: Value, clock: Signal | None = None
) -> _Component:
    """Gives ``component`` as a submodule that is reset by ``clear`` too.

    ``clock``
        The clock of the design. Where it is given, the component has a clock domain of this ``name``, whose reset is a
        flip-flop of its own: it begins a cycle later than ``clear`` and than the reset of ``m``, and ends two cycles later.
        Without it, two resets meet in a gate, whose output goes to all flip-flops of the component in the same cycle: on an
        FPGA, that net is the longest.
    """
    if clock is None:
        return ResetInserter(clear)(component)
    domain = ClockDomain(name, local=True)
    domain.clk = clock
    cleared = Signal(name=f"{name}_cleared", init=1)
    before = Signal(name=f"{name}_clear_before", init=1)
    # It depends on itself, because synthesis makes one flip-flop of those that are equal.
    m.d.sync += [before.eq(clear), cleared.eq(clear | (before & cleared))]
    m.d.comb += domain.rst.eq(cleared)
    m.domains += domain
    return DomainRenamer(name)(component)


#: The domain of what goes on while all around it rests, because its phase shows.
ALWAYS = "always"


def declare_always(m: Module) -> None:
    """Declares that domain: it is ``sync`` of ``m``, whatever ``sync`` is further inside."""
    domain = ClockDomain(ALWAYS)
    domain.clk, domain.rst = Signal(name=f"{ALWAYS}_aclk"), Signal(name=f"{ALWAYS}_rst")
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal())]
    m.domains += domain


def reset_around(m: Module, name: str, component: _Component, clear: Value) -> _Component:
    """Gives ``component`` as a submodule that is reset by ``clear`` too, with all in it that has a gated clock."""
    domain = ClockDomain(name, local=True)
    domain.clk, domain.rst = Signal(name="aclk"), Signal(name="rst")
    m.d.comb += [domain.clk.eq(ClockSignal()), domain.rst.eq(ResetSignal() | clear)]
    m.domains += domain
    return DomainRenamer(name)(component)


class ClockGates:
    """Makes gated clocks, each by an instance of the cell ``kind``, which all are open while ``scan_enable`` is high."""

    def __init__(self, kind: str, scan_enable: Value) -> None:
        self.kind = kind
        self.scan_enable = scan_enable

    def gated(
        self,
        m: Module,
        name: str,
        component: _Component,
        active: Value,
        settling: int,
        *,
        clear: Value | None = None,
        local: bool = True,
    ) -> _Component:
        """Gives ``component`` as a submodule whose clock is that of ``m`` in the cycles in which it is ``active``, in so
        many after them, and in reset. In other cycles nothing may change in it. It is reset by ``clear`` too. Others may be
        in the domain of that ``name``, unless it is ``local``.
        """
        reset = ResetSignal() if clear is None else ResetSignal() | clear
        runs = Signal(name=f"{name}_runs")
        left = Signal(range(settling + 1), name=f"{name}_settles", init=settling)
        m.d.sync += left.eq(Mux(active, settling, left - left.any()))
        m.d.comb += runs.eq(active | left.any() | reset)
        return self.stopping(m, name, component, runs, reset, local=local)

    def stopping(
        self, m: Module, name: str, component: _Component, runs: Value, reset: Value, *, local: bool
    ) -> _Component:
        """Gives ``component`` as a submodule with a clock in the cycles in which it ``runs``, and with that ``reset``."""
        domain = ClockDomain(name, local=local)
        # The names within are those of a design without gates.
        domain.clk, domain.rst = Signal(name="aclk"), Signal(name="rst")
        m.submodules[f"{name}_clock"] = Instance(
            self.kind,
            i_clk=ClockSignal(),
            i_enable=runs,
            i_scan_enable=self.scan_enable,
            o_gated=domain.clk,
        )
        m.d.comb += domain.rst.eq(reset)
        m.domains += domain
        return DomainRenamer(name)(component)


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
