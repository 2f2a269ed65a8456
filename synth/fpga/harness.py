"""A harness that a circuit is placed and routed in, and the output registers of an ECP5's block RAM.

A codec has far more ports than a package has pins. In the harness a shift register feeds its inputs from one pin, every
output goes to a flip-flop of its own, and a second shift register, to which all of those are added in each cycle, takes
them out to another pin. No signal of the harness goes to more than a few flip-flops. All paths then run from register
to register, those of the ports included, as between neighbouring blocks of a design.

A word takes 5.7 ns out of a block RAM of the slowest grade, and less than 1 ns out of its output register. Vendors'
synthesis puts a register that follows a memory there; Yosys does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from cdma.synth.asic.paths import MeasureError

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


_BLOCK, _FLIP_FLOP = "DP16KD", "TRELLIS_FF"
_OUTPUTS = tuple(f"DO{side}{bit}" for side in "AB" for bit in range(18))
#: Of a flip-flop that a bit of the output register can stand for, besides its enable.
_PLAIN = {"CLKMUX": "CLK", "REGSET": "RESET"}

#: A cell, or a module, of a netlist as Yosys writes it.
Cell = dict[str, Any]


def use_output_registers(module: Cell) -> int:
    """Moves registers into the block RAMs that they follow, and returns the number of flip-flops that are gone.

    They have the clock of the read port, one enable, no reset and the value 0 at first, and no other cell sees what the
    memory read. The read port is B, as it is wherever Yosys infers a memory with one write and one read port. That
    ``OCEB`` alone enables the output register, in reset too, is read from the cell's documents and not tried on a device.
    """
    cells: dict[str, Cell] = module["cells"]
    readers = _readers(module)
    gone: list[str] = []
    for cell in cells.values():
        if cell["type"] == _BLOCK:
            register = _register_after(cell, cells, readers)
            if register:
                _merge(cell, cells, register)
                gone += register.values()
    for name in gone:
        del cells[name]
    return len(gone)


def _readers(module: Cell) -> dict[int, list[tuple[str, str]]]:
    """The inputs that each net drives, as names of cell and port; a port of the module has no cell."""
    readers: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for name, port in module["ports"].items():
        if port["direction"] != "input":
            for bit in port["bits"]:
                readers[bit].append(("", name))
    for name, cell in module["cells"].items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) != "output":
                for bit in bits:
                    readers[bit].append((name, port))
    return readers


def _register_after(
    block: Cell, cells: Mapping[str, Cell], readers: Mapping[int, list[tuple[str, str]]]
) -> dict[str, str]:
    """The flip-flops that take what a block RAM reads, by its outputs; none unless all of them can be in it."""
    nets, parameters = block["connections"], block["parameters"]
    wide = int(parameters["DATA_WIDTH_A"], 2) == 36
    fits = (parameters["REGMODE_A"], parameters["REGMODE_B"]) == ("NOREG", "NOREG")
    if not fits or nets["WEB"] != ["0"] or nets["RSTB"] != ["0"] or parameters["CLKBMUX"] != "CLKB":
        return {}
    found: dict[str, str] = {}
    enables = set()
    for output in _OUTPUTS:
        fanout = [reader for net in nets.get(output, []) for reader in readers.get(net, [])]
        if not fanout:
            continue
        (name, port), *others = fanout
        if others or port != "DI" or (output.startswith("DOA") and not wide):
            return {}
        flip_flop = cells[name]
        if not _is_plain(flip_flop, nets["CLKB"]):
            return {}
        found[output] = name
        enables.add(_enable(flip_flop))
    return found if len(enables) == 1 else {}


def _is_plain(cell: Cell, clock: list[int]) -> bool:
    """Whether it is a flip-flop of that clock without a reset, and 0 at first."""
    return (
        cell["type"] == _FLIP_FLOP
        and all(cell["parameters"].get(name, value) == value for name, value in _PLAIN.items())
        and cell["parameters"].get("CEMUX", "CE").strip() in ("CE", "1")
        and cell["connections"]["CLK"] == clock
        and cell["connections"].get("LSR", ["0"]) == ["0"]
    )


def _enable(flip_flop: Cell) -> int | str:
    """The net that enables a flip-flop, or a constant."""
    if flip_flop["parameters"].get("CEMUX", "CE") != "CE":
        return "1"
    enable: int | str = flip_flop["connections"].get("CE", ["1"])[0]
    return enable


def _merge(block: Cell, cells: Mapping[str, Cell], register: Mapping[str, str]) -> None:
    """Takes the flip-flops' outputs for those of the block RAM."""
    for output, name in register.items():
        block["connections"][output] = cells[name]["connections"]["Q"]
    block["connections"]["OCEB"] = [_enable(cells[next(iter(register.values()))])]
    block["parameters"] |= {"REGMODE_A": "OUTREG", "REGMODE_B": "OUTREG"}
