"""Operators get the widths that Verilog computes in, and compute nothing that nobody reads."""

from __future__ import annotations

import pytest

from cdma.hdl.verilog.netlist.model import Module, Slice, constant
from cdma.hdl.verilog.netlist.operators import fit_operators
from cdma.hdl.verilog.netlist.parse import parse


def _fitted(kind: str, a: str, b: str, width: int, read: str = "$1", signed: int = 0) -> Module:
    """``read`` of the result ``$1`` of an operator on ``a`` and ``b``, drawn from 8 bits each."""
    (module,) = parse(
        f"""
module \\top
  wire width 8 \\a
  wire width 8 \\b
  wire width {width} \\y
  wire width {width} $1
  cell {kind} $2
    parameter \\A_SIGNED {signed}
    parameter \\A_WIDTH 1
    parameter \\B_SIGNED {signed}
    parameter \\B_WIDTH 1
    parameter \\Y_WIDTH {width}
    connect \\A {a}
    connect \\B {b}
    connect \\Y $1
  end
  connect \\y [0] {read}
end
"""
    )
    fit_operators(module)
    return module


def test_operands_are_as_wide_as_the_result() -> None:
    (cell,) = _fitted("$add", "\\a [3:0]", "\\b", 9).cells
    assert cell.ports["\\A"] == [Slice("\\a", 0, 4), constant("00000")]
    assert cell.ports["\\B"] == [Slice("\\b", 0, 8), constant("0")]
    assert cell.parameters == {
        "\\A_SIGNED": "0",
        "\\A_WIDTH": "9",
        "\\B_SIGNED": "0",
        "\\B_WIDTH": "9",
        "\\Y_WIDTH": "9",
    }


def test_a_signed_operand_repeats_its_sign() -> None:
    (cell,) = _fitted("$add", "\\a [3:0]", "\\b", 6, signed=1).cells
    assert cell.ports["\\A"] == [Slice("\\a", 0, 4), Slice("\\a", 3, 1), Slice("\\a", 3, 1)]
    assert cell.ports["\\B"] == [Slice("\\b", 0, 6)]


def test_bits_that_nobody_reads_are_not_computed() -> None:
    module = _fitted("$sub", "\\a", "\\b", 9, read="$1 [2]")
    assert module.wires["$1"].width == 3
    assert [module.cells[0].ports[port][0].width for port in ("\\A", "\\B", "\\Y")] == [3, 3, 3]


def test_operands_of_a_comparison_are_as_wide_as_each_other() -> None:
    (cell,) = _fitted("$lt", "\\a [3:0]", "\\b", 1).cells
    assert cell.ports["\\A"] == [Slice("\\a", 0, 4), constant("0000")]
    assert cell.ports["\\B"] == [Slice("\\b", 0, 8)]


def test_a_multiplier_does_not_grow() -> None:
    (cell,) = _fitted("$mul", "\\a [3:0]", "\\b", 6).cells
    assert cell.ports["\\A"] == [Slice("\\a", 0, 4)]
    assert cell.ports["\\B"] == [Slice("\\b", 0, 6)]


@pytest.mark.parametrize(
    ("kind", "limit", "result"), [("$gt", "1", "0"), ("$le", "1", "1"), ("$lt", "0", "0"), ("$ge", "0", "1")]
)
def test_a_comparison_that_the_range_decides(kind: str, limit: str, result: str) -> None:
    module = _fitted(kind, "\\a", f"8'{limit * 8}", 1)
    assert not module.cells
    assert ([Slice("$1", 0, 1)], [constant(result)]) in module.connects
    other = "1" if limit == "0" else "0"
    assert _fitted(kind, "\\a", f"8'{other * 8}", 1).cells


def test_a_shift_to_the_right_has_all_bits_of_its_operand() -> None:
    module = _fitted("$shr", "\\a", "\\b [2:0]", 3)
    (cell,) = module.cells
    assert cell.ports["\\Y"] == [Slice("$2$wide", 0, 8)]
    assert cell.parameters["\\Y_WIDTH"] == "8"
    assert ([Slice("$1", 0, 3)], [Slice("$2$wide", 0, 3)]) in module.connects
