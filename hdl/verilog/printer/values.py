"""Names of values: a constant that a net with named values is given, or compared with, has the name of the value.

In: expressions. Out: the same with local parameters of the module in place of such constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from cdma.hdl.verilog.names import legal_name
from cdma.hdl.verilog.netlist.model import Signal, Wire

from .expressions import Node, cast, leaf
from .layout import constant_text

__all__ = ["Values", "value_name"]


def value_name(wire: Wire, bits: str) -> str | None:
    """What a value of a wire is called; None if it has no name, as those of one bit."""
    return wire.values.get(bits) if wire.width > 1 else None


class Values:
    """The named values of a module's ``wires``, which have ``names`` in the text."""

    def __init__(self, wires: Mapping[str, Wire], names: Mapping[str, str]) -> None:
        self._wires = {names[name]: wire for name, wire in wires.items() if wire.values and name in names}
        self._names = names
        self._taken = set(names.values())
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
            kind = legal_name(f"{net}_t", self._taken)
            if self._taken.isdisjoint(members):
                self._types[net] = kind, members
                self._taken |= {kind, *members}
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
        for name, (_, bits) in sorted(self._used.items(), key=lambda item: item[1]):
            yield f"  {keywords} [{len(bits) - 1}:0] {name} = {constant_text(bits)};"

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
            node = self._given(node, net)
            if net in self._types and not self._has_type(node, net):
                node = cast(node, self._types[net][0])
        return self._compared(node)

    def _has_type(self, node: Node, net: str) -> bool:
        """Whether an expression is of the type of a net."""
        if node.kind == "?:":
            return all(self._has_type(branch, net) for branch in node.parts[1:])
        kind, members = self._types[net]
        return node.kind == "leaf" and (node.text in members or self._types.get(node.text, ("",))[0] == kind)

    def _given(self, node: Node, net: str) -> Node:
        if node.kind == "?:":
            condition, *branches = node.parts
            return node._replace(parts=(condition, *(self._given(branch, net) for branch in branches)))
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
            if name in self._taken or self._used.setdefault(name, found) != found:
                return node
        return leaf(name, node.width)

    @staticmethod
    def _name(wire: Wire, net: str, value: str) -> str:
        """What a value of a net is called, with what its values are called together before it."""
        group = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", wire.enumeration) or net
        return legal_name(f"{group}_{value}", ()).upper()
