"""Without initial values, the reset alone clears every unknown: a four-state simulation from all X."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cdma.hdl.params import CodecConfig
from cdma.hdl.verilog import codec_verilog

_BENCH = """
module bench;
  reg aclk = 0, aresetn = 0, valid = 0;
  wire ready, out_valid, report_valid;
  wire [255:0] data;
  wire [103:0] report;
  always #5 aclk = ~aclk;
  cdma_compressor dut (
    .aclk(aclk), .aresetn(aresetn), .s_axis_tdata({8{32'd7}}), .s_axis_tkeep(32'hffffffff),
    .s_axis_tlast(1'b1),
    .s_axis_tvalid(valid), .s_axis_tready(ready), .m_axis_tdata(data), .m_axis_tkeep(), .m_axis_tlast(),
    .m_axis_tvalid(out_valid), .m_axis_tready(1'b1), .m_report_tdata(report), .m_report_tvalid(report_valid),
    .m_report_tready(1'b1)
  );
  initial begin
    #1 $display("in reset %b%b%b", ready, out_valid, report_valid);
    #21 aresetn = 1;
    valid = 1;
    @(posedge aclk);
    #1 valid = 0;
    repeat (40) begin
      @(negedge aclk);
      if (out_valid !== 0) $display("%b %h", out_valid, data);
      if (report_valid !== 0) $display("%b report %h", report_valid, report);
    end
    $finish;
  end
endmodule
"""


def test_reset_clears_every_unknown(tmp_path: Path) -> None:
    icarus, run = shutil.which("iverilog"), shutil.which("vvp")
    if icarus is None or run is None:
        pytest.skip("Icarus Verilog is not installed")
    (tmp_path / "bench.v").write_text(_BENCH)
    (tmp_path / "design.v").write_text(codec_verilog("compressor", CodecConfig(), init=False))
    command = [icarus, "-g2005", "-o", "bench", "bench.v", "design.v"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    said = subprocess.check_output([run, "bench"], cwd=tmp_path, text=True, timeout=60).splitlines()
    words = f"{7:08x}"
    assert said[0] == "in reset 000"
    # One header of eight literals, then seven words in its beat and one more behind.
    packets = [line.split()[1] for line in said[1:] if line.startswith("1 ") and "report" not in line]
    assert packets[0] == words * 7 + f"{0xFF:08x}"
    assert packets[1].endswith(words)
    assert f"1 report {0:02x}{8:08x}{9:08x}{8:08x}" in said
    assert len(said) == 4
