"""A first bench for a generated module, in plain Verilog, of its reset."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from cdma.hdl.verilog.ports import Port

from .instance import pin_lines

__all__ = ["testbench"]

_TEXT = """\
// A first bench for {name}: after a reset with idle inputs every control output is known, and nothing is offered.
// Any simulator runs it, for example: iverilog -g2012 -o {name}_tb {file} {name}_tb.v && vvp {name}_tb
module {name}_tb;
  reg aclk = 0;
  reg aresetn = 0;
  integer cycle = 0;
  integer wrong = 0;
{wires}
  {name} dut (
{pins}
  );

  always #1 aclk = ~aclk;

  always @(negedge aclk) begin
    cycle = cycle + 1;
    if (cycle == 8) aresetn = 1;
    if (cycle > 8) begin
{checks}
    end
    if (cycle == 200) begin
      if (wrong == 0) $display("{name}: reset passed");
      else $display("{name}: reset FAILED, %0d outputs wrong", wrong);
      $finish;
    end
  end
endmodule
"""


def testbench(name: str, ports: Sequence[Port], file: str) -> str:
    """The bench of the Verilog in ``file``, a module called ``NAME_tb``.

    What it prints ends with ``reset passed`` or says what failed.
    """
    outputs = [port for port in ports if port.direction == "output"]
    offers = [port.name for port in outputs if port.name.endswith("valid")]
    known = [port.name for port in outputs if port.name.endswith(("valid", "ready")) or port.name == "irq"]
    checks = [f"      if ((^{port}) === 1'bx) wrong = wrong + 1;" for port in known]
    checks += [f"      if ({port} !== 1'b0) wrong = wrong + 1;" for port in offers]
    clocked = ("aclk", "aresetn")
    idle = {
        port.name: f"{port.width}'b0"
        for port in ports
        if port.direction == "input" and port.name not in clocked
    }
    return _TEXT.format(
        name=name,
        file=file,
        wires="\n".join(f"  wire {port.range}{port.name};" for port in outputs),
        pins=indent(pin_lines(ports, idle), "  "),
        checks="\n".join(checks),
    )
