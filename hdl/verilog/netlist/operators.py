"""Makes Amaranth's RTLIL readable before it becomes Verilog: the passes, of which two are here.

Amaranth writes one module for each instance, one vector for each structure, serial numbers in repeated names, and
dotted paths as names of modules. In Verilog a structure would read as ``input__payload[264]``, and names would need
escapes. The result has one module for equal instances, one wire per field, and plain identifiers.

Operands are extended to Verilog's context width, unused result bits are dropped, and so are the comparisons and shifts
that linters report. Yosys's ``wreduce`` is no substitute: it narrows each operand to its own bits, so that ``4'd3 +
6'd1`` comes out as ``2'd3 + 1'd1``, and linters then complain that the widths differ.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .model import (
    Cell,
    Module,
    Signal,
    Slice,
    Wire,
    constant,
    cut,
    drop_aliases,
    drop_empty,
    split_structures,
    width_of,
)
from .naming import module_names, name_ports, names_within, write
from .parse import call_wires, drop_initial_values, fill_memories, parse

_SAME_AS_RESULT = frozenset({"$add", "$sub", "$and", "$or", "$xor", "$neg", "$not"})
_SAME_AS_EACH_OTHER = frozenset({"$eq", "$ne", "$lt", "$le", "$gt", "$ge", "$divfloor", "$modfloor"})
_LEFT_AS_RESULT = frozenset({"$shl"})
_SHIFTS_RIGHT = frozenset({"$shr", "$shift", "$shiftx"})

#: Bit k of the result depends on bits 0 to k of the operands alone.
_LOW_FROM_LOW = _SAME_AS_RESULT | _LEFT_AS_RESULT | {"$mul"}

#: Comparisons that are decided if all bits of the constant on the right are the first: to the second.
_AT_LIMIT = {"$gt": ("1", "0"), "$le": ("1", "1"), "$lt": ("0", "0"), "$ge": ("0", "1")}


def fit_operators(module: Module) -> None:
    """Adapts all operators of a module."""
    for cell in module.cells:
        _match_widths(cell)
    _drop_unused_bits(module)
    _fold_limits(module)
    _widen_shifts(module)


def _match_widths(cell: Cell) -> None:
    """Extends operands to Verilog's context width; Amaranth cuts off their leading zeros."""
    if cell.kind not in _LOW_FROM_LOW | _SAME_AS_EACH_OTHER:
        return
    operands = [port for port in ("\\A", "\\B") if port in cell.ports]
    if cell.kind in _SAME_AS_EACH_OTHER:
        width = max(1, *(width_of(cell.ports[port]) for port in operands))
    else:
        width = width_of(cell.ports["\\Y"])
    for port in operands[:1] if cell.kind in _LEFT_AS_RESULT else operands:
        operand = cell.ports[port]
        # A multiplier is as large as its operands, so they only become narrower.
        wanted = min(width, width_of(operand)) if cell.kind == "$mul" else width
        cell.ports[port] = _resized(operand, wanted, cell.parameters[f"{port}_SIGNED"] == "1")
        cell.parameters[f"{port}_WIDTH"] = str(wanted)


def _resized(signal: Signal, width: int, signed: bool) -> Signal:
    present = width_of(signal)
    if width <= present:
        return cut(signal, 0, width)
    if signed and signal:
        top = signal[-1].cut(signal[-1].width - 1, 1)
        return [*signal, *[top] * (width - present)]
    return [*signal, constant("0" * (width - present))]


def _drop_unused_bits(module: Module) -> None:
    """Narrows operators to the used bits of their results, which saves unused carries."""
    changed = True
    while changed:
        changed = False
        used: dict[str, int] = {}
        for piece in _uses(module):
            used[piece.wire] = max(used.get(piece.wire, 0), piece.low + piece.width)
        for cell in module.cells:
            result = cell.ports.get("\\Y", [])
            if cell.kind not in _LOW_FROM_LOW or len(result) != 1:
                continue
            width = used.get(result[0].wire, 0)
            if 0 < width < result[0].width and result[0].wire.startswith("$"):
                module.wires[result[0].wire].width = width
                cell.ports["\\Y"] = cut(result, 0, width)
                cell.parameters["\\Y_WIDTH"] = str(width)
                _match_widths(cell)
                changed = True


def _uses(module: Module) -> Iterator[Slice]:
    """Every slice of a wire that is read."""
    for cell in module.cells:
        for port, signal in cell.ports.items():
            if not (cell.kind.startswith("$") and port == "\\Y"):
                yield from signal
    for statement in module.statements():
        if statement.signals:
            yield from statement.signals[-1]
    for _, right in module.connects:
        yield from right


def _fold_limits(module: Module) -> None:
    """Replaces comparisons that are constant by the range of an unsigned operand, which linters report."""
    kept: list[Cell] = []
    for cell in module.cells:
        limit = cell.ports.get("\\B", [])
        if cell.kind in _AT_LIMIT and len(limit) == 1 and limit[0].bits is not None:
            bit, result = _AT_LIMIT[cell.kind]
            if set(limit[0].bits) == {bit} and cell.parameters["\\B_SIGNED"] == "0":
                module.connects.append((cell.ports["\\Y"], [constant(result)]))
                continue
        kept.append(cell)
    module.cells = kept


