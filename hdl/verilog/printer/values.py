"""Names of values: a constant that a net with named values is given, or compared with, has the name of the value.

In: expressions. Out: the same with local parameters of the module in place of such constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cdma.hdl.verilog.names import legal_name
from cdma.hdl.verilog.netlist.model import Signal, Wire

from .expressions import Node, leaf
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

    def parameters(self) -> Iterator[str]:
        """The lines of the local parameters that are used."""
        for name, (_, bits) in sorted(self._used.items(), key=lambda item: item[1]):
            yield f"  localparam [{len(bits) - 1}:0] {name} = {constant_text(bits)};"

    def named(self, node: Node, target: Signal | None = None) -> Node:
        """The expression with names for values, also those that a ``target`` is given."""
        if target is not None and len(target) == 1:
            node = self._given(node, self._names.get(target[0].wire, ""))
        return self._compared(node)

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
        group = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", wire.enumeration) or net
        name = legal_name(f"{group}_{value}", ()).upper()
        found = (group, node.text)
        if name in self._taken or self._used.setdefault(name, found) != found:
            return node
        return leaf(name, node.width)
