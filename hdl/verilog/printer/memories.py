"""Memories: their shapes, and one wrapper module for each shape, which a macro of the same function can replace.

Reads come before writes: a read of an address that is written in the same cycle gives the old word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import gcd

from cdma.hdl.verilog.names import VERILOG_2005, Dialect
from cdma.hdl.verilog.netlist.model import Cell, Signal, constant, cut, joined, width_of

from .expressions import Node, leaf
from .layout import assignment, condition, constant_text, flat, wrapped

#: The style of a memory that is made of flip-flops.
REGISTERS = "registers"
#: What a style asks of synthesis: block RAM comes without logic around it for words that are read while they are written.
_STYLES = {
    REGISTERS: '  (* ram_style = "registers" *)',
    "block": '  (* ram_style = "block", no_rw_check *)',
    "distributed": '  (* ram_style = "distributed" *)',
}


@dataclass(frozen=True)
class Shape:
    """The properties that memories of one wrapper share.

    ``depth``, ``width``: Words, and bits of a word.
    ``reads``: For each read port, whether it is synchronous.
    ``writes``: Number of write ports.
    ``granule``: Bits per write enable; ``width`` for a single enable.
    ``contents``: The initial words, most significant bit first, if any is not 0; None if there are initial values of 0;
        an empty tuple if there are no initial values.
    ``style``: The FPGA's memory: ``distributed`` for look-up tables; ``block`` for block RAM, where a read that
        collides with a write may give any word; empty for synthesis to choose. Or ``registers`` for what is no memory
        but flip-flops.
    """

    depth: int
    width: int
    reads: tuple[bool, ...]
    writes: int
    granule: int
    contents: tuple[str, ...] | None
    style: str

    @property
    def name(self) -> str:
        """The name of the shape, for example ``ram_1w1r_64x289_sync``."""
        ports = f"{self.writes}w{len(self.reads)}r" if self.writes else f"{len(self.reads)}r"
        kind = "ram" if self.writes else "rom"
        part = "" if self.granule == self.width else f"_by{self.granule}"
        read = "sync" if all(self.reads) else "async"
        style = f"_{self.style}" if self.style else ""
        return f"{kind}_{ports}_{self.depth}x{self.width}{part}_{read}{style}"

    @property
    def bits(self) -> int:
        return self.depth * self.width

    @property
    def address_bits(self) -> int:
        return max(1, (self.depth - 1).bit_length())


@dataclass(frozen=True)
class WritePort:
    """A write port: one bit of ``enable`` for each granule."""

    clock: Signal
    enable: Signal
    address: Signal
    data: Signal


@dataclass(frozen=True)
class ReadPort:
    """A read port; an asynchronous one has no clock and no enable."""

    clock: Signal
    enable: Signal
    address: Signal
    data: Signal


@dataclass(frozen=True)
class Memory:
    """A memory of a module; ``checks`` of the bits of each word tell whether the others have changed."""

    name: str
    shape: Shape
    writes: tuple[WritePort, ...]
    reads: tuple[ReadPort, ...]
    checks: int = 0

    def inputs(self) -> Iterator[tuple[str, Signal]]:
        """The signals at the inputs of the wrapper, by port."""
        for port, signal, is_input, _ in self.pins():
            if is_input and port != "clk":
                yield port, signal

    def pins(self) -> Iterator[tuple[str, Signal, bool, int]]:
        """The ports of the wrapper: name, connected signal, whether it is an input, and width."""
        clocks = [write.clock for write in self.writes] + [read.clock for read in self.reads if read.clock]
        if clocks:
            assert all(clock == clocks[0] for clock in clocks), self.name
            yield "clk", clocks[0], True, 1
        for number, write in enumerate(self.writes):
            start = "write" if len(self.writes) == 1 else f"write{number}"
            yield f"{start}_enable", write.enable, True, width_of(write.enable)
            yield f"{start}_address", write.address, True, width_of(write.address)
            yield f"{start}_data", write.data, True, width_of(write.data)
        for number, read in enumerate(self.reads):
            start = "read" if len(self.reads) == 1 else f"read{number}"
            if read.clock:
                yield f"{start}_enable", read.enable, True, 1
            yield f"{start}_address", read.address, True, width_of(read.address)
            yield f"{start}_data", read.data, False, width_of(read.data)


def memory_of(cell: Cell) -> Memory:
    number = {name[1:]: int(value) for name, value in cell.parameters.items() if value.isdigit()}
    depth, width, address_bits = number["SIZE"], number["WIDTH"], number["ABITS"]
    read_count, write_count = number["RD_PORTS"], number["WR_PORTS"]
    assert number["OFFSET"] == 0, cell

    def part(port: str, index: int, size: int) -> Signal:
        return cut(cell.ports[port], index * size, size)

    def address(port: str, index: int) -> Signal:
        # Yosys gives the address of one word no bits; the module of its shape has a port all the same.
        return part(port, index, address_bits) or [constant("0")]

    clocked = cell.parameter_bits("\\RD_CLK_ENABLE")[::-1]
    for name in (
        "\\RD_TRANSPARENCY_MASK",
        "\\WR_PRIORITY_MASK",
        "\\RD_WIDE_CONTINUATION",
        "\\WR_WIDE_CONTINUATION",
    ):
        assert "1" not in cell.parameter_bits(name), (name, cell)
    assert all(piece.bits is not None and "1" not in piece.bits for piece in cell.ports["\\RD_SRST"]), cell
    collected = [
        ReadPort(
            part("\\RD_CLK", index, 1) if clocked[index] == "1" else [],
            part("\\RD_EN", index, 1) if clocked[index] == "1" else [],
            address("\\RD_ADDR", index),
            part("\\RD_DATA", index, width),
        )
        for index in range(read_count)
    ]
    reads = tuple(_in_order(collected, cell.name))
    enables = [part("\\WR_EN", index, width) for index in range(write_count)]
    granule = gcd(*(length for enable in enables for length in _runs(enable)), width)
    writes = tuple(
        WritePort(
            part("\\WR_CLK", index, 1),
            joined([piece for low in range(0, width, granule) for piece in cut(enables[index], low, 1)]),
            address("\\WR_ADDR", index),
            part("\\WR_DATA", index, width),
        )
        for index in range(write_count)
    )
    shape = Shape(
        depth,
        width,
        tuple(bool(port.clock) for port in reads),
        write_count,
        granule,
        _contents(cell, depth, width),
        cell.attributes.get("\\ram_style", "").strip('"'),
    )
    return Memory(cell.name, shape, writes, reads, int(cell.attributes.get("\\checks", "0")))


def _in_order(reads: list[ReadPort], memory: str) -> list[ReadPort]:
    """Read ports in the order of the numbers in the names of their nets; Yosys has collected them in another."""
    found: dict[int, int] = {}
    for place, port in enumerate(reads):
        for piece in (*port.data, *port.address, *port.enable):
            if match := re.match(rf"{re.escape(memory)}_read(\d+)_", piece.wire):
                found[place] = int(match[1])
    free = iter(sorted({*range(len(reads))} - {*found.values()}))
    numbers = [found[place] if place in found else next(free) for place in range(len(reads))]
    return [reads[place] for place in sorted(range(len(reads)), key=numbers.__getitem__)]


def _runs(enable: Signal) -> list[int]:
    """The lengths of the runs of bits with the same enable."""
    bits = [piece.cut(index, 1) for piece in enable for index in range(piece.width)]
    return [len(list(run)) for _, run in groupby(bits)]


def _contents(cell: Cell, depth: int, width: int) -> tuple[str, ...] | None:
    bits = cell.parameter_bits("\\INIT")
    if "0" not in bits and "1" not in bits:
        return ()
    if "1" not in bits:
        return None
    end = len(bits)
    return tuple(bits[end - (index + 1) * width : end - index * width] for index in range(depth))


def wrapper_ports(memory: Memory) -> list[tuple[str, bool, int]]:
    """Name, whether it is an input, and width of each port of a memory's wrapper."""
    return [(name, is_input, width) for name, _, is_input, width in memory.pins()]