def _widen_shifts(module: Module) -> None:
    """Extends the result of a right shift to the width of its operand, and takes its lowest bits."""
    for cell in module.cells:
        if cell.kind not in _SHIFTS_RIGHT:
            continue
        result = cell.ports["\\Y"]
        width, wanted = width_of(cell.ports["\\A"]), width_of(result)
        if width <= wanted:
            continue
        wide = f"{cell.name}$wide"
        module.wires[wide] = Wire(width, False, None)
        module.connects.append((result, [Slice(wide, 0, wanted)]))
        cell.ports["\\Y"] = [Slice(wide, 0, width)]
        cell.parameters["\\Y_WIDTH"] = str(width)


class Readable(NamedTuple):
    """The RTLIL of a design, the new name of each module by the old, and ``within`` each those of wires and instances."""

    text: str
    names: dict[str, str]
    within: dict[str, dict[str, str]]


def readable(rtlil: str, *, prefix: str, ports: Sequence[str], init: bool) -> Readable:
    """Rewrites the RTLIL of a design; its first module is the top.

    The top keeps its name and its ports, in the order of ``ports``; the names of the other modules start with
    ``prefix``. Without ``init``, no register and no memory has an initial value.
    """
    modules = {module.name: module for module in parse(rtlil)}
    top = next(iter(modules))
    paths = merge_equal(modules)
    for module in modules.values():
        drop_empty(module)
        call_wires(module)
        drop_aliases(module, lambda name: not re.search(r"[.[]", name))
        fit_operators(module)
    split_structures(modules, top)
    name_ports(modules, inside_out(modules))
    for module in modules.values():
        if init:
            fill_memories(module)
        else:
            drop_initial_values(module)
    new_names = module_names(paths, top, prefix)
    names = {name: names_within(module, modules) for name, module in modules.items()}
    text = "\n".join(
        line
        for name, module in modules.items()
        for line in write(module, new_names, names, ports if name == top else None)
    )
    return Readable(text, new_names, names)


#: A port without a name counts on its own: it has the number of a cell of the whole design.
_SERIAL = re.compile(r"((?:port)?\$)\d+")


def merge_equal(modules: dict[str, Module]) -> dict[str, list[str]]:
    """Removes every duplicate of an earlier module; returns the names of the merged modules for each that stays."""
    kept: dict[str, _Numbered] = {}
    # The module that replaces each one, and its ports by their old names.
    stays: dict[str, tuple[str, dict[str, str]]] = {}
    sizes = Counter(map(_size, modules.values()))
    # A submodule comes before the modules that it stands in, because those are equal only if it is.
    for name in inside_out(modules):
        module = modules[name]
        for cell in module.cells:
            if cell.kind in stays:
                cell.kind, ports = stays[cell.kind]
                cell.ports = {ports[port]: signal for port, signal in cell.ports.items()}
        if sizes[_size(module)] == 1:
            continue
        numbered = _Numbered(module)
        other = kept.setdefault(numbered.text, numbered)
        stays[name] = other.module.name, {wire: other.wires[own] for own, wire in numbered.wires.items()}
    merged: dict[str, list[str]] = {}
    for name in list(modules):
        stay, _ = stays.get(name, (name, {}))
        merged.setdefault(stay, []).append(name)
        if stay != name:
            del modules[name]
    return merged


def _size(module: Module) -> tuple[int, ...]:
    """What is the same in equal modules, and told at once."""
    return len(module.wires), len(module.cells), len(module.connects), len(module.processes)


class _Numbered:
    """A module without Amaranth's serial numbers, which run through the whole design.

    Two modules share ``text`` if they differ in serial numbers and the order of their wires alone. ``wires`` are by
    their name with a number of the module's own.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._serials: dict[str, str] = {}
        # The ports of submodules have the names that they keep.
        rows = [" ".join((cell.kind, *cell.ports)) for cell in module.cells]
        contents = [
            (cell.name, cell.parameters, cell.attributes, [*cell.ports.values()]) for cell in module.cells
        ]
        rows.append(self._renumbered(repr((contents, module.memories, module.processes))))
        # The order of these two follows from what is around the module.
        rows += map(self._renumbered, sorted(map(repr, module.connects), key=_unnumbered))
        self.wires = {self._renumbered(name): name for name in sorted(module.wires, key=_unnumbered)}
        rows += (f"{own} {module.wires[name]}" for own, name in self.wires.items())
        self.text = "\n".join(rows)

    def _renumbered(self, text: str) -> str:
        return _SERIAL.sub(
            lambda match: self._serials.setdefault(match[0], f"{match[1]}{len(self._serials)}"), text
        )


def _unnumbered(text: str) -> str:
    return _SERIAL.sub("$", text)


def inside_out(modules: Mapping[str, Module]) -> list[str]:
    """All modules in topological order: submodules come first."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        for cell in modules[name].cells:
            if cell.kind in modules and cell.kind not in order:
                visit(cell.kind)
        order[name] = None

    for name in modules:
        if name not in order:
            visit(name)
    return list(order)
