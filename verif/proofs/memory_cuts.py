"""Memories of two designs that are compared: each is cut out at its ports, and both sides have the same ones.

A memory then takes what its ports are given, which must be the same on both sides, and gives what it likes, which is the
same on both sides. Where nothing is written, address and data say nothing, and are 0.
"""

from __future__ import annotations

import re

from cdma.base.errors import ToolError

__all__ = ["MEMORY_CUT", "MEMORY_PASSES", "check_memories"]

#: Read ports are not clocked here: the register behind one is a register of its own. Write ports of one address are one. The
#: order of read ports is free, so a memory with several is registers; so are one of one word, and a table, whose values
#: count.
MEMORY_PASSES = """\
memory_share -nosat -nowiden
memory_map -rom-only
memory_map r:RD_PORTS>1 r:SIZE=1
techmap -max_iter 1 -map memory.v
opt_clean
"""

#: The rule of Yosys's ``techmap`` that masks what a write port is given while it writes nothing, and the clock of a read
#: port that has none.
MEMORY_CUT = r"""
module \$mem_v2 (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
  parameter MEMID = "";
  parameter SIZE = 1, OFFSET = 0, ABITS = 1, WIDTH = 1, INIT = 1'bx, RD_PORTS = 1, WR_PORTS = 1;
  parameter RD_CLK_ENABLE = 0, RD_CLK_POLARITY = 0, RD_TRANSPARENCY_MASK = 0, RD_COLLISION_X_MASK = 0;
  parameter RD_WIDE_CONTINUATION = 0, RD_CE_OVER_SRST = 0, RD_ARST_VALUE = 0, RD_SRST_VALUE = 0;
  parameter RD_INIT_VALUE = 0, WR_CLK_ENABLE = 1, WR_CLK_POLARITY = 1, WR_PRIORITY_MASK = 0;
  parameter WR_WIDE_CONTINUATION = 0;
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;
  wire [WR_PORTS*ABITS-1:0] written;
  genvar n;
  for (n = 0; n < WR_PORTS; n = n + 1)
    assign written[n*ABITS +: ABITS] = WR_ADDR[n*ABITS +: ABITS] & {ABITS{|WR_EN[n*WIDTH +: WIDTH]}};
  \$mem_v2 #(
    .MEMID(MEMID), .SIZE(SIZE), .OFFSET(OFFSET), .ABITS(ABITS), .WIDTH(WIDTH), .INIT(INIT),
    .RD_PORTS(RD_PORTS), .RD_CLK_ENABLE(RD_CLK_ENABLE), .RD_CLK_POLARITY({RD_PORTS{1'b1}}),
    .RD_TRANSPARENCY_MASK(RD_TRANSPARENCY_MASK), .RD_COLLISION_X_MASK(RD_COLLISION_X_MASK),
    .RD_WIDE_CONTINUATION(RD_WIDE_CONTINUATION), .RD_CE_OVER_SRST(RD_CE_OVER_SRST),
    .RD_ARST_VALUE(RD_ARST_VALUE), .RD_SRST_VALUE(RD_SRST_VALUE), .RD_INIT_VALUE(RD_INIT_VALUE),
    .WR_PORTS(WR_PORTS), .WR_CLK_ENABLE(WR_CLK_ENABLE), .WR_CLK_POLARITY(WR_CLK_POLARITY),
    .WR_PRIORITY_MASK(WR_PRIORITY_MASK), .WR_WIDE_CONTINUATION(WR_WIDE_CONTINUATION)
  ) _TECHMAP_REPLACE_ (
    .RD_CLK({RD_PORTS{1'b0}}), .RD_EN(RD_EN), .RD_ARST(RD_ARST), .RD_SRST(RD_SRST),
    .RD_ADDR(RD_ADDR), .RD_DATA(RD_DATA),
    .WR_CLK(WR_CLK), .WR_EN(WR_EN), .WR_ADDR(written), .WR_DATA(WR_DATA & WR_EN)
  );
endmodule
"""


def check_memories(gold: str, gate: str) -> None:
    """Refuses two designs in RTLIL that have not the same memories: names, words, bits, ports and clocks."""
    ours, theirs = _memories(gold), _memories(gate)
    different = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    if different:
        raise ToolError(f"the memory {different[0]} is not the same on both sides")


def _memories(text: str) -> dict[str, list[str]]:
    """The parameters of each memory of a design, by its module and its name."""
    found = {}
    for module in re.split(r"^module \\", text, flags=re.MULTILINE)[1:]:
        name = module.split(maxsplit=1)[0]
        for cell in re.finditer(r"^  cell \$mem_v2 \\(\S+)\n((?:    parameter .*\n)*)", module, re.MULTILINE):
            parameters = [line.strip() for line in cell[2].splitlines() if r"\MEMID" not in line]
            found[f"{name}.{cell[1]}"] = parameters
    return found
