"""A netlist in which an unknown condition has an unknown result, as it has between gates.

In Verilog text, ``if (x)`` takes the other branch as if nothing were unknown. Here every register is a flip-flop without
enable and reset, and what decided is a multiplexer, whose result is X where its select is X and its inputs differ.
"""

from __future__ import annotations

from cdma.base.yosys import find_yosys, scratch
from cdma.verif.simulator.four_state import four_state_name

__all__ = ["pessimistic"]

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
