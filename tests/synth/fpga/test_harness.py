"""The harness that circuits are placed and routed in. Which registers go into block RAM, on what Yosys makes of memories
and the registers after them.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from cdma.base.yosys import find_yosys, scratch
from cdma.synth.asic.paths import MeasureError
from cdma.synth.fpga.harness import harness, use_output_registers


def test_harness_keeps_every_port():
    ports = {
        "aclk": {"direction": "input", "bits": [2]},
        "d": {"direction": "input", "bits": [3, 4, 5]},
        "e": {"direction": "input", "bits": [6]},
        "q": {"direction": "output", "bits": [7, 8]},
    }
    text = harness("top", ports)
    for connection in (".aclk(clk)", ".d(feed[2:0])", ".e(feed[3:3])", ".q(seen[1:0])"):
        assert connection in text


def test_harness_needs_a_clock():
    with pytest.raises(
        MeasureError, match=r"^top has the clocks \[\]; placing and routing needs one, aclk or clk$"
    ):
        harness("top", {"d": {"direction": "input", "bits": [2]}})


#: Registers after memories: one that a block RAM can hold, and what each of the others has that it cannot.
_AFTER = {
    "plain": "always @(posedge clk) if (e) q_plain <= r_plain;",
    "reset": "always @(posedge clk) if (rst) q_reset <= 0; else if (e) q_reset <= r_reset;",
    "other_clock": "always @(posedge slow) if (e) q_other_clock <= r_other_clock;",
    "logic": "always @(posedge clk) if (e) q_logic <= r_logic ^ d;",
    "seen": "always @(posedge clk) if (e) q_seen <= r_seen; assign also = ^r_seen;",
    "two_enables": "always @(posedge clk) begin if (e) q_two_enables[3:0] <= r_two_enables[3:0];"
    " if (w) q_two_enables[7:4] <= r_two_enables[7:4]; end",
    "one": "initial q_one = 1; always @(posedge clk) if (e) q_one <= r_one;",
}


def _netlist() -> dict:
    outputs = ", ".join(f"output reg [7:0] q_{name}" for name in _AFTER)
    memories = "\n".join(
        f'(* ram_style = "block", no_rw_check *) reg [7:0] m_{name}[0:511]; reg [7:0] r_{name};\n'
        f"always @(posedge clk) begin if (w) m_{name}[a] <= d; if (r) r_{name} <= m_{name}[b]; end\n{after}"
        for name, after in _AFTER.items()
    )
    with scratch() as folder:
        (folder / "top.v").write_text(
            "module top (input clk, input slow, input rst, input e, input w, input r, input [8:0] a, input [8:0] b, "
            f"input [7:0] d, output also, {outputs});\n{memories}\nendmodule\n"
        )
        find_yosys().run("read_verilog top.v\nsynth_ecp5 -noiopad -top top\nwrite_json top.json\n", folder)
        return json.loads((folder / "top.json").read_text())


def test_only_what_a_block_can_hold_is_moved(tmp_path):
    design = _netlist()
    module = design["modules"]["top"]
    (tmp_path / "top.json").write_text(json.dumps(design))
    before = Counter(cell["type"] for cell in module["cells"].values())
    assert use_output_registers(module) == 8
    after = Counter(cell["type"] for cell in module["cells"].values())
    assert before - after == Counter(TRELLIS_FF=8)
    assert before["DP16KD"] == len(_AFTER)

    (block,) = [
        cell for cell in module["cells"].values() if cell["parameters"].get("REGMODE_B", "NOREG") == "OUTREG"
    ]
    ports = {name: port["bits"] for name, port in module["ports"].items()}
    nets = block["connections"]
    assert [nets[f"DOB{bit}"] for bit in range(8)] == [[net] for net in ports["q_plain"]]
    assert (nets["OCEB"], nets["CEB"], nets["CLKB"]) == (ports["e"], ports["r"], ports["clk"])


def test_a_fifo_for_block_ram_ends_in_it():
    """Its last register has no reset, so that it can."""
    from amaranth.back import verilog
    from amaranth.hdl import Module

    from cdma.hdl.blocks.queues import Fifo

    fifo = Fifo(16, 512, reserved=True, pipelined=True)
    m = Module()
    m.submodules.fifo = fifo
    ports = [fifo.input.payload, fifo.input.valid, fifo.output.payload, fifo.output.valid, fifo.output.ready]
    text = verilog.convert(m, name="top", ports=ports, emit_src=False)
    with scratch() as folder:
        (folder / "top.v").write_text(text)
        find_yosys().run(
            "read_verilog top.v\nsynth_ecp5 -noiopad -top top\nflatten\nwrite_json top.json\n", folder
        )
        module = json.loads((folder / "top.json").read_text())["modules"]["top"]
    assert use_output_registers(module) == 16
