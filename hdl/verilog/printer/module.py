"""Prints one module, prepared and folded: ports, nets, initial values, assignments, registers, memories, instances.

A nameless net that only a register with named values selects gets the names of its values as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from cdma.hdl.verilog.names import Dialect, natural
from cdma.hdl.verilog.netlist.model import Cell, Module, Signal, Slice, cut

from .expressions import Node, conditional, constant, unary
from .folding import Folded
from .layout import LINE, assignment, condition, constant_text, flat, noted, selection, wrapped
from .memories import Memory, infer
from .net_names import net_names
from .nets import LATCH, REGISTERS, is_named, is_operator, result_ports
from .statements import Group
from .values import Values

#: The inputs that come out as they are, by the kind of cell.
_PASSED = {"$mux": ("\\A", "\\B"), "$pmux": ("\\A", "\\B"), **dict.fromkeys(REGISTERS, ("\\D",))}


def inherit_values(module: Module, modules: Mapping[str, Module]) -> None:
    """Names the values of such nets."""
    if not any(wire.values for wire in module.wires.values()):
        return
    # What each wire becomes; None for another use.
    becomes: dict[str, set[str | None]] = {}
    for cell in module.cells:
        for wire, target in _passed(module, cell, modules):
            becomes.setdefault(wire, set()).add(target)
    for left, right in module.connects:
        for piece in right:
            whole = module.whole_wire(right) == piece.wire and module.whole_wire(left)
            becomes.setdefault(piece.wire, set()).add(whole or None)
    found: dict[str, str | None] = {}

    def source(wire: str | None) -> str | None:
        """The wire whose names a wire has."""
        if wire is None or module.wires[wire].values:
            return wire
        if wire not in found:
            found[wire] = None
            sources = {source(target) for target in becomes.get(wire, {None})}
            if not is_named(wire) and len(sources) == 1:
                (found[wire],) = sources
        return found[wire]

    for name, own in module.wires.items():
        origin = source(name)
        if origin is not None and origin != name and not own.values:
            own.enumeration = module.wires[origin].enumeration or origin[1:]
            own.values = module.wires[origin].values


def _passed(module: Module, cell: Cell, modules: Mapping[str, Module]) -> Iterator[tuple[str, str | None]]:
    """The wires that a cell reads, each with the one that it becomes if it is passed on whole."""
    results = result_ports(cell, modules)
    for port, signal in cell.ports.items():
        if port in results:
            continue
        target = module.whole_wire(cell.ports[results[0]]) if port in _PASSED.get(cell.kind, ()) else None
        for piece in signal:
            if piece.bits is None:
                is_whole = target is not None and module.wires[target].width == piece.width
                yield piece.wire, target if is_whole and module.whole_wire([piece]) else None


def print_module(
    folded: Folded,
    modules: Mapping[str, Module],
    ports: Sequence[str],
    wrappers: Callable[[Memory], str],
    notes: Mapping[str, str],
    dialect: Dialect,
) -> list[str]:
    """The lines of a module; ``ports`` are its ports in their order.

    ``wrappers`` gives the name of a memory's wrapper; a memory without one is inferred in the module. The
    ``notes`` stand beside what they are about.
    """
    return list(_Printer(folded, modules, wrappers, notes, dialect).lines(ports))


class _Printer:
    def __init__(
        self,
        folded: Folded,
        modules: Mapping[str, Module],
        wrappers: Callable[[Memory], str],
        notes: Mapping[str, str],
        dialect: Dialect,
    ) -> None:
        self.folded = folded
        self.module = folded.module
        self.modules = modules
        self.wrappers = wrappers
        self.notes = notes
        self.dialect = dialect
        self.names = net_names(folded, modules)
        targets = [register.target for group in folded.groups for register in group.registers]
        self.latches = [cell for cell in folded.module.cells if cell.kind == LATCH]
        latched = {piece.wire for cell in self.latches for piece in cell.ports["\\Q"]}
        self.registers = {target.wire for target in targets} | latched
        self.variables = {target[0].wire for target, value in self._assigned() if value.kind == "case"}
        self.values = Values(folded.module.wires, self.names)
        if dialect.has_types:
            self.values.add_types((target.wire for target in targets), folded.nets)
        self.printed: set[str] = set()
        for memory in folded.memories:
            if not wrappers(memory):
                self._own_registers(memory)

    def _own_registers(self, memory: Memory) -> None:
        for read in memory.reads:
            if read.clock:
                self.registers.update(piece.wire for piece in read.data)

    def lines(self, ports: Sequence[str]) -> Iterator[str]:
        yield f"module {self.module.name[1:]} ("
        for index, port in enumerate(ports):
            yield from self._declaration(port, "," if index < len(ports) - 1 else "")
        yield ");"
        # What is declared first follows from the rest.
        rest = [*self._declarations(), *self._body(), "endmodule"]
        yield from self.values.types()
        yield from self.values.parameters(self.dialect.constant)
        yield from rest

    def _declarations(self) -> Iterator[str]:
        """The nets and registers that are no ports."""
        wires = sorted(
            (name for name in self._nets() if self.module.wires[name].direction is None),
            key=lambda name: natural(self.names[name]),
        )
        for name in wires:
            yield from self._declaration(name, ";")

    def _body(self) -> Iterator[str]:
        """What comes after the declarations."""
        if not self.dialect.declares_values:
            yield from self._initial()
        yield from self._assignments()
        for group in self.folded.groups:
            yield from self._group(group)
        for cell in self.latches:
            held, data, clock = (self._text(cell.ports[port]) for port in ("\\Q", "\\D", "\\EN"))
            yield "  // verilator lint_off LATCH"
            yield f"  {self.dialect.latched} begin"
            yield f"    if (~{clock}) {held} = {data};"
            yield "  end"
            yield "  // verilator lint_on LATCH"
        for memory in self.folded.memories:
            yield from self._memory(memory)
        for cell in self.module.cells:
            if cell.kind in self.modules:
                yield from self._instance(cell)

    def _nets(self) -> Iterator[str]:
        """The declared wires."""
        for name in self.module.wires:
            if name in self.names:
                yield name

    def _declaration(self, name: str, end: str) -> list[str]:
        wire = self.module.wires[name]
        is_variable = name in self.registers or name in self.variables
        kind = self.dialect.register if is_variable else self.dialect.net
        direction = f"{wire.direction:6} " if wire.direction else ""
        span = f"[{wire.width - 1}:0] " if wire.width > 1 else ""
        kind_of_state = self.values.type_of(name)
        shape = f"{kind_of_state} " if kind_of_state else f"{kind:4} {span}"
        value = self._initial_value(name) if self.dialect.declares_values else None
        line = f"  {direction}{shape}{self.names[name]}{'' if value is None else f' = {value}'}{end}"
        return noted([line], self.notes.get(name[1:], ""))

    def _initial(self) -> Iterator[str]:
        values = {
            name: value
            for name in self.module.wires
            if name in self.registers and (value := self._initial_value(name)) is not None
        }
        if values:
            yield "  initial begin"
            for name, value in values.items():
                yield f"    {self.names[name]} = {value};"
            yield "  end"

    def _initial_value(self, name: str) -> str | None:
        """What a register is from the start."""
        bits = self.module.wires[name].init
        if bits is None or name not in self.registers or "x" in bits:
            return None
        if self.dialect.declares_values and self.module.wires[name].direction:
            # Ports are declared before the names of values.
            return constant_text(bits)
        return flat(self.values.named(constant(bits), [Slice(name, 0, len(bits))]))

    def _assigned(self) -> Iterator[tuple[Signal, Node]]:
        """The nets that are no registers, each with what it is given."""
        for wire, cell in self.folded.drivers.items():
            if is_named(wire) or wire in self.folded.nets:
                yield cell.ports["\\Y"], self.folded.result(cell, self.names)
        for left, right in self.module.connects:
            yield left, self.folded.node(right, self.names)

    def _assignments(self) -> Iterator[str]:
        for cell in self.module.cells:
            if is_operator(cell, self.modules):
                wire = cell.ports["\\Y"][0].wire
                if is_named(wire):
                    yield from self._assign(cell.ports["\\Y"], cell)
        for left, right in self.module.connects:
            yield from self._needed(right)
            yield from self._give(f"assign {self._text(left)} =", self._node(right, left), 2)

    def _assign(self, target: Signal, cell: Cell) -> Iterator[str]:
        """The assignment to a net, after those of the nets that it reads."""
        for port, signal in cell.ports.items():
            if port != "\\Y":
                yield from self._needed(signal)
        value = self.values.named(self.folded.result(cell, self.names), target)
        yield from self._give(f"assign {self._text(target)} =", value, 2)

    def _give(self, before: str, value: Node, indent: int) -> list[str]:
        """The lines of an assignment, of which ``before`` is the beginning."""
        if value.kind != "case":
            return assignment(before, value, indent)
        if before.startswith("assign "):
            if self.dialect.has_types and value.reads_bits:
                # Icarus Verilog complains of bits of a net in always_comb.
                return assignment(before, conditional(value), indent)
            lines = selection(before.removeprefix("assign "), value, 4)
            return [f"  {self.dialect.combinational} begin", *lines, "  end"]
        return selection(before, value, indent)

    def _needed(self, signal: Signal) -> Iterator[str]:
        """The outstanding assignments of the nameless nets in a signal."""
        for piece in signal:
            wire = piece.wire
            if wire not in self.folded.drivers or is_named(wire) or wire in self.printed:
                continue
            self.printed.add(wire)
            cell = self.folded.drivers[wire]
            if wire in self.folded.nets:
                yield from self._assign(cell.ports["\\Y"], cell)
            else:
                for port, inner in cell.ports.items():
                    if port != "\\Y":
                        yield from self._needed(inner)

    def _group(self, group: Group) -> Iterator[str]:
        for signal in (group.reset, group.enable, *(register.value for register in group.registers)):
            yield from self._needed(signal)
        reset = self._condition(group.reset, group.reset_low)
        enable = self._condition(group.enable, group.enable_low)
        yield f"  {self.dialect.clocked} @(posedge {self._text(group.clock)}) begin"
        indent = 4
        if enable is not None and not (reset is not None and group.reset_first):
            yield from condition(f"{' ' * indent}if (", enable, indent)
            indent += 2
        if reset is not None:
            yield from condition(f"{' ' * indent}if (", reset, indent)
            for register in group.registers:
                value = self.values.named(constant(register.at_reset), [register.target])
                yield f"{' ' * (indent + 2)}{self._text([register.target])} <= {flat(value)};"
            if enable is not None and group.reset_first:
                yield from condition(f"{' ' * indent}end else if (", enable, indent)
            else:
                yield f"{' ' * indent}end else begin"
            indent += 2
        for register in group.registers:
            value = self._node(register.value, [register.target])
            yield from self._give(f"{self._text([register.target])} <=", value, indent)
        while indent > 4:
            indent -= 2
            yield f"{' ' * indent}end"
        yield "  end"

    def _condition(self, signal: Signal, low: bool) -> Node | None:
        if not signal:
            return None
        node = self._node(signal)
        return unary("~", node) if low else node

    def _memory(self, memory: Memory) -> Iterator[str]:
        for _, signal in memory.inputs():
            yield from self._needed(signal)
        signals = {port: signal for port, signal, _, _ in memory.pins()}
        name = memory.name[1:]
        if wrapper := self.wrappers(memory):
            pins = {port: self._node(signal) for port, signal in signals.items()}
            yield from _instance(wrapper, name, pins)
            return
        yield from infer(
            memory, name, lambda port, low, width: self._node(cut(signals[port], low, width)), self.dialect
        )

    def _instance(self, cell: Cell) -> Iterator[str]:
        results = result_ports(cell, self.modules)
        for port, signal in cell.ports.items():
            if port not in results:
                yield from self._needed(signal)
        pins: dict[str, Node | None] = {}
        for port, signal in cell.ports.items():
            unread = port in results and all(piece.wire not in self.names for piece in signal)
            pins[port[1:]] = None if unread else self._node(signal)
        yield from _instance(cell.kind[1:], cell.name[1:], pins)

    def _node(self, signal: Signal, target: Signal | None = None) -> Node:
        """The expression of a signal, which may be given to a ``target``."""
        return self.values.named(self.folded.node(signal, self.names), target)

    def _text(self, signal: Signal) -> str:
        return flat(self.folded.node(signal, self.names))


def _instance(module: str, name: str, pins: Mapping[str, Node | None]) -> Iterator[str]:
    """An instance; None leaves a port open."""
    yield f"  {module} {name} ("
    for index, (port, node) in enumerate(pins.items()):
        after = ")," if index < len(pins) - 1 else ")"
        if node is None:
            yield f"    .{port}({after}"
            continue
        lines = wrapped(node, 6, len(port) + 6, len(after))
        if len(lines) == 1 and len(port) + 6 + len(lines[0]) + len(after) > LINE:
            yield f"    .{port}("
            yield f"      {lines[0]}{after}"
            continue
        lines[0] = f"    .{port}({lines[0]}"
        lines[-1] += after
        yield from lines
    yield "  );"
