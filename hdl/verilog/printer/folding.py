"""Decides which results become nets, and which are folded into their only reader; removes dead logic.

A nameless result is folded if it has one reader, which takes all its bits, and the expression stays short. A complement
of a net and a comparison with one are always folded. So is an AND or OR of two bits that the source has no variable
for. A selection is folded into the statement of the net that it drives. Every other result becomes a net.

Dead logic reaches no output of the design. Yosys removes it within a module, but keeps what drives an unused port of a
submodule.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, Slice, Wire, variable_of, width_of

from .expressions import Node, concat, constant, leaf
from .memories import Memory, memory_of
from .nets import is_named, is_operator, result_ports
from .statements import Group, groups_of
from .values import expression, selects_from_net


def drop_unused(modules: dict[str, Module], top: str) -> None:
    """Removes all logic that no output of the module ``top`` depends on."""
    live = _live(modules, top)
    before = {name: module.wires for name, module in modules.items()}
    live[top] |= {wire for wire, shape in modules[top].wires.items() if shape.direction}
    for name, module in modules.items():
        module.cells = [cell for cell in module.cells if _results(cell, modules) & live[name]]
        module.connects = [(left, right) for left, right in module.connects if left[0].wire in live[name]]
    # Not before, because what a cell gives is told by the ports of its module.
    for name, module in modules.items():
        module.wires = {wire: shape for wire, shape in module.wires.items() if wire in live[name]}
    for name, module in list(modules.items()):
        if name != top and not live[name]:
            del modules[name]
            continue
        for cell in module.cells:
            if cell.kind in modules:
                ports = modules[cell.kind].wires
                cell.ports = {
                    port: signal if _is_read(port, signal, ports, live[name]) else []
                    for port, signal in cell.ports.items()
                    if port in ports and ports[port].direction
                }
            # A result of which a part is read is connected as a whole.
            for wire in _results(cell, modules):
                module.wires.setdefault(wire, replace(before[name][wire], direction=None))


def _is_read(port: str, signal: Signal, ports: Mapping[str, Wire], live: Container[str]) -> bool:
    """Whether a port is an input or a used output; each instance of a module may use others."""
    return ports[port].direction == "input" or any(piece.wire in live for piece in signal)


def _results(cell: Cell, modules: Mapping[str, Module]) -> set[str]:
    return {piece.wire for port in result_ports(cell, modules) for piece in cell.ports[port]}


def _live(modules: Mapping[str, Module], top: str) -> dict[str, set[str]]:
    """The live wires of each module: an output of the design depends on them."""
    drivers: dict[str, dict[str, list[tuple[Cell, str]]]] = {name: {} for name in modules}
    sources: dict[str, dict[str, list[str]]] = {name: {} for name in modules}
    parents: dict[str, list[tuple[str, Cell]]] = {name: [] for name in modules}
    for name, module in modules.items():
        for cell in module.cells:
            if cell.kind in modules:
                parents[cell.kind].append((name, cell))
            for port in result_ports(cell, modules):
                for piece in cell.ports[port]:
                    drivers[name].setdefault(piece.wire, []).append((cell, port))
        for left, right in module.connects:
            wires = [piece.wire for piece in right if piece.bits is None]
            sources[name].setdefault(left[0].wire, []).extend(wires)
    live: dict[str, set[str]] = {name: set() for name in modules}
    waiting: list[tuple[str, str]] = []

    def mark(name: str, wire: str) -> None:
        if wire not in live[name]:
            live[name].add(wire)
            waiting.append((name, wire))

    for wire, shape in modules[top].wires.items():
        if shape.direction == "output":
            mark(top, wire)
    while waiting:
        name, wire = waiting.pop()
        for source in sources[name].get(wire, []):
            mark(name, source)
        for cell, port in drivers[name].get(wire, []):
            if cell.kind in modules:
                mark(cell.kind, port)
                continue
            for other, signal in cell.ports.items():
                if other not in result_ports(cell, modules):
                    for piece in signal:
                        if piece.bits is None:
                            mark(name, piece.wire)
        if modules[name].wires[wire].direction == "input":
            for parent, cell in parents[name]:
                for piece in cell.ports[wire]:
                    if piece.bits is None:
                        mark(parent, piece.wire)
    return live


#: The most leaves and constants of an expression; a larger one is cut into several, if it has parts that are worth a name.
_LARGEST = 32
_LEAST_PART = 8

#: The largest expression at a port of an instance.
_LARGEST_AT_PORT = 3


@dataclass(frozen=True)
class Use:
    """A use of a wire as the ``role`` of ``target``: ``operand``, ``next``, ``enable``, ``reset`` or the name of a port.

    ``target``: The output wire of an operator or register, or the name of an instance or memory.
    ``whole``: Whether all bits are read, as an expression.
    """

    target: str
    role: str
    whole: bool


@dataclass
class Folded:
    """The decisions for a module, with its registers in ``groups`` and its ``memories``.

    ``drivers``: The driving operator of each wire.
    ``nets``: The nameless wires that become nets, in the order of their drivers.
    ``uses``: Where each wire is read.
    """

    module: Module
    drivers: dict[str, Cell]
    groups: list[Group]
    memories: list[Memory]
    uses: dict[str, list[Use]] = field(default_factory=dict)
    nets: dict[str, None] = field(default_factory=dict)

    def node(self, signal: Signal, names: Mapping[str, str]) -> Node:
        """The expression of a signal, in which nets are called by ``names``."""
        parts = [self._part(piece, names) for piece in reversed(signal)]
        return parts[0] if len(parts) == 1 else concat(parts)

    def result(self, cell: Cell, names: Mapping[str, str]) -> Node:
        """The expression of what an operator computes."""
        return expression(cell, lambda signal: self.node(signal, names))

    def _part(self, piece: Slice, names: Mapping[str, str]) -> Node:
        if piece.bits is not None:
            return constant(piece.bits)
        width = self.module.wires[piece.wire].width
        if piece.wire in self.drivers and not is_named(piece.wire) and piece.wire not in self.nets:
            assert (piece.low, piece.width) == (0, width), piece
            return self.result(self.drivers[piece.wire], names)
        name = names.get(piece.wire, piece.wire)
        high = piece.low + piece.width - 1
        if piece.width == width:
            return leaf(name, width)
        return leaf(f"{name}[{high}]" if piece.width == 1 else f"{name}[{high}:{piece.low}]", piece.width)


def fold(module: Module, modules: Mapping[str, Module]) -> Folded:
    """Decides for a prepared module."""
    operators = [cell for cell in module.cells if is_operator(cell, modules)]
    drivers = {cell.ports["\\Y"][0].wire: cell for cell in operators}
    memories = [memory_of(cell) for cell in module.cells if cell.kind == "$mem_v2"]
    folded = Folded(module, drivers, groups_of(module), memories)
    _count_uses(folded, operators, modules)
    _choose(folded, operators)
    return folded


def _count_uses(folded: Folded, operators: Iterable[Cell], modules: Mapping[str, Module]) -> None:
    module = folded.module

    def note(signal: Signal, target: str, role: str, whole: bool = True) -> None:
        for piece in signal:
            if piece.bits is None:
                complete = whole and piece.width == module.wires[piece.wire].width
                folded.uses.setdefault(piece.wire, []).append(Use(target, role, complete))

    for cell in operators:
        target = cell.ports["\\Y"][0].wire

        def operand(signal: Signal, target: str = target) -> Node:
            note(signal, target, "operand")
            return leaf("", width_of(signal))

        expression(cell, operand)
        if selects_from_net(cell):
            note(cell.ports["\\A"], target, "operand", whole=False)
    for group in folded.groups:
        first = group.registers[0].target.wire
        note(group.enable, first, "enable")
        note(group.reset, first, "reset")
        for register in group.registers:
            note(register.value, register.target.wire, "next")
    for left, right in module.connects:
        note(right, left[0].wire, "operand")
    for memory in folded.memories:
        for port, signal in memory.inputs():
            # A port of one bit that is connected to a row of equal ones is read once.
            for piece in dict.fromkeys(signal):
                note([piece], memory.name, f"\\{port}")
    for cell in module.cells:
        if cell.kind in modules:
            results = result_ports(cell, modules)
            for port, signal in cell.ports.items():
                if port not in results:
                    note(signal, cell.name, port)


def _is_pair(node: Node) -> bool:
    """Whether it is an AND or OR of two bits or their complements, which reads better than any name of it."""
    return (
        node.kind in ("&", "|")
        and node.width == 1
        and len(node.parts) == 2
        and node.size() == 2
        and all(
            part.kind == "leaf" or (part.kind == "~" and part.parts[0].kind == "leaf") for part in node.parts
        )
    )


def _given_whole(folded: Folded) -> Iterator[Signal]:
    """The wires that a register, or a whole net, is given as they are."""
    module = folded.module
    pairs = [([register.target], register.value) for group in folded.groups for register in group.registers]
    for left, right in (*pairs, *module.connects):
        if module.whole_wire(left) and module.whole_wire(right):
            yield right


def _choose(folded: Folded, operators: list[Cell]) -> None:
    """Makes nets of all results that cannot be folded, then of the largest parts of expressions that are too long."""
    hidden: dict[str, Node] = {}
    done: set[str] = set()
    statements = {signal[0].wire for signal in _given_whole(folded)}

    def is_net(wire: str, node: Node) -> bool:
        uses = folded.uses.get(wire, [])
        if not all(use.whole for use in uses):
            return True
        if node.kind == "case":
            return len(uses) != 1 or wire not in statements
        if _is_pair(node) and not variable_of(wire):
            return False
        if any(use.target.startswith("\\") and use.role.startswith("\\") for use in uses):
            return node.size() > _LARGEST_AT_PORT or len(uses) > 1
        if node.kind in ("~", "==", "!=") and all(part.kind in ("leaf", "constant") for part in node.parts):
            return False
        return len(uses) != 1

    def visit(cell: Cell) -> None:
        wire = cell.ports["\\Y"][0].wire
        if wire in done:
            return
        done.add(wire)
        inputs = [piece.wire for port, signal in cell.ports.items() if port != "\\Y" for piece in signal]
        for name in inputs:
            if name in folded.drivers and not is_named(name):
                visit(folded.drivers[name])
        node = folded.result(cell, {})
        candidates = {name for name in inputs if name in hidden}
        while node.largest_entry() > _LARGEST and candidates:
            largest = max(candidates, key=lambda name: (hidden[name].size(), name))
            if hidden[largest].size() < _LEAST_PART:
                break
            candidates.discard(largest)
            del hidden[largest]
            folded.nets[largest] = None
            node = folded.result(cell, {})
        if not is_named(wire):
            if is_net(wire, node):
                folded.nets[wire] = None
            else:
                hidden[wire] = node

    for cell in operators:
        visit(cell)
