"""Without initial values, the reset alone clears every unknown: a four-state simulation from all X."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cdma.hdl.codec.generate import codec_verilog
from cdma.hdl.spec.codec import CodecConfig

_BENCH = """
module bench;
  reg aclk = 0, aresetn = 0, valid = 0;
  reg [255:0] in;
  reg [31:0] keep;
  reg last;
  reg length_valid = 0;
  wire length_ready, ready, out_valid, report_valid;
  wire [255:0] data;
  wire [103:0] report;
  always #5 aclk = ~aclk;
  always @(posedge aclk) if (length_valid && length_ready) length_valid <= 0;
  cdma_KIND dut (
    .aclk(aclk), .aresetn(aresetn), .s_axis_tdata(in), .s_axis_tkeep(keep), .s_axis_tlast(last),
    .s_axis_tvalid(valid), .s_axis_tready(ready), .m_axis_tdata(data), .m_axis_tkeep(), .m_axis_tlast(),
    LENGTH
    .m_axis_tvalid(out_valid), .m_axis_tready(1'b1), .m_report_tdata(report), .m_report_tvalid(report_valid),
    .m_report_tready(1'b1)
  );
  initial begin
    #1 $display("in reset %b%b%b", ready, out_valid, report_valid);
    #21 aresetn = 1;
    @(posedge aclk);
    #1 valid = 1;
    length_valid = 1;
    BEATS
    valid = 0;
    repeat (60) begin
      @(negedge aclk);
      if (out_valid !== 0) $display("%b %h", out_valid, data);
      if (report_valid !== 0) $display("%b report %h", report_valid, report);
    end
    $finish;
  end
endmodule
"""
_LENGTH = ".s_length_tdata(32'd8), .s_length_tvalid(length_valid), .s_length_tready(length_ready),"
#: What is ready amid a cycle is ready at its end.
_TAKEN = "@(negedge aclk); while (!ready) @(negedge aclk); @(posedge aclk); #1;"


def _run(kind: str, config: CodecConfig, beats: list[list[int]], directory: Path) -> list[str]:
    """What comes out for one packet, the last line of the reset first."""
    icarus, run = shutil.which("iverilog"), shutil.which("vvp")
    if icarus is None or run is None:
        pytest.skip("Icarus Verilog is not installed")
    steps = [
        "in = 256'h"
        + "".join(f"{word:08x}" for word in reversed(beat + [0] * (8 - len(beat))))
        + f"; keep = 32'h{(1 << 4 * len(beat)) - 1:08x}; last = {int(beat is beats[-1])}; {_TAKEN}"
        for beat in beats
    ]
    bench = _BENCH.replace("KIND", kind).replace("BEATS", "\n    ".join(steps))
    (directory / "bench.v").write_text(bench.replace("LENGTH", _LENGTH if kind == "decompressor" else ""))
    (directory / "design.v").write_text(codec_verilog(kind, config, init=False))
    command = [icarus, "-g2005", "-o", "bench", "bench.v", "design.v"]
    subprocess.run(command, cwd=directory, check=True, timeout=60)
    return subprocess.check_output([run, "bench"], cwd=directory, text=True, timeout=60).splitlines()


@pytest.mark.parametrize("pipelined", [False, True], ids=["plain", "pipelined"])
def test_reset_clears_every_unknown(pipelined: bool, tmp_path: Path) -> None:
    said = _run("compressor", CodecConfig(pipelined=pipelined), [[7] * 8], tmp_path)
    words = f"{7:08x}"
    assert said[0] == "in reset 000"
    # A header of eight literals and seven words in the first beat, one more word in the second.
    packets = [line.split()[1] for line in said[1:] if line.startswith("1 ") and "report" not in line]
    assert packets[0] == words * 7 + f"{0xFF:08x}"
    assert packets[1].endswith(words)
    assert f"1 report {0:02x}{8:08x}{9:08x}{8:08x}" in said
    assert len(said) == 4


@pytest.mark.parametrize("pipelined", [False, True], ids=["plain", "pipelined"])
def test_reset_of_the_decompressor(pipelined: bool, tmp_path: Path) -> None:
    said = _run("decompressor", CodecConfig(pipelined=pipelined), [[0xFF, *[7] * 7], [7]], tmp_path)
    assert said[0] == "in reset 000"
    assert sorted(said[1:]) == sorted([f"1 {f'{7:08x}' * 8}", f"1 report {0:02x}{8:08x}{8:08x}{9:08x}"])
