"""Tests that need Icarus Verilog. Runs a component in Amaranth's own simulator. A block with clock gates beside the same
block without, given the same: a simulation ends where they differ.

A netlist in which an unknown condition has an unknown result, as it has between gates.

In Verilog text, ``if (x)`` takes the other branch as if nothing were unknown. Here every register is a flip-flop without
enable and reset, and what decided is a multiplexer, whose result is X where its select is X and its inputs differ.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Elaboratable
from amaranth.lib import wiring
from amaranth.sim import Simulator

from cdma.base.yosys import find_yosys, scratch
from cdma.hdl.deliver.block import block_design
from cdma.hdl.verilog.shell import SCAN_ENABLE
from cdma.verif.simulator.build import four_state_name
from cdma.verif.simulator.simulate import Design

needs_icarus = pytest.mark.skipif(
    shutil.which("iverilog") is None or shutil.which("vvp") is None,
    reason="Icarus Verilog (iverilog and vvp) is not on PATH; on Debian or Ubuntu: apt install iverilog",
)


Testbench = Callable[[Any], Coroutine[Any, Any, None]]


def simulate(dut: Elaboratable, *testbenches: Testbench, background: Testbench | None = None) -> None:
    """Runs ``testbenches`` side by side on ``dut`` until all of them have ended.

    ``background`` is one more, which need not end and comes before the others in every cycle. The clock, if ``dut``
    has one, is at 1 GHz.
    """
    simulator = Simulator(dut)
    simulator.add_clock(1e-9, if_exists=True)
    if background is not None:
        simulator.add_testbench(background, background=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()


#: What is said of the first cycle that differs.
DIFFERS = "the block with clock gates differs"


def in_lockstep(design: Design) -> str:
    """The Verilog of a top like that of ``design``, which has clock gates."""
    top, ports = design.top, design.ports
    texts = [
        block_design(design.block, config, name=f"{top}_{name}", init=design.init).text
        for name, config in (
            ("gated", design.config),
            ("plain", dataclasses.replace(design.config, clock_gates=False)),
        )
    ]
    outputs = [port for port in ports if port.direction == "output"]
    # What a payload is while it is not valid, nobody may look at.
    valid = {port.name.removesuffix("valid"): port.name for port in outputs if port.name.endswith("valid")}

    def when(name: str) -> str:
        return next(
            (f"{each} && " for stem, each in valid.items() if name != each and name.startswith(stem)), ""
        )

    inputs = [port for port in ports if port.direction == "input"]

    def instance(name: str) -> str:
        pins = [f".{port.name}({port.name})" for port in inputs if (name, port) != ("plain", SCAN_ENABLE)]
        pins += [
            f".{port.name}({port.name if name == 'gated' else f'plain_{port.name}'})" for port in outputs
        ]
        return f"  {top}_{name} {name} ({', '.join(pins)});"

    lines = [
        *texts,
        f"module {top} (",
        ",\n".join(f"  {port.direction} wire {port.range}{port.name}" for port in ports),
        ");",
        *(f"  wire {port.range}plain_{port.name};" for port in outputs),
        instance("gated"),
        instance("plain"),
        "  always @(posedge aclk) begin",
        *(
            f'    if ({when(port.name)}{port.name} != plain_{port.name}) $fatal(1, "{DIFFERS} at {port.name}");'
            for port in outputs
        ),
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


_WORDS = """\
read_verilog -sv design.v
hierarchy -top {top}
proc
opt_clean
memory_collect
chtype -set pessimistic_memory t:$mem_v2
dffunmap
pmuxtree
opt_clean
{gates}
write_verilog -noattr netlist.v
"""

#: Each bit by itself, between gates of two inputs.
_GATES = """\
techmap
opt_clean
simplemap
opt_expr
opt_clean -purge
"""

#: A memory after ``memory_collect``: it ends the simulation when a write is unknown. A cycle after ``aresetn`` an engine
#: is still reset inside: then an unknown write makes the contents unknown, on which nothing may rely after a reset.
_MEMORY = """
module pessimistic_memory #(
  parameter MEMID = "", SIZE = 1, OFFSET = 0, ABITS = 1, WIDTH = 1, INIT = 0,
  parameter RD_PORTS = 1, RD_CLK_ENABLE = 0, RD_CLK_POLARITY = 0, RD_TRANSPARENCY_MASK = 0, RD_COLLISION_X_MASK = 0,
  parameter RD_WIDE_CONTINUATION = 0, RD_CE_OVER_SRST = 0, RD_ARST_VALUE = 0, RD_SRST_VALUE = 0, RD_INIT_VALUE = 0,
  parameter WR_PORTS = 1, WR_CLK_ENABLE = 0, WR_CLK_POLARITY = 0, WR_PRIORITY_MASK = 0, WR_WIDE_CONTINUATION = 0
) (
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST,
  input [RD_PORTS*ABITS-1:0] RD_ADDR,
  output [RD_PORTS*WIDTH-1:0] RD_DATA,
  input [WR_PORTS-1:0] WR_CLK,
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA,
  input [WR_PORTS*ABITS-1:0] WR_ADDR
);
  reg [WIDTH-1:0] words [0:SIZE-1];
  genvar port;
  generate for (port = 0; port < RD_PORTS; port = port + 1) begin : reads
    assign RD_DATA[port*WIDTH +: WIDTH] = words[RD_ADDR[port*ABITS +: ABITS]];
  end endgenerate
  integer each, lane, word;
  reg [WIDTH-1:0] enable;
  reg [ABITS-1:0] address;
  reg settled;
  always @(posedge WR_CLK[0]) settled <= AROUND.aresetn;
  always @(posedge WR_CLK[0]) if (AROUND.aresetn === 1'b1) for (each = 0; each < WR_PORTS; each = each + 1) begin
    enable = WR_EN[each*WIDTH +: WIDTH];
    address = WR_ADDR[each*ABITS +: ABITS];
    if ((^enable) === 1'bx || (enable != 0 && (^address) === 1'bx)) begin
      if (settled === 1'b1) $fatal(1, "%m: the write enable %b or address %b is unknown", enable, address);
      for (word = 0; word < SIZE; word = word + 1) words[word] = 'bx;
    end else for (lane = 0; lane < WIDTH; lane = lane + 1)
      if (enable[lane]) words[address][lane] <= WR_DATA[each*WIDTH + lane];
  end
  always @(negedge AROUND.aresetn) for (word = 0; word < SIZE; word = word + 1) words[word] = 'bx;
endmodule
"""


def pessimistic(verilog: str, top: str, *, gates: bool = False) -> str:
    """The netlist of the module ``top`` of ``verilog``, for four-state simulation: operators, or ``gates``."""
    with scratch() as folder:
        (folder / "design.v").write_text(verilog)
        find_yosys().run(_WORDS.format(top=top, gates=_GATES if gates else ""), folder)
        netlist = (folder / "netlist.v").read_text()
    return netlist + _MEMORY.replace("AROUND", four_state_name(top))


def cells_of(dut: wiring.Component) -> list[dict[str, Any]]:
    """The cells of an ECP5."""
    with scratch() as folder:
        Path(folder, "top.il").write_text(rtlil.convert(dut, name="top", emit_src=False))
        find_yosys().run("read_rtlil top.il\nsynth_ecp5 -noiopad -top top\nwrite_json top.json\n", folder)
        return list(json.loads(Path(folder, "top.json").read_text())["modules"]["top"]["cells"].values())
