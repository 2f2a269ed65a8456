"""Prepares a module for printing: one driver for each nameless wire, and no wire driven by registers in part.

In: a module of operators, registers, memories and instances. Out: the same module with three properties. A nameless wire is
the whole result of one cell, or has no driver. Connections drive named wires only. Registers drive all bits of a named wire
or none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, Slice, Wire, cut, joined, width_of

#: The registers that ``opt_dff`` leaves.
REGISTERS = frozenset({"$dff", "$dffe", "$sdff", "$sdffe", "$sdffce"})
#: What a clock gate has.
LATCH = "$dlatch"
#: A selection by the value of its port S: of the part of B that belongs to one of its values, or of A for any other.
SELECTION = "$selection"


def is_named(wire: str) -> bool:
    """Whether a wire has a name from the source; generated names start with a dollar."""
    return wire.startswith("\\")


def is_operator(cell: Cell, modules: Mapping[str, Module]) -> bool:
    """Whether a cell is an expression."""
    return cell.kind not in modules and cell.kind not in {*REGISTERS, LATCH, "$mem_v2"}


def result_ports(cell: Cell, modules: Mapping[str, Module]) -> list[str]:
    """The output ports of a cell."""
    if cell.kind in modules:
        return [port for port in cell.ports if modules[cell.kind].wires[port].direction == "output"]
    if cell.kind in {*REGISTERS, LATCH}:
        return ["\\Q"]
    return ["\\RD_DATA"] if cell.kind == "$mem_v2" else ["\\Y"]


def prepare(module: Module, modules: Mapping[str, Module]) -> None:
    """Gives a module these properties."""
    module.cells = [part for cell in module.cells for part in _single_results(cell)]
    parts: dict[str, list[tuple[int, int, Signal]]] = {}
    for cell in module.cells:
        for port in result_ports(cell, modules):
            cell.ports[port] = _whole_results(module, cell, port, parts)
    connects: list[tuple[Signal, Signal]] = []
    for left, right in module.connects:
        low = 0
        for piece in left:
            value = cut(right, low, piece.width)
            low += piece.width
            if is_named(piece.wire):
                connects.append(([piece], value))
            else:
                parts.setdefault(piece.wire, []).append((piece.low, piece.width, value))
    module.connects = connects
    for entries in parts.values():
        entries.sort(key=lambda entry: entry[0])
    module.rewrite(lambda signal: joined([bit for piece in signal for bit in _resolved(piece, parts)]))
    _separate_registers(module)


def _single_results(cell: Cell) -> Iterator[Cell]:
    """A register split into one for each driven wire."""
    if cell.kind not in REGISTERS or len(cell.ports["\\Q"]) == 1:
        yield cell
        return
    low = 0
    for index, piece in enumerate(cell.ports["\\Q"]):
        parameters = {**cell.parameters, "\\WIDTH": str(piece.width)}
        if "\\SRST_VALUE" in parameters:
            bits = cell.parameter_bits("\\SRST_VALUE")
            end = len(bits) - low
            parameters["\\SRST_VALUE"] = f"{piece.width}'{bits[end - piece.width : end]}"
        ports = {**cell.ports, "\\Q": [piece], "\\D": cut(cell.ports["\\D"], low, piece.width)}
        yield Cell(cell.kind, f"{cell.name}${index}", parameters, ports)
        low += piece.width


def _whole_results(
    module: Module, cell: Cell, port: str, parts: dict[str, list[tuple[int, int, Signal]]]
) -> Signal:
    """The outputs of a cell: new wires in place of parts of nameless wires, and of an operator's several wires."""
    signal = cell.ports[port]
    if cell.kind.startswith("$") and cell.kind != "$mem_v2" and len(signal) > 1:
        whole = f"{cell.name}$whole"
        module.wires[whole] = Wire(width_of(signal), False, None)
        low = 0
        for piece in signal:
            module.connects.append(([piece], [Slice(whole, low, piece.width)]))
            low += piece.width
        return [Slice(whole, 0, low)]
    result: Signal = []
    for piece in signal:
        if not is_named(piece.wire) and module.whole_wire([piece]) is None:
            part = f"{piece.wire}${piece.low}"
            module.wires[part] = Wire(piece.width, False, None)
            parts.setdefault(piece.wire, []).append((piece.low, piece.width, [Slice(part, 0, piece.width)]))
            piece = Slice(part, 0, piece.width)
        elif cell.kind == "$mem_v2" and module.whole_wire([piece]) is None:
            own = _own_wire(module, piece)
            module.connects.append(([piece], [own]))
            piece = own
        result.append(piece)
    return result


def _resolved(piece: Slice, parts: Mapping[str, list[tuple[int, int, Signal]]]) -> Iterator[Slice]:
    """The source bits of a slice."""
    if piece.bits is not None or piece.wire not in parts:
        yield piece
        return
    position, end = piece.low, piece.low + piece.width
    for low, width, signal in parts[piece.wire]:
        if low + width <= position or low >= end:
            continue
        if position < low:
            yield Slice(piece.wire, position, low - position)
            position = low
        high = min(end, low + width)
        for inner in cut(signal, position - low, high - position):
            yield from _resolved(inner, parts)
        position = high
    if position < end:
        yield Slice(piece.wire, position, end - position)


def _separate_registers(module: Module) -> None:
    """Gives registers their own wire where something else drives other bits of it."""
    registers = [cell for cell in module.cells if cell.kind in REGISTERS]
    held: dict[str, int] = {}
    for cell in registers:
        piece = cell.ports["\\Q"][0]
        held[piece.wire] = held.get(piece.wire, 0) + piece.width
    for cell in registers:
        piece = cell.ports["\\Q"][0]
        wire = module.wires[piece.wire]
        if held[piece.wire] == wire.width:
            continue
        own = _own_wire(module, piece)
        if wire.init is not None:
            end = wire.width - piece.low
            module.wires[own.wire].init = wire.init[end - piece.width : end]
        cell.ports["\\Q"] = [own]
        module.connects.append(([piece], [own]))
    for name, bits in held.items():
        if bits != module.wires[name].width:
            module.wires[name].init = None


def _own_wire(module: Module, piece: Slice) -> Slice:
    """A new wire for some bits of a wire, named after them."""
    high = piece.low + piece.width - 1
    name = f"{piece.wire}_{piece.low}" if piece.width == 1 else f"{piece.wire}_{high}_{piece.low}"
    while name in module.wires:
        name += "_"
    module.wires[name] = Wire(piece.width, False, None)
    return Slice(name, 0, piece.width)
