"""RTLIL as data, in the subset that Amaranth's back end writes: modules of wires, cells, processes and connections.

Aliases of wires and wires of width 0 are dropped. A structure, which is one vector with an alias for each field, is
split into one wire, port and register per field, also at ports of submodules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

#: The attributes of a wire that say what its values are called: together, and each, with its bits behind.
ENUMERATION, VALUE = "\\enum_base_type", "\\enum_value_"

#: Begins the name of a wire of what the source has a variable for; until Yosys with a backslash before it.
_CALLED = "$.called:"


class Slice(NamedTuple):
    """Bits ``low`` to ``low + width - 1`` of a wire, or, if ``bits`` is not None, constant bits (most
    significant first)."""

    wire: str
    low: int
    width: int
    bits: str | None = None

    def cut(self, low: int, width: int) -> Slice:
        """Bits ``low`` to ``low + width - 1`` of this slice."""
        if self.bits is None:
            return Slice(self.wire, self.low + low, width)
        end = self.width - low
        return constant(self.bits[end - width : end])


#: A signal as slices, least significant first.
Signal = list[Slice]


def called(variable: str) -> str:
    """The name of a wire that says what the source calls its value."""
    return f"{_CALLED}{variable}"


def variable_of(wire: str) -> str:
    """What the source calls the value of a wire; nothing if that has no variable."""
    return wire.removeprefix("\\").removeprefix(_CALLED).partition("$")[0] if _CALLED in wire else ""


def constant(bits: str) -> Slice:
    return Slice("", 0, len(bits), bits)


def constant_bits(text: str) -> str:
    """The bits of an RTLIL constant. Yosys writes 32 bits as a decimal number, and a run of x as a single x."""
    width, quote, bits = text.partition("'")
    return bits.rjust(int(width), bits[0]) if quote else f"{int(text) & 0xFFFFFFFF:032b}"


def width_of(signal: Signal) -> int:
    return sum(piece.width for piece in signal)


def cut(signal: Signal, low: int, width: int) -> Signal:
    """Bits ``low`` to ``low + width - 1`` of a signal."""
    if low == 0 and len(signal) == 1 and signal[0].width == width:
        return signal
    result: Signal = []
    for piece in signal:
        if low + width <= 0:
            break
        start, end = max(low, 0), min(low + width, piece.width)
        if start < end:
            result.append(piece.cut(start, end - start))
        low -= piece.width
    return result


def joined(signal: Signal) -> Signal:
    """The signal with adjacent slices and adjacent constants merged."""
    result: Signal = []
    for piece in signal:
        last = result[-1] if result else None
        if last is not None and last.bits is not None and piece.bits is not None:
            result[-1] = Slice("", 0, last.width + piece.width, piece.bits + last.bits)
        elif (
            last is not None
            and last.bits is None
            and last.wire == piece.wire
            and last.low + last.width == piece.low
        ):
            result[-1] = Slice(last.wire, last.low, last.width + piece.width)
        else:
            result.append(piece)
    return result


@dataclass
class Wire:
    """A wire, and a port if it has a ``direction``; ``init`` has the initial bits, most significant first, ``enumeration``
    and ``values`` the names of its values."""

    width: int
    signed: bool
    direction: str | None
    init: str | None = None
    enumeration: str = ""
    values: dict[str, str] = field(default_factory=dict)


@dataclass
class Cell:
    """An instance of a module, or of an operator, register or memory port of Yosys, whose ``kind`` starts with $."""

    kind: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    ports: dict[str, Signal] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)

    def parameter_bits(self, name: str) -> str:
        """The bits of a parameter, most significant first."""
        return constant_bits(self.parameters[name])


@dataclass(frozen=True)
class MemoryDeclaration:
    """A memory: its name, its ``shape`` as in the text, and its attributes."""

    name: str
    shape: str
    attributes: dict[str, str]


@dataclass
class Statement:
    """A line of a process: the ``signals`` of an assignment or of a switch, the text ``rest`` of other lines."""

    keyword: str
    signals: list[Signal]
    rest: str = ""


@dataclass
class Module:
    """A module. Names are as in RTLIL: public ones start with a backslash, generated ones with $."""

    name: str
    wires: dict[str, Wire] = field(default_factory=dict)
    memories: list[MemoryDeclaration] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    processes: list[list[Statement]] = field(default_factory=list)
    connects: list[tuple[Signal, Signal]] = field(default_factory=list)

    def ports(self, order: Sequence[str] | None = None) -> list[str]:
        """The names of its ports, in the ``order`` of their public names; by default clock and reset, inputs, outputs."""
        ports = [name for name, wire in self.wires.items() if wire.direction]
        if order is not None:
            return sorted(ports, key=lambda name: order.index(name[1:]))
        first = ("\\aclk", "\\rst")
        return sorted(ports, key=lambda name: (name not in first, self.wires[name].direction != "input"))

    def statements(self) -> Iterator[Statement]:
        """The lines of all processes."""
        for process in self.processes:
            yield from process

    def whole_wire(self, signal: Signal) -> str | None:
        """The name of the wire, if ``signal`` is exactly one whole wire."""
        if (
            len(signal) == 1
            and signal[0].bits is None
            and signal[0].width == self.wires[signal[0].wire].width
        ):
            return signal[0].wire
        return None

    def rewrite(self, change: Callable[[Signal], Signal]) -> None:
        """Passes every signal through ``change``."""
        for cell in self.cells:
            cell.ports = {port: change(signal) for port, signal in cell.ports.items()}
        for statement in self.statements():
            statement.signals = [change(signal) for signal in statement.signals]
        self.connects = [(change(left), change(right)) for left, right in self.connects]


def drop_empty(module: Module) -> None:
    """Drops wires and ports of width 0, which Verilog does not have."""
    module.wires = {name: wire for name, wire in module.wires.items() if wire.width}
    for cell in module.cells:
        if not cell.kind.startswith("$"):
            cell.ports = {port: signal for port, signal in cell.ports.items() if signal}


def drop_aliases(module: Module, is_alias: Callable[[str], bool]) -> None:
    """Drops public wires that alias a whole public wire and are used nowhere else, where ``is_alias`` holds for the name."""
    dropped: set[str] = set()
    for left, right in module.connects:
        name, other = module.whole_wire(left), module.whole_wire(right)
        if name is None or other is None or not other.startswith("\\"):
            continue
        if is_alias(name) and module.wires[name].direction is None:
            dropped.add(name)

    def is_dropped(name: str) -> bool:
        # The fields of a structure are dropped with it.
        return name in dropped or re.split(r"[.[]", name, maxsplit=1)[0] in dropped

    module.connects = [(left, right) for left, right in module.connects if not is_dropped(left[0].wire)]
    module.wires = {name: wire for name, wire in module.wires.items() if not is_dropped(name)}


_FIELD = re.compile(r"(.+)\.([A-Za-z_]\w*)$")

#: For each structure the wires of its fields, least significant first.
_Leaves = dict[str, list[str]]

#: For each port that is a structure the names and widths of its fields, least significant first.
_Ports = Mapping[str, list[tuple[str, int]]]


def split_structures(modules: Mapping[str, Module], top: str) -> None:
    """Splits the structures of all modules; the module ``top`` keeps its ports."""
    leaves = {name: _leaves(module, keep_ports=name == top) for name, module in modules.items()}
    ports = {
        name: {
            wire: [(leaf, module.wires[leaf].width) for leaf in names]
            for wire, names in leaves[name].items()
            if module.wires[wire].direction
        }
        for name, module in modules.items()
    }
    for name, module in modules.items():
        _split_wires(module, leaves[name])
        for cell in module.cells:
            _split_ports(cell, ports.get(cell.kind, {}))
        module.cells = [part for cell in module.cells for part in _split_register(cell)]


def _leaves(module: Module, keep_ports: bool) -> _Leaves:
    """The fields of all splittable structures, and of the wires that drive them."""
    fields: _Leaves = {}
    for name in module.wires:
        match = _FIELD.match(name)
        if match is not None and match[1] in module.wires:
            fields.setdefault(match[1], []).append(name)
    # Where Amaranth says which bits a field names, it must agree with the order of the fields.
    named_bits = {left[0].wire: right[0] for left, right in module.connects if len(left) == len(right) == 1}

    def expand(name: str) -> list[str]:
        low = 0
        for member in fields.get(name, []):
            bits = named_bits.get(member)
            if bits is not None and bits.wire == name and bits.low != low:
                return [name]
            low += module.wires[member].width
        if low != module.wires[name].width:
            return [name]
        return [leaf for member in fields[name] for leaf in expand(member)]

    result: _Leaves = {}
    for name, wire in module.wires.items():
        leaves = expand(name) if fields.get(name) else [name]
        if leaves != [name] and not (keep_ports and wire.direction):
            result[name] = leaves
    for left, right in module.connects:
        if left[0].wire in result and _FIELD.match(left[0].wire) is None:
            result.update(_drivers(module, result[left[0].wire], right))
    return result


def _drivers(module: Module, leaves: list[str], driver: Signal) -> _Leaves:
    """The nameless drivers of structures, each with its fields."""
    result: _Leaves = {}
    ends = list(accumulate((module.wires[leaf].width for leaf in leaves), initial=0))
    low = 0
    for piece in driver:
        high = low + piece.width
        wire = module.whole_wire([piece])
        if wire is not None and wire.startswith("$") and {low, high} <= set(ends):
            result[wire] = leaves[ends.index(low) : ends.index(high)]
        low = high
    return result


def _split_wires(module: Module, leaves: _Leaves) -> None:
    """Replaces the structures of a module by their fields."""

    def fields_of(piece: Slice) -> Iterable[Slice]:
        if piece.wire not in leaves:
            return [piece]
        whole = [Slice(leaf, 0, module.wires[leaf].width) for leaf in leaves[piece.wire]]
        return cut(whole, piece.low, piece.width)

    # The fields were aliases of bits of the structure, and are the real wires from here on.
    fields = {leaf for names in leaves.values() for leaf in names}
    fields |= {name for name in leaves if (match := _FIELD.match(name)) is not None and match[1] in leaves}
    module.connects = [(left, right) for left, right in module.connects if left[0].wire not in fields]
    module.rewrite(lambda signal: [part for piece in signal for part in fields_of(piece)])
    module.connects = [(left, right) for left, right in module.connects if left != right]
    drop_aliases(module, lambda name: name.endswith("]"))
    for name, names in leaves.items():
        if name not in fields:
            _hand_down(module, name, names)
    for name in leaves:
        del module.wires[name]


def _hand_down(module: Module, name: str, leaves: list[str]) -> None:
    """Passes direction and initial value of a structure on to its fields."""
    wire = module.wires[name]
    low = 0
    for leaf in leaves:
        field = module.wires[leaf]
        field.direction = field.direction or wire.direction
        if wire.init is not None:
            field.init = cut([constant(wire.init)], low, field.width)[0].bits
        low += field.width


def _split_ports(cell: Cell, ports: _Ports) -> None:
    """Connects the split ``ports`` of an instance."""
    connections: dict[str, Signal] = {}
    for port, signal in cell.ports.items():
        low = 0
        for name, width in ports.get(port, []):
            connections[name] = cut(signal, low, width)
            low += width
        if port not in ports:
            connections[port] = signal
    cell.ports = connections


def _split_register(cell: Cell) -> Iterator[Cell]:
    """One register per wire, instead of one for all the fields of a structure."""
    if cell.kind != "$dff" or len(cell.ports["\\Q"]) == 1:
        yield cell
        return
    low = 0
    for index, piece in enumerate(cell.ports["\\Q"]):
        parameters = {**cell.parameters, "\\WIDTH": str(piece.width)}
        data = cut(cell.ports["\\D"], low, piece.width)
        connections = {"\\D": data, "\\CLK": cell.ports["\\CLK"], "\\Q": [piece]}
        yield Cell(cell.kind, f"{cell.name}${index}", parameters, connections)
        low += piece.width
