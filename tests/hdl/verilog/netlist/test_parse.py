"""What is parsed is everything that is printed again."""

from __future__ import annotations

from cdma.hdl.verilog.netlist.parse import parse
from cdma.hdl.verilog.netlist.write import write

_TEXT = """\
attribute \\top 1
module \\top
  attribute \\ram_style "block"
  memory width 8 size 4 \\store
  attribute \\init 4'0101
  wire width 4 \\q
  wire width 9 signed $1
  wire width 4 input 0 \\d
  wire width 1 input 1 \\aclk
  cell $add $2
    parameter \\A_SIGNED 0
    parameter \\Y_WIDTH 9
    connect \\A { 4'01xz \\d [2] \\q [3:1] }
    connect \\Y $1
  end
  process $3
    assign $1 [3:0] 4'0000
    switch { \\d [0] \\q [0] }
      case 2'1-
        assign $1 [3:0] \\q
      case
    end
  end
  connect \\q $1 [3:0]
end
"""


def test_written_netlists_parse_to_the_same() -> None:
    (module,) = parse(_TEXT)
    lines = write(module, {"\\top": "top"}, {"\\top": {}}, ["d", "aclk"])
    assert parse("\n".join(lines)) == [module]


def test_order_of_ports() -> None:
    (module,) = parse(_TEXT)
    names = ({"\\top": "top"}, {"\\top": {"\\d": "data"}})
    assert "wire width 4 input 1 \\data" in list(write(module, *names, ["d", "aclk"]))
    assert "wire width 4 input 2 \\data" in list(write(module, *names, None)), "the clock comes first"
