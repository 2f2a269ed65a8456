"""The module around a design: payloads without valid are X, and so is everything that a reset makes it forget."""

from __future__ import annotations

import re

from cdma.hdl.engine.generate import engine_design
from cdma.hdl.engine.pins import engine_ports
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, axis_ports
from cdma.verif.engine.design import with_late_flops
from cdma.verif.simulator.four_state import four_state_name, four_state_text

PORTS = (*CLOCK_AND_RESET, *axis_ports("s_axis", "input", data=16), Port("q", "output", 16))
TEXT = """\
module part (
  input  wire aclk,
  output reg  [1:0] b
);
  reg kept = 1'h0;
  reg plain; // What it is for.
  reg [7:0] vector;
  reg [7:0] memory [3:0];
  reg \\escaped[0] ;
  wire [7:0] net;
endmodule

module tiny (
  input  wire aclk
);
  wire a;
endmodule
"""


def test_a_reset_makes_registers_and_memories_unknown() -> None:
    text = four_state_text(TEXT, "tiny", PORTS)
    part = text[text.index("module part") : text.index("endmodule")]
    assert f"always @(negedge {four_state_name('tiny')}.aresetn) begin\n" in part
    for line in (
        "b = 'bx;",
        "plain = 'bx;",
        "vector = 'bx;",
        "\\escaped[0]  = 'bx;",
        "memory[four_state_index] = 'bx;",
    ):
        assert f"{line}\n" in part
    assert "four_state_index = 0; four_state_index <= 3;" in part
    # What has an initial value keeps it, and nets are driven anew.
    assert "kept = 'bx" not in part
    assert "net = 'bx" not in part
    assert "four_state_index" not in text[text.index("module tiny (") :]


def test_handshakes_between_clocks_begin_anew() -> None:
    """From X none would ever end. A design with several clocks has a module of each kind."""
    config = EngineConfig(Format(8, 8), clocks="device,host,registers")
    design = engine_design(config)
    text = four_state_text(design.text, "cdma_engine", engine_ports(config))
    for name in ("LinkEnd", "Synchroniser", "AccessCrossing", "Answering", "Finishing"):
        parts = re.findall(rf"^// Source: \S*, {name}$.*?^endmodule$", text, re.MULTILINE | re.DOTALL)
        assert parts, name
        assert all(re.search(r" = 'b[01];", part) and " = 'bx" not in part for part in parts), name
    assert with_late_flops(design.text).count("$urandom") >= 1


def test_a_payload_without_valid_is_unknown() -> None:
    text = four_state_text(TEXT, "tiny", PORTS)
    assert ".s_axis_tdata(s_axis_tvalid === 1'b1 ? s_axis_tdata : {16{1'bx}})" in text
    for name in ("aclk", "aresetn", "s_axis_tvalid", "s_axis_tready", "q"):
        assert f".{name}({name})" in text
    assert "$dumpfile" not in text
    assert "$dumpfile" in four_state_text(TEXT, "tiny", PORTS, trace=True)