def read_data(memory: Memory) -> list[str]:
    """The names of the read data ports."""
    return [name for name, _, is_input, _ in memory.pins() if not is_input]


def initial_values(shape: Shape, name: str) -> list[str]:
    """The lines of a memory's initial contents."""
    if shape.contents == ():
        return []
    if shape.contents is None:
        zero = constant_text("0" * shape.width)
        return [
            f"  initial begin : clear_{name}",
            "    integer entry;",
            f"    for (entry = 0; entry < {shape.depth}; entry = entry + 1) begin",
            f"      {name}[entry] = {zero};",
            "    end",
            "  end",
        ]
    words = [f"    {name}[{index}] = {constant_text(bits)};" for index, bits in enumerate(shape.contents)]
    return ["  initial begin", *words, "  end"]


def wrapper(module: str, memory: Memory, dialect: Dialect) -> list[str]:
    """The lines of a memory's wrapper."""
    shape = memory.shape
    ports = wrapper_ports(memory)
    registered = {name for name, clocked in zip(read_data(memory), shape.reads, strict=True) if clocked}
    lines = [f"// {_description(shape)}", f"module {module} ("]
    for index, (name, is_input, width) in enumerate(ports):
        kind = dialect.register if name in registered else dialect.net
        span = f"[{width - 1}:0] " if width > 1 else ""
        direction = "input " if is_input else "output"
        lines.append(f"  {direction} {kind:4} {span}{name}{',' if index < len(ports) - 1 else ''}")
    widths = {name: width for name, _, width in ports}

    def part(port: str, low: int, size: int) -> Node:
        if size == widths[port]:
            return leaf(port, size)
        return leaf(f"{port}[{low}]" if size == 1 else f"{port}[{low + size - 1}:{low}]", size)

    lines += [");", *infer(memory, "contents", part, dialect), "endmodule"]
    return lines


