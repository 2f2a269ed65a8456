"""Groups registers into always blocks by clock, reset and enable, and selections by one signal into ``case``.

A selection has multiplexers whose conditions compare one signal with constants, and three different results or more; it
becomes one cell of the kind :data:`SELECTION`, or an indexed part of a net, if all parts of that are the results. An
unknown select has an unknown result, as with conditional operators. A ``default`` with a result would hide it: so all
values are listed, and the default is unknown. It may only keep the selecting signal itself, as in a state machine. A
signal with too many other values to list keeps its conditional operators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, Slice, constant, cut, joined, width_of

from .nets import REGISTERS, SELECTION, is_named, is_operator, result_ports


@dataclass(frozen=True)
class Register:
    """A clocked assignment of ``value`` to ``target``; in reset of the bits ``at_reset``."""

    target: Slice
    value: Signal
    at_reset: str


@dataclass
class Group:
    """Registers with the same clock, reset and enable, each of one bit if any.

    ``reset_low``, ``enable_low``: Whether they are active low.
    ``reset_first``: Whether the reset has priority over the enable.
    """

    clock: Signal
    reset: Signal
    enable: Signal
    reset_low: bool
    enable_low: bool
    reset_first: bool
    registers: list[Register] = field(default_factory=list)


def groups_of(module: Module) -> list[Group]:
    """The registers of a module in their groups."""
    groups: dict[tuple[object, ...], Group] = {}
    for cell in module.cells:
        if cell.kind in REGISTERS:
            group = _controls(cell)
            key = (
                tuple(group.clock),
                tuple(group.reset),
                tuple(group.enable),
                group.reset_low,
                group.enable_low,
                group.reset_first,
            )
            register = Register(
                cell.ports["\\Q"][0],
                cell.ports["\\D"],
                cell.parameter_bits("\\SRST_VALUE") if group.reset else "",
            )
            groups.setdefault(key, group).registers.append(register)
    return list(groups.values())


def _controls(cell: Cell) -> Group:
    def low(port: str) -> bool:
        return cell.parameters.get(f"{port}_POLARITY", "1").endswith("0")

    assert not low("\\CLK"), cell
    return Group(
        cell.ports["\\CLK"],
        cell.ports.get("\\SRST", []),
        cell.ports.get("\\EN", []),
        low("\\SRST"),
        low("\\EN"),
        cell.kind != "$sdffce",
    )


#: The most values that are listed for what happens with any other.
_MOST_OTHERS = 8

#: The fewest different results.
_LEAST = 3

_CHOICES = ("$mux", "$pmux")


def find_selections(module: Module, modules: Mapping[str, Module]) -> None:
    """Makes selections of such multiplexers, and removes the comparisons that nothing reads any more."""
    drivers = {cell.ports["\\Y"][0].wire: cell for cell in module.cells if is_operator(cell, modules)}
    reads = _reads(module, modules)

    def next_choice(signal: Signal) -> Cell | None:
        """The multiplexer of a signal that nothing else reads."""
        wire = module.whole_wire(signal)
        choice = drivers.get(wire) if wire is not None and not is_named(wire) and reads[wire] == 1 else None
        return choice if choice is not None and choice.kind in _CHOICES else None

    found = []
    for cell in drivers.values():
        select: Signal | None = None
        items: dict[str, Signal] = {}
        other: Signal = []
        each: Cell | None = cell if cell.kind in _CHOICES else None
        while each is not None:
            compared = _compared(each, drivers)
            if compared is None or select not in (None, compared[0]):
                break
            select, results = compared
            other = each.ports["\\A"]
            for value, result in results.items():
                items.setdefault(value, result)
            each = next_choice(other)
        if select is not None and (listed := _listed(select, items, other)):
            found.append((cell, select, *listed))
    for cell, by, results, default in found:
        parts = joined([piece for result in results.values() for piece in result])
        if len(results) == 1 << width_of(by) and (place := _place(module, by, parts)):
            cell.kind, cell.parameters = "$shiftx", {"\\B_SIGNED": "0"}
            cell.ports = {"\\A": parts, "\\B": place, "\\Y": cell.ports["\\Y"]}
            continue
        cell.kind = SELECTION
        cell.parameters = {"\\VALUES": " ".join(results)}
        cell.ports = {"\\S": by, "\\B": parts, "\\A": default, "\\Y": cell.ports["\\Y"]}
    _drop_unread(module, modules)


def _place(module: Module, by: Signal, parts: Signal) -> Signal | None:
    """The lowest bit of the part with the number ``by``, if the ``parts`` are all those of one net, in order."""
    size = width_of(parts) >> width_of(by)
    if module.whole_wire(parts) is None or size.bit_count() != 1:
        return None
    return [constant("0" * (size.bit_length() - 1)), *by] if size > 1 else by


def _compared(cell: Cell, drivers: Mapping[str, Cell]) -> tuple[Signal, dict[str, Signal]] | None:
    """The one signal that all conditions of a multiplexer compare, and its result for each value."""
    width = width_of(cell.ports["\\Y"])
    found: Signal | None = None
    results: dict[str, Signal] = {}
    for index in range(width_of(cell.ports["\\S"])):
        condition = _values(cut(cell.ports["\\S"], index, 1), drivers)
        if condition is None or found not in (None, condition[0]):
            return None
        found, values = condition
        for value in values:
            results.setdefault(value, cut(cell.ports["\\B"], index * width, width))
    return None if found is None else (found, results)


def _values(bit: Signal, drivers: Mapping[str, Cell]) -> tuple[Signal, list[str]] | None:
    """The signal of two bits or more, and those of its values for which a bit is 1."""
    cell = drivers.get(bit[0].wire)
    if cell is None or width_of(cell.ports["\\Y"]) != 1:
        return None
    left, right = cell.ports["\\A"], cell.ports.get("\\B", [])
    if cell.kind == "$logic_not" and width_of(left) > 1:
        return left, ["0" * width_of(left)]
    if cell.kind == "$eq" and width_of(left) == width_of(right) > 1:
        value = "".join(piece.bits or "x" for piece in reversed(right))
        return (left, [value]) if "x" not in value else None
    if cell.kind in ("$reduce_or", "$reduce_bool", "$or"):
        bits = [*left, *right]
        parts = [_values(cut([piece], low, 1), drivers) for piece in bits for low in range(piece.width)]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts) and all(part[0] == known[0][0] for part in known):
            return known[0][0], [value for _, values in known for value in values]
    return None


def _listed(
    select: Signal, items: dict[str, Signal], other: Signal
) -> tuple[dict[str, Signal], Signal] | None:
    """The results by all values that are to be listed, in order, and that for the default; None for what is no ``case``."""
    width, unknown = width_of(select), [constant("x" * width_of(other))]
    items = {value: result for value, result in items.items() if not _is_unknown(result)}
    # Conditions of one bit read better as such, and are known where all that can be selected is.
    if width_of(other) == 1 or len({tuple(result) for result in (*items.values(), other)}) < _LEAST:
        return None
    if other != select and not _is_unknown(other):
        if (1 << width) - len(items) > _MOST_OTHERS:
            return None
        for number in range(1 << width):
            items.setdefault(f"{number:0{width}b}", other)
        other = unknown
    return dict(sorted(items.items())), other


def _is_unknown(signal: Signal) -> bool:
    return all(piece.bits is not None and set(piece.bits) == {"x"} for piece in signal)


def _reads(module: Module, modules: Mapping[str, Module]) -> Counter[str]:
    """How often each wire is read."""
    signals = [
        signal
        for cell in module.cells
        for port, signal in cell.ports.items()
        if port not in result_ports(cell, modules)
    ]
    signals += [right for _, right in module.connects]
    return Counter(piece.wire for signal in signals for piece in signal if piece.bits is None)


def _drop_unread(module: Module, modules: Mapping[str, Module]) -> None:
    """Removes the operators whose results nothing reads."""
    before = -1
    while before != len(module.cells):
        before, reads = len(module.cells), _reads(module, modules)
        module.cells = [
            cell
            for cell in module.cells
            if not is_operator(cell, modules)
            or is_named(wire := cell.ports["\\Y"][0].wire)
            or reads[wire] > 0
        ]
