"""The cell that gates a clock: a latch and an AND, in a module of its own that a library's cell replaces.

Amaranth has no latch. A design has instances of ``CLOCK_GATE``, and this is their module in RTLIL.
"""

from __future__ import annotations

__all__ = ["CLOCK_GATE", "CLOCK_GATE_CONTRACT", "with_clock_gate"]

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
