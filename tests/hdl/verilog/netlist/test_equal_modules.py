"""Instances of equal modules become instances of one."""

from __future__ import annotations

from cdma.hdl.verilog.netlist.equal_modules import merge_equal
from cdma.hdl.verilog.netlist.parse import parse

_TOP = """
module \\top
  wire width 1 input 0 \\aclk
  cell \\top.left \\left
    connect \\port$4$0 \\aclk
  end
  cell \\top.right \\right
    connect \\port$9$0 \\aclk
  end
end
"""

_LEFT = """
module \\top.left
  wire width 1 input 0 \\port$4$0
  wire width 2 \\count$7
  cell \\top.left.inner \\inner
    connect \\value \\count$7
  end
  connect \\count$7 { \\port$4$0 1'0 }
end
module \\top.left.inner
  wire width 2 input 0 \\value
end
"""

#: The same with other serial numbers, and its wires in another order.
_RIGHT = """
module \\top.right
  wire width 2 \\count$8
  wire width 1 input 0 \\port$9$0
  cell \\top.right.inner \\inner
    connect \\value \\count$8
  end
  connect \\count$8 { \\port$9$0 1'0 }
end
module \\top.right.inner
  wire width 2 input 0 \\value
end
"""


def test_modules_that_differ_in_serial_numbers_and_order_become_one() -> None:
    modules = {module.name: module for module in parse(_TOP + _LEFT + _RIGHT)}
    assert merge_equal(modules) == {
        "\\top": ["\\top"],
        "\\top.left": ["\\top.left", "\\top.right"],
        "\\top.left.inner": ["\\top.left.inner", "\\top.right.inner"],
    }
    assert list(modules) == ["\\top", "\\top.left", "\\top.left.inner"]
    assert [(cell.kind, cell.name, list(cell.ports)) for cell in modules["\\top"].cells] == [
        ("\\top.left", "\\left", ["\\port$4$0"]),
        ("\\top.left", "\\right", ["\\port$4$0"]),
    ]


def test_modules_with_unequal_contents_stay() -> None:
    for change in (
        ("1'0", "1'1"),
        ("width 2 \\count$8", "width 2 signed \\count$8"),
        ("\\inner\n", "\\other\n"),
    ):
        modules = {module.name: module for module in parse(_TOP + _LEFT + _RIGHT.replace(*change))}
        assert merge_equal(modules)["\\top.right"] == ["\\top.right"], change
