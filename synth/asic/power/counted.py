"""A netlist as Verilog that counts, while a bench runs it, how often each of its nets changes and how long it is 1.

Every net is a wire of its own, so that nothing of it is lost. The top has one more port, ``counting``: when that falls,
the counts since it rose are written to the file that the plusarg ``activity`` names, and begin anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cdma.synth.asic.library.library import indexed
from cdma.synth.asic.netlist import Netlist
from cdma.synth.asic.paths import LibraryError, MeasureError
from cdma.synth.asic.recipe import MEMORY_LEFT_OUT

from .power_tables import PowerCell, PowerLibrary

#: The port that says when to count.
COUNTING = "counting"

#: The nets that are counted at a time.
_NETS = 32

#: One loop for all nets: a counter for each would be long to compile.
_COUNTERS = f"""\
  reg [{_NETS - 1}:0] last [0:{{words}} - 1];
  reg [31:0] changes [0:{_NETS} * {{words}} - 1];
  reg [31:0] ones [0:{_NETS} * {{words}} - 1];
  reg [{_NETS - 1}:0] now, changed;
  reg counted = 0;
  integer cycles, file, word, place;
  string path;
  always @(posedge {{clock}}) begin
    counted <= {COUNTING};
    if ({COUNTING}) begin
      cycles = (counted ? cycles : 0) + 1;
      for (word = 0; word < {{words}}; word = word + 1) begin
        now = nets[word];
        changed = counted ? now ^ last[word] : 0;
        for (place = 0; place < {_NETS}; place = place + 1) begin
          changes[word * {_NETS} + place] = (counted ? changes[word * {_NETS} + place] : 0) + {{{{31'b0, changed[place]}}}};
          ones[word * {_NETS} + place] = (counted ? ones[word * {_NETS} + place] : 0) + {{{{31'b0, now[place]}}}};
        end
        last[word] = now;
      end
    end else if (counted && $value$plusargs("activity=%s", path)) begin
      file = $fopen(path, "a");
      $fdisplay(file, "cycles %0d", cycles);
      for (place = 0; place < {_NETS} * {{words}}; place = place + 1)
        $fdisplay(file, "%0d %0d", changes[place], ones[place]);
      $fclose(file);
    end
  end"""


@dataclass(frozen=True)
class Counts:
    """What a run counted: the clock cycles, and of each net the changes and the cycles in which it is 1."""

    cycles: int
    changes: Mapping[int, int]
    ones: Mapping[int, int]


def read_counts(text: str, netlist: Netlist) -> list[Counts]:
    """The counts that a simulation of the netlist wrote, one for each time that it counted."""
    nets = _nets(netlist)
    runs: list[Counts] = []
    for part in text.split("cycles ")[1:]:
        first, *lines = part.splitlines()
        rows = [[int(word) for word in line.split()] for line in lines]
        if len(rows) < len(nets):
            raise MeasureError("the simulation ended before it had written what it counted")
        changes, ones = ({net: row[which] for net, row in zip(nets, rows, strict=False)} for which in (0, 1))
        runs.append(Counts(int(first), changes, ones))
    return runs


def _nets(netlist: Netlist) -> list[int]:
    """The nets in the order in which they are counted."""
    module = netlist.modules[netlist.top]
    groups = [port["bits"] for port in module["ports"].values()]
    groups += [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    return sorted({bit for bits in groups for bit in bits if isinstance(bit, int)})


def counted_verilog(netlist: Netlist, library: PowerLibrary, clock: str) -> str:
    """The Verilog of a flat netlist, with the names of its ports."""
    module = netlist.modules[netlist.top]
    ports = module["ports"]
    names = [*ports, COUNTING]
    lines = [f"module {netlist.top}({', '.join(names)});", f"  input {COUNTING};"]
    nets = _nets(netlist)
    lines += [f"  wire n{net};" for net in nets]
    for name, port in ports.items():
        bits = port["bits"]
        lines.append(f"  {port['direction']} [{len(bits) - 1}:0] {name};")
        if port["direction"] == "input":
            lines += [f"  assign n{bit} = {name}[{index}];" for index, bit in enumerate(bits)]
        else:
            lines.append(f"  assign {name} = {_vector(bits)};")
    #: Of a gated clock it is counted whether it will rise, because it is low when it is sampled.
    gated = set(_gated_clocks(module, library))
    lines += [f"  wire r{net};" for net in sorted(gated)]
    for number, cell in enumerate(module["cells"].values()):
        kind, pins = cell["type"], cell["connections"]
        if kind == MEMORY_LEFT_OUT:
            lines += _memory(f"m{number}", cell)
            continue
        known = library.cells[kind]
        if known.gating:
            lines += _clock_gate(number, known, pins)
            out, before = (pins[known.gating[part]][0] for part in ("out", "clock"))
            lines.append(f"  assign r{out} = s{number}{f' & r{before}' if before in gated else ''};")
        elif known.state:
            lines += _flip_flop(number, known, pins)
        else:
            lines += _gate(known, pins)
    instead = {net: f"r{net}" for net in gated}
    lines += _counters(nets, instead, _net(ports[clock]["bits"][0]))
    return "\n".join([*lines, "endmodule", ""])


def _gated_clocks(module: Mapping[str, Any], library: PowerLibrary) -> Iterator[int]:
    """The nets that clock gates drive."""
    for cell in module["cells"].values():
        if cell["type"] != MEMORY_LEFT_OUT and (gating := library.cells[cell["type"]].gating):
            yield cell["connections"][gating["out"]][0]


def _net(bit: int | str) -> str:
    return f"n{bit}" if isinstance(bit, int) else f"1'b{bit if bit in '01' else '0'}"


def _vector(bits: list[Any]) -> str:
    return f"{{{', '.join(map(_net, reversed(bits)))}}}"


def _function(function: str, names: list[str], terms: list[str], cell: PowerCell) -> str:
    try:
        text = indexed(function, names)
    except ValueError:
        raise LibraryError(f"the function of {cell.name} is not understood: {function}") from None
    return re.sub(r"v\[(\d+)\]", lambda match: terms[int(match[1])], text)


def _inputs(cell: PowerCell, pins: Mapping[str, list[Any]]) -> tuple[list[str], list[str]]:
    """The names of the inputs of a cell, and their nets."""
    names = [pin.name for pin in cell.pins.values() if pin.direction == "input"]
    return names, [_net(pins[name][0]) if pins.get(name) else "1'b0" for name in names]


def _outputs(cell: PowerCell, pins: Mapping[str, list[Any]]) -> Iterator[tuple[str, str]]:
    """Of each connected output the net and the function."""
    for pin in cell.pins.values():
        if pin.direction == "output" and pins.get(pin.name):
            yield _net(pins[pin.name][0]), pin.function


def _gate(cell: PowerCell, pins: Mapping[str, list[Any]]) -> list[str]:
    names, terms = _inputs(cell, pins)
    return [f"  assign {net} = {_function(text, names, terms, cell)};" for net, text in _outputs(cell, pins)]


def _flip_flop(number: int, cell: PowerCell, pins: Mapping[str, list[Any]]) -> list[str]:
    """One that is neither set nor cleared without a clock; the pins that would do that are tied to what leaves it alone."""
    names, terms = _inputs(cell, pins)
    (clock,) = pins[cell.clock]
    state = [*names, *cell.state], [*terms, f"s{number}", f"(~s{number})"]
    return [
        f"  reg s{number};",
        f"  always @(posedge {_net(clock)}) s{number} <= {_function(cell.next_state, *state, cell)};",
        *(f"  assign {net} = {_function(text, *state, cell)};" for net, text in _outputs(cell, pins)),
    ]


def _clock_gate(number: int, cell: PowerCell, pins: Mapping[str, list[Any]]) -> list[str]:
    clock, enable, out = (_net(pins[cell.gating[part]][0]) for part in ("clock", "enable", "out"))
    test = f" | {_net(pins[cell.gating['test']][0])}" if "test" in cell.gating else ""
    return [
        f"  reg s{number};",
        f"  always_latch if (~{clock}) s{number} = {enable}{test};",
        f"  assign {out} = {clock} & s{number};",
    ]


def _counters(nets: list[int], instead: Mapping[int, str], clock: str) -> list[str]:
    words = -(-len(nets) // _NETS)
    lines = [f"  wire [{_NETS - 1}:0] nets [0:{words - 1}];"]
    for word in range(words):
        bits = [instead.get(net, f"n{net}") for net in nets[word * _NETS : (word + 1) * _NETS]]
        padded = ["1'b0"] * (_NETS - len(bits)) + bits[::-1]
        lines.append(f"  assign nets[{word}] = {{{', '.join(padded)}}};")
    return [*lines, _COUNTERS.format(words=words, clock=clock)]


def _memory(name: str, cell: Mapping[str, Any]) -> list[str]:
    """A memory as Yosys's cell has it, whose ports share a clock."""
    parameters = cell["parameters"]
    pins: Mapping[str, list[Any]] = cell["connections"]

    def number(parameter: str) -> int:
        return int(str(parameters[parameter]), 2)

    width, size, address_bits = number("WIDTH"), number("SIZE"), number("ABITS")
    if number("RD_TRANSPARENCY_MASK") or number("RD_WIDE_CONTINUATION") or number("WR_WIDE_CONTINUATION"):
        raise MeasureError(
            f"the memory {name} has a port that is transparent or wide; it cannot be simulated"
        )

    def part(pin: str, port: int, bits: int) -> list[Any]:
        return pins[pin][port * bits : (port + 1) * bits]

    lines = [f"  reg [{width - 1}:0] {name} [0:{size - 1}];"]
    for port in range(number("WR_PORTS")):
        clock, address = _net(pins["WR_CLK"][port]), _vector(part("WR_ADDR", port, address_bits))
        lines.append(f"  always @(posedge {clock}) begin")
        written, enables = part("WR_DATA", port, width), part("WR_EN", port, width)
        lines += [
            f"    if ({_net(enable)}) {name}[{address}][{bit}] <= {_net(written[bit])};"
            for bit, enable in enumerate(enables)
        ]
        lines.append("  end")
    clocked = number("RD_CLK_ENABLE")
    for port in range(number("RD_PORTS")):
        read = f"{name}[{_vector(part('RD_ADDR', port, address_bits))}]"
        value = _vector(part("RD_DATA", port, width))
        if clocked >> port & 1:
            lines += [
                f"  reg [{width - 1}:0] {name}_{port};",
                f"  always @(posedge {_net(pins['RD_CLK'][port])})",
                f"    if ({_net(pins['RD_EN'][port])}) {name}_{port} <= {read};",
                f"  assign {value} = {name}_{port};",
            ]
        else:
            lines.append(f"  assign {value} = {read};")
    return lines


def memory_bits(netlist: Netlist, counts: Counts) -> tuple[int, int]:
    """How many bits were read from the memories that the netlist leaves out, by ports with a clock, and written to them."""
    read = written = 0

    def cycles(bit: int | str) -> int:
        return counts.ones[bit] if isinstance(bit, int) else counts.cycles * (bit == "1")

    for cell in netlist.modules[netlist.top]["cells"].values():
        if cell["type"] == MEMORY_LEFT_OUT:
            width, clocked = (int(str(cell["parameters"][name]), 2) for name in ("WIDTH", "RD_CLK_ENABLE"))
            enables = cell["connections"]["RD_EN"]
            read += sum(width * cycles(bit) for port, bit in enumerate(enables) if clocked >> port & 1)
            written += sum(map(cycles, cell["connections"]["WR_EN"]))
    return read, written
