"""Yosys's operators as expressions: narrowed to the bits in use, with local parameters for named constants.

Upper result bits that nothing reads are dropped if bit k depends on operand bits 0 to k alone, which saves carries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce

from cdma.hdl.verilog.names import legal_name
from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, Wire, cut, width_of
from cdma.hdl.verilog.netlist.model import constant as bits

from .expressions import (
    Node,
    binary,
    cast,
    choose,
    concat,
    constant,
    equal_zero,
    leaf,
    select,
    selection,
    signed,
    unary,
)
from .layout import constant_text
from .nets import SELECTION, is_named, is_operator, result_ports

_NARROWED = frozenset(
    {"$add", "$sub", "$mul", "$and", "$or", "$xor", "$not", "$neg", "$shl", "$mux", "$pmux"}
)


def narrow(module: Module, modules: Mapping[str, Module]) -> None:
    """Narrows all operators of a module."""
    while _narrow_once(module, modules):
        pass


def _narrow_once(module: Module, modules: Mapping[str, Module]) -> bool:
    """Narrows every operator once; returns whether one has changed, so that another may follow."""
    used: dict[str, int] = {}

    def note(signal: Signal) -> Node:
        for piece in signal:
            used[piece.wire] = max(used.get(piece.wire, 0), piece.low + piece.width)
        return leaf("", width_of(signal))

    for cell in module.cells:
        if is_operator(cell, modules):
            expression(cell, note)
            continue
        for port, signal in cell.ports.items():
            if port not in result_ports(cell, modules):
                note(signal)
    for _, right in module.connects:
        note(right)
    changed = False
    for cell in module.cells:
        if cell.kind not in _NARROWED:
            continue
        wire = cell.ports["\\Y"][0].wire
        width = used.get(wire, 0)
        if is_named(wire) or not 0 < width < module.wires[wire].width:
            continue
        if cell.kind == "$pmux":
            whole, count = module.wires[wire].width, width_of(cell.ports["\\S"])
            parts = [cut(cell.ports["\\B"], index * whole, width) for index in range(count)]
            cell.ports["\\B"] = [piece for part in parts for piece in part]
        if cell.kind in ("$mux", "$pmux"):
            cell.ports["\\A"] = cut(cell.ports["\\A"], 0, width)
        if cell.kind == "$mux":
            cell.ports["\\B"] = cut(cell.ports["\\B"], 0, width)
        module.wires[wire].width = width
        cell.ports["\\Y"] = cut(cell.ports["\\Y"], 0, width)
        changed = True
    return changed


#: The expression of a signal.
Operand = Callable[[Signal], Node]

_WIDE = {"$add": "+", "$sub": "-", "$mul": "*", "$and": "&", "$or": "|", "$xor": "^"}
_DIVISIONS = {"$div": "/", "$divfloor": "/", "$mod": "%", "$modfloor": "%"}
_COMPARISONS = {"$eq": "==", "$ne": "!=", "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}
_REDUCTIONS = {"$reduce_or": "|", "$reduce_bool": "|", "$reduce_and": "&", "$reduce_xor": "^"}
_SHIFTS_RIGHT = ("$shr", "$shift", "$shiftx")


def selects_from_net(cell: Cell) -> bool:
    """Whether a right shift is in range for every distance, and so can be written as an index."""
    if cell.kind not in _SHIFTS_RIGHT or len(cell.ports["\\A"]) != 1 or cell.ports["\\A"][0].bits is not None:
        return False
    farthest = 0
    low = 0
    for piece in cell.ports["\\B"]:
        farthest += (int(piece.bits, 2) if piece.bits is not None else (1 << piece.width) - 1) << low
        low += piece.width
    return farthest + width_of(cell.ports["\\Y"]) <= width_of(cell.ports["\\A"])


def expression(cell: Cell, operand: Operand) -> Node:
    """The expression of an operator, as wide as its result."""
    kind, width = cell.kind, width_of(cell.ports["\\Y"])

    def is_signed(port: str) -> bool:
        return cell.parameters.get(f"{port}_SIGNED", "0").endswith("1")

    def sized(port: str, size: int) -> Node:
        return operand(_resized(cell.ports[port], size, is_signed(port)))

    def widened(node: Node) -> Node:
        return node if node.width == width else concat([constant("0" * (width - node.width)), node])

    if kind in _WIDE:
        return binary(_WIDE[kind], sized("\\A", width), sized("\\B", width))
    if kind == "$xnor":
        return unary("~", binary("^", sized("\\A", width), sized("\\B", width)))
    if kind in ("$not", "$neg", "$pos"):
        node = sized("\\A", width)
        return node if kind == "$pos" else unary("~" if kind == "$not" else "-", node)
    if kind in _DIVISIONS:
        assert cell.parameters["\\A_SIGNED"].endswith("0"), cell
        assert max(width_of(cell.ports["\\A"]), width_of(cell.ports["\\B"])) <= width, cell
        return binary(_DIVISIONS[kind], sized("\\A", width), sized("\\B", width))
    if kind in _COMPARISONS:
        size = max(width_of(cell.ports["\\A"]), width_of(cell.ports["\\B"]))
        left, right = sized("\\A", size), sized("\\B", size)
        if is_signed("\\A") and is_signed("\\B") and kind not in ("$eq", "$ne"):
            left, right = signed(left), signed(right)
        return widened(binary(_COMPARISONS[kind], left, right))
    if kind in _REDUCTIONS:
        return widened(_reduced(cell, operand))
    if kind == "$logic_not":
        return widened(_is_zero(cell.ports["\\A"], operand))
    if kind in ("$logic_and", "$logic_or"):
        left, right = (unary("~", _is_zero(cell.ports[port], operand)) for port in ("\\A", "\\B"))
        return widened(binary("&" if kind == "$logic_and" else "|", left, right))
    if kind == "$mux":
        return choose(operand(cell.ports["\\S"]), operand(cell.ports["\\B"]), operand(cell.ports["\\A"]))
    if kind == "$pmux":
        node = operand(cell.ports["\\A"])
        for index in reversed(range(width_of(cell.ports["\\S"]))):
            condition = operand(cut(cell.ports["\\S"], index, 1))
            node = choose(condition, operand(cut(cell.ports["\\B"], index * width, width)), node)
        return node
    if kind == SELECTION:
        results = (
            operand(cut(cell.ports["\\B"], low, width))
            for low in range(0, width_of(cell.ports["\\B"]), width)
        )
        items = dict(zip(cell.parameters["\\VALUES"].split(), results, strict=True))
        return selection(operand(cell.ports["\\S"]), items, operand(cell.ports["\\A"]))
    if kind == "$shl":
        return binary("<<", sized("\\A", width), operand(cell.ports["\\B"]))
    assert kind in _SHIFTS_RIGHT, f"no Verilog for {kind}"
    assert cell.parameters["\\B_SIGNED"].endswith("0"), cell
    if selects_from_net(cell):
        return select(operand(cell.ports["\\A"]), operand(cell.ports["\\B"]), width)
    assert width >= width_of(cell.ports["\\A"]), cell
    return binary(">>", sized("\\A", width), operand(cell.ports["\\B"]))


def _reduced(cell: Cell, operand: Operand) -> Node:
    """A reduction; an or of one net becomes a comparison with 0."""
    signal = cell.ports["\\A"]
    if len(signal) == 1 and width_of(signal) > 1 and cell.kind in ("$reduce_or", "$reduce_bool"):
        return unary("~", equal_zero(operand(signal)))
    operator = _REDUCTIONS[cell.kind]
    return _chain(operator, [unary(operator, operand([piece])) for piece in reversed(signal)])


def _is_zero(signal: Signal, operand: Operand) -> Node:
    """Whether a signal is 0; for single bits, that none is set."""
    if len(signal) > 1 and all(piece.width == 1 for piece in signal):
        return unary("~", _chain("|", [operand([piece]) for piece in reversed(signal)]))
    return equal_zero(operand(signal))


def _chain(operator: str, nodes: list[Node]) -> Node:
    return reduce(lambda left, right: binary(operator, left, right), nodes)


def _resized(signal: Signal, width: int, is_signed: bool) -> Signal:
    """A signal, truncated or extended to a width."""
    missing = width - width_of(signal)
    if missing <= 0:
        return cut(signal, 0, width) if missing else signal
    if is_signed and signal:
        return [*signal, *[signal[-1].cut(signal[-1].width - 1, 1)] * missing]
    return [*signal, bits("0" * missing)]


def value_name(wire: Wire, bits: str) -> str | None:
    """What a value of a wire is called; None if it has no name, as those of one bit."""
    return wire.values.get(bits) if wire.width > 1 else None


class Values:
    """The named values of a module's ``wires``, which have ``names`` in the text."""

    def __init__(self, wires: Mapping[str, Wire], names: Mapping[str, str]) -> None:
        self._wires = {names[name]: wire for name, wire in wires.items() if wire.values and name in names}
        self._names = names
        self._reserved = set(names.values())
        # The group and the bits of each local parameter that is used.
        self._used: dict[str, tuple[str, str]] = {}
        # The type of a net, with its values by their names.
        self._types: dict[str, tuple[str, dict[str, str]]] = {}

    def add_types(self, registers: Iterable[str], results: Iterable[str]) -> None:
        """The states of a machine become a type, of the register that has them and of the results that are given to it."""
        for name in registers:
            net = self._names[name]
            wire = self._wires.get(net)
            if wire is None or wire.width == 1 or wire.enumeration or wire.direction:
                continue
            members = {self._name(wire, net, value): bits for bits, value in wire.values.items()}
            kind = legal_name(f"{net}_t", self._reserved)
            if self._reserved.isdisjoint(members):
                self._types[net] = kind, members
                self._reserved |= {kind, *members}
        states = dict(self._types)
        for name in results:
            net = self._names[name]
            wire = self._wires.get(net)
            if wire is not None and wire.enumeration in states:
                self._types[net] = states[wire.enumeration]

    def type_of(self, wire: str) -> str | None:
        """The name of the type of a wire, if it has one."""
        kind, _ = self._types.get(self._names[wire], (None, {}))
        return kind

    def types(self) -> Iterator[str]:
        """The lines of the types."""
        for kind, members in dict(self._types.values()).items():
            rows = [f"    {name} = {constant_text(bits)}" for name, bits in members.items()]
            width = len(next(iter(members.values())))
            yield f"  typedef enum logic [{width - 1}:0] {{"
            yield from ",\n".join(rows).split("\n")
            yield f"  }} {kind};"

    def parameters(self, keywords: str) -> Iterator[str]:
        """The lines of the local parameters that are used."""
        for name, (_, value) in sorted(self._used.items(), key=lambda item: item[1]):
            yield f"  {keywords} [{len(value) - 1}:0] {name} = {constant_text(value)};"

    def named(self, node: Node, target: Signal | None = None) -> Node:
        """The expression with names for values, also those that a ``target`` is given."""
        if node.kind == "case":
            by, *parts, other = node.parts
            named = [self.named(part, target) for part in parts[1::2]]
            values = [self._constant(value, by.text) for value in parts[::2]]
            pairs = (part for pair in zip(values, named, strict=True) for part in pair)
            return node._replace(parts=(self._compared(by), *pairs, self.named(other, target)))
        if target is not None and len(target) == 1:
            net = self._names.get(target[0].wire, "")
            node = self._assigned(node, net)
            if net in self._types and not self._has_type(node, net):
                node = cast(node, self._types[net][0])
        return self._compared(node)

    def _has_type(self, node: Node, net: str) -> bool:
        if node.kind == "?:":
            return all(self._has_type(branch, net) for branch in node.parts[1:])
        kind, members = self._types[net]
        return node.kind == "leaf" and (node.text in members or self._types.get(node.text, ("",))[0] == kind)

    def _assigned(self, node: Node, net: str) -> Node:
        if node.kind == "?:":
            condition, *branches = node.parts
            return node._replace(parts=(condition, *(self._assigned(branch, net) for branch in branches)))
        return self._constant(node, net)

    def _compared(self, node: Node) -> Node:
        if node.kind in ("==", "!=") and node.parts[0].kind == "leaf":
            net, value = node.parts
            return node._replace(parts=(net, self._constant(value, net.text)))
        return node._replace(parts=tuple(map(self._compared, node.parts)))

    def _constant(self, node: Node, net: str) -> Node:
        wire = self._wires.get(net)
        if wire is None or node.kind != "constant" or node.width != wire.width:
            return node
        value = value_name(wire, node.text)
        if value is None:
            return node
        name = self._name(wire, net, value)
        if net not in self._types:
            found = (wire.enumeration or net, node.text)
            if name in self._reserved or self._used.setdefault(name, found) != found:
                return node
        return leaf(name, node.width)

    @staticmethod
    def _name(wire: Wire, net: str, value: str) -> str:
        """What a value of a net is called, with what its values are called together before it."""
        group = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", wire.enumeration) or net
        return legal_name(f"{group}_{value}", ()).upper()
