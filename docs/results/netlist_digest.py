"""A digest of a circuit: of its operators, registers and memories and how they are connected, and of no name.

A renamed signal or port, a block that moves into another module, and logic that nothing reads leave it as it is. Each cell
has a label of its kind and parameters. In each round, a label takes in those of the cells that it is connected to. After
some rounds the labels together are the digest. Of equal combinational cells one counts; of registers and memories all do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Fragment
from amaranth.hdl._ir import PortDirection, build_netlist
from amaranth.hdl._nir import Cell, FlipFlop, Memory, Net, Netlist, SyncReadPort, SyncWritePort, Value

__all__ = ["digest_of_netlist", "digest_of_shell"]

_ROUNDS = 6
#: Attributes of a cell that are names or places.
_NAMELESS = frozenset({"module_idx", "src_loc", "name", "attributes", "io_net_names"})
_STATE = (FlipFlop, Memory, SyncReadPort, SyncWritePort)


def digest_of_shell(shell: Any) -> str:
    """The digest of what a shell of the generator is elaborated to."""
    directions = {"input": PortDirection.Input, "output": PortDirection.Output}
    ports = [(port.name, shell.port(port.name), directions[port.direction]) for port in shell.ports()]
    return digest_of_netlist(build_netlist(Fragment.get(shell, None), ports))


def digest_of_netlist(netlist: Netlist) -> str:
    """The digest of the cells that outputs of a netlist depend on."""
    nodes = _Nodes(netlist).reached()
    labels = {key: _hash(node.text) for key, node in nodes.items()}
    for _ in range(_ROUNDS):
        labels = {
            key: _hash(node.text, *(labels[each] for each in node.sources)) for key, node in nodes.items()
        }
    states = sorted(labels[key] for key, node in nodes.items() if node.state)
    others = sorted({labels[key] for key, node in nodes.items() if not node.state})
    return _hash("state", *states, b"others", *others).hex()[:16]


def _hash(text: str, *labels: bytes) -> bytes:
    return hashlib.blake2b(text.encode() + b"\0" + b"".join(labels), digest_size=12).digest()


@dataclass
class _Node:
    """A cell or a port: its kind and parameters, the nodes that it depends on, and whether it is state, or a port."""

    text: str
    sources: list[str] = field(default_factory=list)
    state: bool = False


class _Nodes:
    def __init__(self, netlist: Netlist) -> None:
        self._cells: Sequence[Cell] = netlist.cells
        self._outputs = netlist.top.ports_o
        self._inputs = {
            bit: (name, bit - start, width)
            for name, (start, width) in netlist.top.ports_i.items()
            for bit in range(start, start + width)
        }
        self._writes: dict[int, list[int]] = {}
        for number, cell in enumerate(self._cells):
            if isinstance(cell, SyncWritePort):
                self._writes.setdefault(cell.memory, []).append(number)

    def reached(self) -> dict[str, _Node]:
        """The nodes that outputs depend on, by keys that stand in no label."""
        found = {f"output {name}": self._node("output", value) for name, value in self._outputs.items()}
        waiting = [source for node in found.values() for source in node.sources]
        while waiting:
            key = waiting.pop()
            if key not in found:
                found[key] = self._found(key)
                waiting += found[key].sources
        return found

    def _found(self, key: str) -> _Node:
        kind, _, name = key.partition(" ")
        if kind == "input":
            width = next(width for port, _, width in self._inputs.values() if port == name)
            return _Node(f"input {width}", state=True)
        number = int(name)
        cell = self._cells[number]
        node = _Node(type(cell).__name__, state=isinstance(cell, _STATE))
        for attribute, value in sorted(vars(cell).items()):
            if attribute == "memory":
                node.sources.append(f"cell {value}")
            elif attribute == "transparent_for":
                node.text += f" {attribute}"
                node.sources += [f"cell {each}" for each in value]
            elif attribute not in _NAMELESS:
                node.text += f" {attribute}="
                self._add(node, value)
        if isinstance(cell, Memory):
            node.sources += [f"cell {each}" for each in self._writes.get(number, ())]
        return node

    def _node(self, text: str, value: Value) -> _Node:
        node = _Node(text, state=True)
        self._add(node, value)
        return node

    def _add(self, node: _Node, value: Any) -> None:
        """Adds a value of a cell's attribute: nets, parts, or a constant."""
        if isinstance(value, Net):
            self._add_nets(node, [value])
        elif isinstance(value, Value):
            self._add_nets(node, value)
        elif isinstance(value, dict):
            for name, each in sorted(value.items()):
                node.text += f" {name}:"
                self._add(node, each)
        elif isinstance(value, (tuple, list)):
            node.text += "("
            for each in value:
                self._add(node, each)
            node.text += ")"
        elif hasattr(value, "__dict__") or type(value).__name__ == "Assignment":
            self._add(node, {name: each for name, each in vars(value).items() if name not in _NAMELESS})
        else:
            node.text += f" {value!r}"

    def _add_nets(self, node: _Node, nets: Iterable[Net]) -> None:
        """Adds nets as runs of bits of one source."""
        runs: list[list[Any]] = []
        for net in nets:
            key, bit = self._source(net)
            if runs and runs[-1][0] == key and key is not None and runs[-1][1] + runs[-1][2] == bit:
                runs[-1][2] += 1
            else:
                runs.append([key, bit, 1])
        for key, bit, width in runs:
            node.text += f" {bit}" if key is None else f" [{bit}+{width}]"
            if key is not None:
                node.sources.append(key)

    def _source(self, net: Net) -> tuple[str | None, int]:
        if net.is_const:
            return None, net.const
        if net.cell:
            return f"cell {net.cell}", net.bit
        name, bit, _ = self._inputs[net.bit]
        return f"input {name}", bit
