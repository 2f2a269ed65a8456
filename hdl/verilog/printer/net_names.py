"""Names of nameless nets.

A net with a short expression is named after it: ``state_is_3``, ``valid_and_ready``, ``any_error``. Any other is named
after its use: ``count_next`` is the next value of a register, ``count_enable`` its enable, ``queue_write_data`` goes to a
port of an instance, and ``count_term`` is a part of the driver of ``count``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from cdma.hdl.verilog.names import legal_name
from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, width_of

from .folding import Folded, Use
from .nets import is_named, result_ports
from .values import value_name

__all__ = ["net_names"]

#: The longest name that says what a net is.
_LONGEST = 36

_BETWEEN = {
    "$eq": "is",
    "$ne": "is_not",
    "$and": "and",
    "$or": "or",
    "$xor": "xor",
    "$add": "plus",
    "$sub": "minus",
    "$lt": "below",
    "$le": "up_to",
    "$gt": "above",
    "$ge": "from",
}
_BEFORE = {
    "$not": "not",
    "$logic_not": "no",
    "$reduce_or": "any",
    "$reduce_bool": "any",
    "$reduce_and": "all",
    "$reduce_xor": "odd",
}

#: Of several uses the one that a net is called after.
_RANK = {"next": 0, "enable": 1, "reset": 2, "operand": 4}


def net_names(folded: Folded, modules: Mapping[str, Module]) -> dict[str, str]:
    """The names of all wires, instances and memories of a module."""
    module = folded.module
    names = {name: name[1:] for name in module.wires if is_named(name)}
    used = set(names.values()) | {cell.name[1:] for cell in module.cells if is_named(cell.name)}

    def give(wire: str, wanted: str) -> str:
        names[wire] = legal_name(wanted, used)
        used.add(names[wire])
        return names[wire]

    for cell in module.cells:
        if cell.kind in modules or cell.kind == "$mem_v2":
            for port in result_ports(cell, modules):
                pieces = cell.ports[port]
                if cell.kind in modules and not any(
                    is_named(p.wire) or p.wire in folded.uses for p in pieces
                ):
                    continue
                for piece in pieces:
                    if piece.wire not in names:
                        give(piece.wire, f"{cell.name[1:]}_{port[1:].lower()}")

    def name_of(wire: str) -> str:
        return (
            names[wire] if wire in names else give(wire, _described(folded, wire, names) or after_use(wire))
        )

    def after_use(wire: str) -> str:
        uses = folded.uses.get(wire, [])
        if not uses:
            return "unused"
        use = min(uses, key=lambda use: (_RANK.get(use.role, 3), not is_named(use.target)))
        target = target_name(use)
        if use.role == "operand":
            return target if target.endswith("_term") else f"{target}_term"
        return f"{target}_{use.role.removeprefix(chr(92))}"

    def target_name(use: Use) -> str:
        # Instances and memories have their own name; wires inside an expression have that of what the expression drives.
        target = use.target
        if target in names:
            return names[target]
        if is_named(target):
            return target[1:]
        if target in folded.nets:
            return re.sub(r"_\d+$", "", name_of(target))
        return after_use(target)

    for wire in folded.nets:
        name_of(wire)
    return names


def _described(folded: Folded, wire: str, names: Mapping[str, str]) -> str | None:
    """A name after the expression of an operator, if all its operands have short names."""
    cell = folded.drivers[wire]
    uses = folded.uses.get(wire, [])
    if uses and all(use.role == "next" for use in uses):
        return None
    operands = [_operand(cell, port, names) for port in ("\\A", "\\B") if port in cell.ports]
    value = _value(folded.module, cell)
    if None in operands:
        return None
    first = operands[0]
    if cell.kind in _BETWEEN and len(operands) == 2:
        name = f"{first}_{_BETWEEN[cell.kind]}_{value or operands[1]}"
    elif cell.kind == "$logic_not" and width_of(cell.ports["\\A"]) > 1:
        name = f"{first}_is_{value or 0}"
    elif cell.kind in _BEFORE and len(operands) == 1:
        name = f"{_BEFORE[cell.kind]}_{first}"
    else:
        return None
    return name if len(name) <= _LONGEST else None


def _value(module: Module, cell: Cell) -> str | None:
    """The name of the value that a net with named values is compared with."""
    net = module.whole_wire(cell.ports["\\A"])
    if net is None or cell.kind not in ("$eq", "$ne", "$logic_not"):
        return None
    wire = module.wires[net]
    bits = "".join(piece.bits or "?" for piece in reversed(cell.ports.get("\\B", [])))
    name = value_name(wire, bits.rjust(wire.width, "0"))
    return name and name.lower()


def _operand(cell: Cell, port: str, names: Mapping[str, str]) -> str | None:
    """The part of a name for an operand."""
    signal: Signal = cell.ports[port]
    while len(signal) > 1 and signal[-1].bits is not None and "1" not in signal[-1].bits:
        # Leading zeros only make it as wide as the other operand.
        signal = signal[:-1]
    if len(signal) != 1:
        return None
    piece = signal[0]
    if piece.bits is not None:
        return str(int(piece.bits, 2)) if set(piece.bits) <= {"0", "1"} else None
    if piece.wire not in names:
        return None
    return names[piece.wire] if piece.low == 0 else f"{names[piece.wire]}_{piece.low}"
