"""A harness that a circuit is placed and routed in.

A codec has far more ports than a package has pins. In the harness a shift register feeds its inputs from one pin,
every output goes to a flip-flop of its own, and a second shift register, to which all of those are added in each cycle,
takes them out to another pin. No signal of the harness goes to more than a few flip-flops. All paths then run from
register to register, those of the ports included, as between neighbouring blocks of a design.
"""

from __future__ import annotations

from typing import Any

from cdma.synth.errors import MeasureError

__all__ = ["PORTS", "harness"]

#: The ports of the harness, in the order of a device's pins.
PORTS = ("clk", "data_in", "data_out")

#: Names of the clock, the only port that the harness connects to a pin.
_CLOCKS = ("aclk", "clk")


def harness(top: str, ports: dict[str, Any]) -> str:
    """Returns Verilog of a module ``harness`` around ``top`` with three pins: a clock, data in, and data out."""
    clocks = [name for name in ports if name in _CLOCKS]
    if len(clocks) != 1:
        raise MeasureError(f"{top} has the clocks {clocks}; placing and routing needs one, aclk or clk")
    widths = {
        direction: {
            name: len(port["bits"])
            for name, port in ports.items()
            if port["direction"] == direction and name not in clocks
        }
        for direction in ("input", "output")
    }
    inputs, outputs = (max(1, sum(widths[direction].values())) for direction in ("input", "output"))
    connections = [f".{clocks[0]}(clk)"]
    for direction, register in (("input", "feed"), ("output", "seen")):
        low = 0
        for name, width in widths[direction].items():
            connections.append(f".{name}({register}[{low + width - 1}:{low}])")
            low += width
    return f"""\
module harness (input clk, input data_in, output data_out);
  reg [{inputs - 1}:0] feed;
  wire [{outputs - 1}:0] seen;
  reg [{outputs - 1}:0] caught, leaving;
  assign data_out = leaving[0];
  always @(posedge clk) begin
    feed <= {{feed, data_in}};
    caught <= seen;
    leaving <= caught ^ (leaving >> 1);
  end
  {top} circuit (
    {("," + chr(10) + "    ").join(connections)}
  );
endmodule
"""
