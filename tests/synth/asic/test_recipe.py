"""What the recipe refuses. The module of clock gates becomes a cell of the library, through which the port still clocks
everything. The script of a block's folder runs in Yosys.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cdma.app import main
from cdma.base.errors import CdmaError, ToolError
from cdma.base.yosys import find_yosys
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.netlist import synthesise
from cdma.synth.asic.paths import Circuit, LibraryError, MeasureError, circuit_of
from cdma.synth.asic.recipe import Options, library_gates, synthesis_files
from tests.support.paths import TINY
from tests.support.verilog_designs import circuit


def test_no_clock_gate(tiny):
    library = replace(tiny, cells={name: cell for name, cell in tiny.cells.items() if name != "CLOCKGATE"})
    with pytest.raises(
        LibraryError, match=r"^tiny has no clock gate for a rising clock; measure without clock gating$"
    ):
        synthesise(circuit("always @(posedge clk) q <= d;"), library, Options(clock_gating=True))


@pytest.mark.parametrize("period", [0, -1, 1e6, float("nan")])
def test_impossible_periods(period):
    with pytest.raises(MeasureError, match=r"^the clock period is .* ns; it must be from 0\.001 to 1000$"):
        Options(target_ns=period)


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


_CODEC = CodecConfig(Format(8, 8), lanes=1)


def _yosys(folder: Path, name: str) -> str:
    """Runs the script of a block; its report on areas."""
    find_yosys("pyosys").run(f"script {name}.ys\n", folder)
    return (folder / f"{name}_area.rpt").read_text()


def _cells(report: str) -> dict[str, int]:
    return {
        kind: int(count)
        for count, kind in re.findall(r"^ +(\d+) +[\d.e+]+ +([A-Z]\w*)$", report, re.MULTILINE)
    }


@pytest.mark.slow
def test_yosys_makes_of_a_codec_what_cdma_area_counts(
    tmp_path: Path, tiny: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--lanes", "1", "--word-bits", "8", "--window", "8", "-o", str(tmp_path)]
    assert main(["generate", "compressor", *words]) == 0
    for name, value in (("LIBERTY", str(TINY)), ("DRIVER", tiny.driver.name), ("LOAD", f"{tiny.load_ff}")):
        monkeypatch.setenv(name, value)
    report = _yosys(tmp_path, "cdma_compressor")
    expected = synthesise(circuit_of("compressor", _CODEC), tiny, Options()).count(tiny)
    found = _cells(report)
    assert set(found) == set(expected.cells)
    assert found["DFF"] == expected.flip_flops
    area = float(re.findall(r"Chip area for .*: ([\d.]+)", report)[-1])
    assert area == sum(count * tiny.cells[kind].area for kind, count in found.items())
    # A command more or less in a script gives other names to nets, and ABC takes gates in the order of names: 1.3 % here.
    assert area == pytest.approx(expected.area, rel=0.02)
    assert "module cdma_compressor(" in (tmp_path / "cdma_compressor_netlist.v").read_text()


def test_yosys_leaves_memories_as_they_are_named_and_takes_no_initial_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "top.v").write_text("""
module store(input clk, input [2:0] a, input [7:0] d, output reg [7:0] q);
  reg [7:0] words [0:7];
  always @(posedge clk) begin words[a] <= d; q <= words[a]; end
endmodule
module top(input clk, input [2:0] a, input [7:0] d, output [7:0] q, output reg on);
  initial on = 1'b1;
  always @(posedge clk) on <= a[0];
  store store(.clk(clk), .a(a), .d(d), .q(q));
endmodule
""")
    monkeypatch.setenv("LIBERTY", str(TINY))
    for memories, expected in ((["store"], {"DFF": 1}), ([], {"DFF": 1 + 8 * 8 + 8})):
        for name, text in synthesis_files("top", "top.v", 1.0, memories).items():
            (tmp_path / name).write_text(text)
        report = _yosys(tmp_path, "top")
        assert {kind: count for kind, count in _cells(report).items() if kind == "DFF"} == expected
        assert bool(re.search(r"^ +1 +- +store$", report, re.MULTILINE)) == bool(memories)


def test_yosys_says_that_there_is_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIBERTY", raising=False)
    for name, text in synthesis_files("top", "top.v", 1.0, []).items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ToolError):
        _yosys(tmp_path, "top")
    assert not (tmp_path / "top_area.rpt").exists()
