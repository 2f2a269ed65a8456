"""Structures become fields, names become plain, initial values go if asked."""

from __future__ import annotations

import pytest

from cdma.base.errors import CdmaError
from cdma.hdl.verilog.netlist.readable import readable

#: A register of two fields in a submodule, which is a port of it and of the top.
_DESIGN = """
module \\top
  wire width 1 input 0 \\aclk
  wire width 5 input 1 \\pair
  wire width 2 \\pair.low
  wire width 3 \\pair.high
  wire width 5 \\inner__kept
  cell \\top.inner \\inner
    connect \\aclk \\aclk
    connect \\pair \\pair
    connect \\kept \\inner__kept
  end
  connect \\pair.low \\pair [1:0]
  connect \\pair.high \\pair [4:2]
end
module \\top.inner
  wire width 1 input 0 \\aclk
  wire width 5 input 1 \\pair
  wire width 2 \\pair.low
  wire width 3 \\pair.high
  attribute \\init 5'11001
  wire width 5 output 2 \\kept
  wire width 2 \\kept.low
  wire width 3 \\kept.high
  cell $dff $1
    parameter \\WIDTH 5
    connect \\D \\pair
    connect \\CLK \\aclk
    connect \\Q \\kept
  end
  connect \\pair.low \\pair [1:0]
  connect \\pair.high \\pair [4:2]
  connect \\kept.low \\kept [1:0]
  connect \\kept.high \\kept [4:2]
end
"""


def _modules(**changes: object) -> list[list[str]]:
    arguments = {"prefix": "my_", "ports": ["aclk", "pair"], "init": True, **changes}
    text = readable(_DESIGN, **arguments)  # type: ignore[arg-type]
    return [part.splitlines() for part in text.removesuffix("\nend").split("\nend\nmodule ")]


def test_the_top_keeps_its_ports_and_connects_the_fields() -> None:
    top, _ = _modules()
    assert "wire width 5 input 2 \\pair" in top
    start = top.index("cell \\my_inner \\inner")
    assert top[start + 1 : top.index("end", start)] == [
        "connect \\aclk \\aclk [0:0]",
        "connect \\pair_low \\pair [1:0]",
        "connect \\pair_high \\pair [4:2]",
        "connect \\kept_low \\inner_kept [1:0]",
        "connect \\kept_high \\inner_kept [4:2]",
    ]


def test_fields_are_ports_and_registers_of_their_own() -> None:
    _, inner = _modules()
    assert inner[0] == "\\my_inner"
    assert [line for line in inner if "wire" in line or "init" in line] == [
        "wire width 1 input 1 \\aclk",
        "wire width 2 input 2 \\pair_low",
        "wire width 3 input 3 \\pair_high",
        "attribute \\init 2'01",
        "wire width 2 output 4 \\kept_low",
        "attribute \\init 3'110",
        "wire width 3 output 5 \\kept_high",
    ]
    text = "\n".join(inner)
    for name, width in (("low", 2), ("high", 3)):
        assert (
            f"parameter \\WIDTH {width}\nconnect \\D \\pair_{name} [{width - 1}:0]\n"
            f"connect \\CLK \\aclk [0:0]\nconnect \\Q \\kept_{name} [{width - 1}:0]\nend"
        ) in text


def test_without_initial_values() -> None:
    assert "init" in "\n".join(_modules()[1])
    assert "init" not in "\n".join(_modules(init=False)[1])


_TABLE = """
module \\top
  memory width 8 size 4 \\table
  cell $meminit_v2 $1
    parameter \\MEMID "\\\\table"
  end
  cell $memrd_v2 $2
    parameter \\MEMID "\\\\table"
  end
end
"""


def test_a_table_needs_its_initial_values() -> None:
    arguments = {"prefix": "my_", "ports": []}
    assert 'parameter \\MEMID "\\\\table_"' in readable(_TABLE, init=True, **arguments)  # type: ignore[arg-type]
    with pytest.raises(
        CdmaError, match=r"^module top has a memory that is only read; it needs its initial values$"
    ):
        readable(_TABLE, init=False, **arguments)  # type: ignore[arg-type]
    written = _TABLE.replace("$memrd_v2", "$memwr_v2")
    assert "$meminit_v2" not in readable(written, init=False, **arguments)  # type: ignore[arg-type]
