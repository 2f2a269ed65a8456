"""Signals are cut where asked, least significant bit first."""

from __future__ import annotations

import pytest

from cdma.hdl.verilog.netlist.model import Module, Slice, Wire, constant, cut, width_of

_SIGNAL = [Slice("\\a", 4, 3), constant("10"), Slice("\\b", 0, 8)]


@pytest.mark.parametrize(
    ("low", "width", "part"),
    [
        (0, 13, _SIGNAL),
        (1, 2, [Slice("\\a", 5, 2)]),
        (3, 1, [constant("0")]),
        (4, 1, [constant("1")]),
        (2, 4, [Slice("\\a", 6, 1), constant("10"), Slice("\\b", 0, 1)]),
        (12, 5, [Slice("\\b", 7, 1)]),
        (13, 1, []),
    ],
)
def test_cut(low: int, width: int, part: list[Slice]) -> None:
    assert cut(_SIGNAL, low, width) == part
    assert width_of(part) == min(width, 13 - low)


def test_whole_wire() -> None:
    module = Module("\\top", wires={"\\a": Wire(8, False, None)})
    assert module.whole_wire([Slice("\\a", 0, 8)]) == "\\a"
    assert module.whole_wire([Slice("\\a", 0, 7)]) is None
    assert module.whole_wire([constant("1" * 8)]) is None
    assert module.whole_wire([Slice("\\a", 0, 4), Slice("\\a", 4, 4)]) is None