def _description(shape: Shape) -> str:
    enables = "" if shape.granule == shape.width else f", a write enable for every {shape.granule} bits"
    latency = "a cycle after its address" if all(shape.reads) else "in the cycle of its address"
    return f"{shape.depth} words of {shape.width} bits{enables}; a word is read {latency}."


def infer(memory: Memory, name: str, part: Callable[[str, int, int], Node], dialect: Dialect) -> list[str]:
    """The lines of an inferred memory; ``part`` gives bits of a port by its name, the lowest bit and their number."""
    shape = memory.shape
    lines = [_STYLES[shape.style]] if shape.style else []
    lines.append(f"  {dialect.register} [{shape.width - 1}:0] {name} {dialect.words(shape.depth)};")
    lines += initial_values(shape, name)
    # Initial words are written by another process, and each port is one.
    write_once = shape.writes == 1 and shape.contents == ()
    edge = f"@(posedge {flat(part('clk', 0, 1))}) begin" if shape.writes > 0 or any(shape.reads) else ""
    for number in range(shape.writes):
        start = "write" if shape.writes == 1 else f"write{number}"
        word = f"{name}[{flat(part(f'{start}_address', 0, shape.address_bits))}]"
        lines.append(f"  {dialect.clocked if write_once else VERILOG_2005.clocked} {edge}")
        for index, low in enumerate(range(0, shape.width, shape.granule)):
            bits = f"[{low}]" if shape.granule == 1 else f"[{low + shape.granule - 1}:{low}]"
            target = word if shape.granule == shape.width else f"{word}{bits}"
            lines += condition("    if (", part(f"{start}_enable", index, 1), 4)
            lines += assignment(f"{target} <=", part(f"{start}_data", low, shape.granule), 6)
            lines.append("    end")
        lines.append("  end")
    for number, clocked in enumerate(shape.reads):
        start = "read" if len(shape.reads) == 1 else f"read{number}"
        word = f"{name}[{flat(part(f'{start}_address', 0, shape.address_bits))}]"
        data = part(f"{start}_data", 0, shape.width)
        if clocked:
            lines += [f"  {dialect.clocked} {edge}", *condition("    if (", part(f"{start}_enable", 0, 1), 4)]
            lines += [*_load(data, f" <= {word};"), "    end", "  end"]
        else:
            lines += [f"  assign {flat(data)} = {word};"]
    return lines


def _load(target: Node, rest: str) -> list[str]:
    """The lines of an assignment to ``target``."""
    lines = wrapped(target, 6, 6, len(rest))
    return (
        [f"      {lines[0]}", *lines[1:-1], f"{lines[-1]}{rest}"]
        if lines[1:]
        else [f"      {lines[0]}{rest}"]
    )
