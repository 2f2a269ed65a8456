"""The module of clock gates becomes a cell of the library, through which the port still clocks everything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.base.errors import CdmaError
from cdma.synth.asic.clock_gates import library_gates
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.netlist import synthesise
from cdma.synth.asic.recipe import Options
from cdma.synth.circuits import Circuit

_GATE = """\
module x_clock_gate (
  input  wire clk,
  input  wire enable,
  input  wire scan_enable,
  output wire gated
);
  reg open;
  always @* if (~clk) open = enable | scan_enable;
  assign gated = clk & open;
endmodule
"""
_TOP = """\
module top (input aclk, input e, input s, input d, output reg q);
  wire one, two;
  x_clock_gate outer (.clk(aclk), .enable(e), .scan_enable(s), .gated(one));
  x_clock_gate inner (.clk(one), .enable(d), .scan_enable(s), .gated(two));
  always @(posedge two) q <= d;
endmodule
"""


def test_a_design_without_gates_stays(tiny: Library) -> None:
    assert library_gates("module top (input a);\nendmodule\n", tiny) == "module top (input a);\nendmodule\n"


def test_a_library_without_a_gate_is_refused(tiny: Library) -> None:
    cells = {name: cell for name, cell in tiny.cells.items() if name != "CLOCKGATE"}
    with pytest.raises(CdmaError, match="no clock gate for a rising clock; measure without clock_gates"):
        library_gates(_GATE, replace(tiny, cells=cells))


@pytest.mark.slow
def test_gates_are_cells_one_behind_another(tiny: Library) -> None:
    netlist = synthesise(Circuit("top", {}, "top", _GATE + _TOP), tiny, Options())
    count = netlist.count(tiny)
    assert (count.clock_gates, count.flip_flops) == (2, 1)
    assert netlist.clocks(tiny) == ["aclk"]
