"""Names nameless nets.

A net has the name of its variable in the source. One whose expression is one operator of nets is named after that:
``state_is_3``, ``any_error``. The rest is named after its use: ``count_next`` is the next value of a register,
``count_otherwise`` the value unless a later condition holds, ``count_enable`` its enable, ``reset`` resets registers;
``queue_write_data`` goes to a port of an instance, ``output_fields`` is divided among several nets, and ``count_term``
is a part of the driver of ``count``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from cdma.hdl.verilog.names import legal_name
from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, Slice, variable_of, width_of

from .folding import Folded, Use
from .nets import SELECTION, is_named, result_ports
from .values import value_name

#: The longest name that says what a net is.
_LONGEST = 32

#: What a name ends with for a use; no name has two of them.
_USES = re.compile(r"(_next|_otherwise|_term)+$")

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
    "$shr": "shifted_by",
    "$shift": "shifted_by",
    "$shiftx": "shifted_by",
}
_BEFORE = {
    "$not": "not",
    "$logic_not": "no",
    "$reduce_or": "any",
    "$reduce_bool": "any",
    "$reduce_and": "all",
    "$reduce_xor": "odd",
}

#: What stands between the parts of a row that is reduced.
_JOINED = {"$reduce_and": "_and_", "$reduce_or": "_or_", "$reduce_bool": "_or_"}

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
            names[wire]
            if wire in names
            else give(wire, variable_of(wire) or _described(folded, wire, names) or after_use(wire))
        )

    def after_use(wire: str) -> str:
        uses = folded.uses.get(wire, [])
        if not uses:
            return "unused"
        if fields := _common_start([names[use.target] for use in uses if use.target in names]):
            return f"{fields}fields"
        if "reset" not in used and all(use.role == "reset" for use in uses):
            return "reset"
        use = min(uses, key=lambda use: (_RANK.get(use.role, 3), not is_named(use.target)))
        target = target_name(use)
        is_choice = wire in folded.drivers and folded.drivers[wire].kind in ("$mux", "$pmux", SELECTION)
        if is_choice and (use.role == "operand" or f"{target}_next" in used):
            # A later condition may override it.
            return f"{_USES.sub('', target)}_otherwise"
        if use.role == "operand":
            return f"{_USES.sub('', target)}_term"
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


def _common_start(names: Sequence[str]) -> str:
    """What the names of several fields begin with, and their underscore."""
    words = takewhile(
        lambda column: len({*column}) == 1, zip(*(name.split("_") for name in names), strict=False)
    )
    return "".join(f"{column[0]}_" for column in words) if len({*names}) > 1 else ""


def _described(folded: Folded, wire: str, names: Mapping[str, str]) -> str | None:
    """A name after the expression of an operator, if all its operands have short names."""
    uses = folded.uses.get(wire, [])
    if len({use.target for use in uses}) == 1 and all(use.role == "next" for use in uses):
        return None
    name = _description(folded, wire, names)
    return name if name is not None and len(name) <= _LONGEST else None


def _description(folded: Folded, wire: str, names: Mapping[str, str]) -> str | None:
    """What is calculated, in words, of nets that have names."""
    cell = folded.drivers[wire]
    operands = [_operand(folded, cell, port, names) for port in ("\\A", "\\B", "\\S") if port in cell.ports]
    words = [operand for operand in operands if operand is not None]
    if len(words) < len(operands):
        return None
    value = _value(folded.module, cell)
    if cell.kind in _BETWEEN and len(words) == 2:
        return f"{words[0]}_{_BETWEEN[cell.kind]}_{value or words[1]}"
    if cell.kind == "$logic_not" and width_of(cell.ports["\\A"]) > 1:
        return f"{words[0]}_is_{value or 0}"
    if cell.kind in _JOINED and len({*cell.ports["\\A"]}) > 1:
        return words[0]
    if cell.kind in _BEFORE and len(words) == 1:
        return f"{_BEFORE[cell.kind]}_{words[0]}"
    if cell.kind == "$mux":
        return _choice(*words, bit=width_of(cell.ports["\\Y"]) == 1)
    return None


def _choice(no: str, yes: str, condition: str, *, bit: bool) -> str | None:
    """What a multiplexer chooses, in words; the choice of a ``bit`` with a constant is written with ``&`` or ``|``."""
    if bit and yes in ("0", "1"):
        return f"not_{condition}_and_{no}" if yes == "0" else f"{condition}_or_{no}"
    if bit and no in ("0", "1"):
        return f"{condition}_and_{yes}" if no == "0" else f"not_{condition}_or_{yes}"
    return None if yes.isdigit() else f"{yes}_if_{condition}_else_{no}"


def _value(module: Module, cell: Cell) -> str | None:
    """The name of the value that a net with named values is compared with."""
    net = module.whole_wire(cell.ports["\\A"])
    if net is None or cell.kind not in ("$eq", "$ne", "$logic_not"):
        return None
    wire = module.wires[net]
    bits = "".join(piece.bits or "?" for piece in reversed(cell.ports.get("\\B", [])))
    name = value_name(wire, bits.rjust(wire.width, "0"))
    return name and name.lower()


def _operand(folded: Folded, cell: Cell, port: str, names: Mapping[str, str]) -> str | None:
    signal: Signal = cell.ports[port]
    while len(signal) > 1 and signal[-1].bits is not None and "1" not in signal[-1].bits:
        # Leading zeros only make it as wide as the other operand.
        signal = signal[:-1]
    if len(signal) > 1 and cell.kind in _JOINED:
        words = [_piece(folded, piece, names) for piece in reversed(signal)]
        return None if None in words else _JOINED[cell.kind].join(filter(None, words))
    # A bit that is repeated has the name of the bit.
    return _piece(folded, signal[0], names) if len({*signal}) == 1 else None


def _piece(folded: Folded, piece: Slice, names: Mapping[str, str]) -> str | None:
    if piece.bits is not None:
        return str(int(piece.bits, 2)) if set(piece.bits) <= {"0", "1"} else None
    if piece.wire in names:
        name, high = names[piece.wire], piece.low + piece.width - 1
        if piece.width == folded.module.wires[piece.wire].width:
            return name
        return f"{name}_{high}" if piece.width == 1 else f"{name}_{high}_{piece.low}"
    return None
