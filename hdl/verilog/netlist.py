"""Makes Amaranth's RTLIL readable before it becomes Verilog.

Amaranth gives every structure one vector and every name that occurs twice a serial number, and calls
modules by a dotted path; in Verilog the first reads as ``input__payload[264]`` and the others need escaped
names. This module rewrites the RTLIL text: structures become one wire per field, also where they are ports
of submodules; wires between submodules are called after the instance and the port that drives them; and
every name becomes a plain identifier.

It understands the RTLIL that Amaranth's back end writes, where a line is one declaration, connection or
statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from cdma.hdl.spec.errors import CdmaError

from .names import legal_name

__all__ = ["readable"]

_WIRE = re.compile(r"wire width (\d+)( signed)?(?: (input|output|inout) \d+ )?( signed)? (\S+)$")
_TOKEN = re.compile(r"\{|\}|\[(\d+)(?::(\d+))?\]|(\d+)'([01xz-]*)|([\\$]\S+)")
_FIELD = re.compile(r"(.+)\.([A-Za-z_]\w*)$")


@dataclass(frozen=True)
class _Slice:
    """Bits ``low`` to ``low + width - 1`` of a wire, or, if ``bits`` is not None, constant bits (most
    significant first)."""

    wire: str
    low: int
    width: int
    bits: str | None = None

    def cut(self, low: int, width: int) -> _Slice:
        if self.bits is None:
            return _Slice(self.wire, self.low + low, width)
        end = self.width - low
        return _Slice("", 0, width, self.bits[end - width : end])

    def __str__(self) -> str:
        if self.bits is not None:
            return f"{self.width}'{self.bits}"
        return f"{self.wire} [{self.low + self.width - 1}:{self.low}]"


#: A signal as slices, least significant first.
_Signal = list[_Slice]


def _text(signal: _Signal) -> str:
    if len(signal) == 1:
        return str(signal[0])
    return "{ " + " ".join(map(str, reversed(signal))) + " }"


def _cut(signal: _Signal, low: int, width: int) -> _Signal:
    """Bits ``low`` to ``low + width - 1`` of a signal."""
    result = []
    for piece in signal:
        start, end = max(low, 0), min(low + width, piece.width)
        if start < end:
            result.append(piece.cut(start, end - start))
        low -= piece.width
    return result


@dataclass
class _Wire:
    width: int
    signed: bool
    direction: str | None
    init: str | None = None


@dataclass
class _Cell:
    kind: str
    name: str
    parameters: list[str] = field(default_factory=list)
    ports: list[tuple[str, _Signal]] = field(default_factory=list)


@dataclass
class _Module:
    name: str
    wires: dict[str, _Wire] = field(default_factory=dict)
    memories: list[tuple[str, str]] = field(default_factory=list)
    cells: list[_Cell] = field(default_factory=list)
    processes: list[list[str]] = field(default_factory=list)
    connects: list[tuple[_Signal, _Signal]] = field(default_factory=list)

    def signals(self, text: str) -> list[_Signal]:
        """The signals that follow one another in ``text``."""
        result: list[_Signal] = []
        stack: list[list[_Signal]] = []
        position = 0
        for match in _TOKEN.finditer(text):
            assert not text[position : match.start()].strip(), text
            position = match.end()
            token = match[0]
            if token == "{":
                stack.append(result)
                result = []
            elif token == "}":
                inner = [piece for signal in reversed(result) for piece in signal]
                result = stack.pop()
                result.append(inner)
            elif token[0] == "[":
                high = int(match[1])
                low = high if match[2] is None else int(match[2])
                result[-1] = _cut(result[-1], low, high - low + 1)
            elif match[3] is not None:
                result.append([_Slice("", 0, int(match[3]), match[4])] if int(match[3]) else [])
            else:
                width = self.wires[token].width
                result.append([_Slice(token, 0, width)] if width else [])
        assert not text[position:].strip(), text
        return result


def _parse(text: str) -> list[_Module]:
    modules: list[_Module] = []
    init: str | None = None
    lines = iter(text.splitlines())
    for line in lines:
        words = line.strip()
        keyword, _, rest = words.partition(" ")
        if keyword == "module":
            modules.append(_Module(rest))
        elif keyword == "attribute":
            name, _, value = rest.partition(" ")
            if name == "\\init":
                init = value.partition("'")[2]
        elif keyword == "wire":
            match = _WIRE.match(words)
            assert match is not None, words
            modules[-1].wires[match[5]] = _Wire(int(match[1]), bool(match[2] or match[4]), match[3], init)
            init = None
        elif keyword == "memory":
            shape, _, name = rest.rpartition(" ")
            modules[-1].memories.append((name, shape))
        elif keyword == "cell":
            modules[-1].cells.append(_parse_cell(modules[-1], rest, lines))
        elif keyword == "process":
            modules[-1].processes.append(list(_parse_process(words, lines)))
        elif keyword == "connect":
            left, right = modules[-1].signals(rest)
            if left:
                modules[-1].connects.append((left, right))
        else:
            assert keyword in ("", "end"), words
    return modules


def _drop_nothings(module: _Module) -> None:
    """Drops wires and ports without bits, which Verilog does not have."""
    module.wires = {name: wire for name, wire in module.wires.items() if wire.width}
    for cell in module.cells:
        if not cell.kind.startswith("$"):
            cell.ports = [(port, signal) for port, signal in cell.ports if signal]


def _parse_cell(module: _Module, heading: str, lines: Iterator[str]) -> _Cell:
    kind, name = heading.split()
    cell = _Cell(kind, name)
    for line in lines:
        keyword, _, rest = line.strip().partition(" ")
        if keyword == "end":
            break
        if keyword == "parameter":
            cell.parameters.append(rest)
        elif keyword == "connect":
            port, _, signal = rest.partition(" ")
            cell.ports.append((port, module.signals(signal)[0]))
        else:
            assert keyword == "", line
    return cell


def _parse_process(heading: str, lines: Iterator[str]) -> Iterator[str]:
    yield heading
    depth = 1
    for line in lines:
        words = line.strip()
        if words:
            yield words
        depth += words.startswith("switch ") - (words == "end")
        if depth == 0:
            return


def _rewrite(module: _Module, change: Callable[[_Signal], _Signal]) -> None:
    """Passes every signal of a module through ``change``; needs the wires as they were parsed."""
    for cell in module.cells:
        cell.ports = [(port, change(signal)) for port, signal in cell.ports]
    for process in module.processes:
        for index, line in enumerate(process):
            keyword, _, rest = line.partition(" ")
            if keyword in ("assign", "switch"):
                process[index] = " ".join(
                    [keyword, *(_text(change(signal)) for signal in module.signals(rest))]
                )
    module.connects = [(change(left), change(right)) for left, right in module.connects]


# Structures ---------------------------------------------------------------------------------------


def _merge_aliases(module: _Module, is_alias: Callable[[str], bool]) -> None:
    """Drops public wires that only are another name of a whole public wire; Amaranth refers to them nowhere
    else."""
    dropped: set[str] = set()
    for left, right in module.connects:
        if len(left) == len(right) == 1:
            name, other = left[0].wire, right[0]
            if (
                is_alias(name)
                and module.wires[name].direction is None
                and other.wire.startswith("\\")
                and other.width == module.wires[other.wire].width
            ):
                dropped.add(name)

    def is_dropped(name: str) -> bool:
        return name in dropped or re.split(r"[.[]", name, maxsplit=1)[0] in dropped

    module.connects = [(left, right) for left, right in module.connects if not is_dropped(left[0].wire)]
    module.wires = {name: wire for name, wire in module.wires.items() if not is_dropped(name)}


def _leaves(module: _Module, keep_ports: bool) -> dict[str, list[str]]:
    """For each structure that can be split, and for what drives it: the wires of its fields, least
    significant first."""
    fields: dict[str, list[str]] = {}
    for name in module.wires:
        match = _FIELD.match(name)
        if match is not None and match[1] in module.wires:
            fields.setdefault(match[1], []).append(name)
    # Where Amaranth says which bits a field names, it must agree with the order of the fields.
    place = {left[0].wire: right[0] for left, right in module.connects if len(left) == len(right) == 1}

    def expand(name: str) -> list[str]:
        low = 0
        for member in fields.get(name, []):
            known = place.get(member)
            if known is not None and known.wire == name and known.low != low:
                return [name]
            low += module.wires[member].width
        if low != module.wires[name].width:
            return [name]
        return [leaf for member in fields[name] for leaf in expand(member)]

    result: dict[str, list[str]] = {}
    for name, wire in module.wires.items():
        leaves = expand(name) if fields.get(name) else [name]
        if leaves != [name] and not (keep_ports and wire.direction):
            result[name] = leaves
    for left, right in module.connects:
        if left[0].wire in result and _FIELD.match(left[0].wire) is None:
            result.update(_drivers(module, result[left[0].wire], right))
    # What drives a part of a structure may leave the module on a port that Amaranth had no name for.
    exported: set[str] = set()
    for left, right in module.connects:
        if left[0].wire.startswith("\\port$") and len(right) == 1 and right[0].wire in result:
            driver = right[0].wire
            if right[0].width == module.wires[driver].width and driver not in exported:
                result[left[0].wire] = result[driver]
                exported.add(driver)
    return result


def _drivers(module: _Module, leaves: list[str], driver: _Signal) -> dict[str, list[str]]:
    """The nameless wires that drive a structure, each with the fields that it is made of."""
    result: dict[str, list[str]] = {}
    ends = [0]
    for leaf in leaves:
        ends.append(ends[-1] + module.wires[leaf].width)
    low = 0
    for piece in driver:
        high = low + piece.width
        if (
            piece.wire.startswith("$")
            and piece.width == module.wires[piece.wire].width
            and {low, high} <= set(ends)
        ):
            result[piece.wire] = leaves[ends.index(low) : ends.index(high)]
        low = high
    return result


def _split(
    module: _Module, leaves: dict[str, list[str]], ports: dict[str, dict[str, list[tuple[str, int]]]]
) -> None:
    """Replaces structures by their fields, here and where submodules with such ports are instantiated."""

    def fields_of(piece: _Slice) -> Iterable[_Slice]:
        if piece.wire not in leaves:
            return [piece]
        whole = [_Slice(leaf, 0, module.wires[leaf].width) for leaf in leaves[piece.wire]]
        return _cut(whole, piece.low, piece.width)

    # The fields were aliases of bits of the structure, and are the real wires from here on.
    fields = {leaf for names in leaves.values() for leaf in names}
    fields |= {name for name in leaves if (match := _FIELD.match(name)) is not None and match[1] in leaves}
    module.connects = [(left, right) for left, right in module.connects if left[0].wire not in fields]
    _rewrite(module, lambda signal: [part for piece in signal for part in fields_of(piece)])
    module.connects = [(left, right) for left, right in module.connects if left != right]
    _merge_aliases(module, lambda name: name.endswith("]"))
    for name, names in leaves.items():
        if name in fields:
            continue
        wire = module.wires[name]
        low = 0
        for leaf in names:
            field_wire = module.wires[leaf]
            field_wire.direction = field_wire.direction or wire.direction
            if wire.init is not None:
                field_wire.init = _cut([_Slice("", 0, wire.width, wire.init)], low, field_wire.width)[0].bits
            low += field_wire.width
    for name in leaves:
        del module.wires[name]
    for cell in module.cells:
        split = ports.get(cell.kind, {})
        cell.ports = [
            part for port, signal in cell.ports for part in _cut_port(split.get(port), port, signal)
        ]
    module.cells = [part for cell in module.cells for part in _split_register(cell)]


def _cut_port(
    fields: list[tuple[str, int]] | None, port: str, signal: _Signal
) -> Iterator[tuple[str, _Signal]]:
    if fields is None:
        yield port, signal
        return
    low = 0
    for name, width in fields:
        yield name, _cut(signal, low, width)
        low += width


def _split_register(cell: _Cell) -> Iterator[_Cell]:
    """One register per wire, instead of one for all the fields of a structure."""
    ports = dict(cell.ports)
    if cell.kind != "$dff" or len(ports["\\Q"]) == 1:
        yield cell
        return
    low = 0
    for index, piece in enumerate(ports["\\Q"]):
        parameters = [f"\\WIDTH {piece.width}" if p.startswith("\\WIDTH ") else p for p in cell.parameters]
        data = _cut(ports["\\D"], low, piece.width)
        connections = [("\\D", data), ("\\CLK", ports["\\CLK"]), ("\\Q", [piece])]
        yield _Cell(cell.kind, f"{cell.name}${index}", parameters, connections)
        low += piece.width


# Names --------------------------------------------------------------------------------------------


def _plain(name: str) -> str:
    """What a wire is to be called, before it is made legal: without serial numbers, and for the fields of a
    stream's payload without the word payload."""
    return re.sub(r"\$\d+", "", name[1:]).replace("__payload.", "_")


def _driven(module: _Module, modules: dict[str, _Module]) -> dict[str, str]:
    """Wires that are nothing but an output of a submodule: what they are to be called."""
    result: dict[str, str] = {}
    for cell in module.cells:
        if cell.kind not in modules:
            continue
        for port, signal in cell.ports:
            if modules[cell.kind].wires[port].direction == "output" and len(signal) == 1:
                wire = module.wires.get(signal[0].wire)
                if wire is not None and wire.direction is None and wire.width == signal[0].width:
                    result[signal[0].wire] = f"{cell.name[1:]}_{_plain(port)}"
    return result


def _wire_names(module: _Module, modules: dict[str, _Module]) -> dict[str, str]:
    """New names of everything public in a module; ports come first, so that they keep theirs."""
    used: set[str] = set()
    names: dict[str, str] = {}
    driven = _driven(module, modules)

    def add(name: str, wanted: str) -> None:
        if name.startswith("\\"):
            names[name] = legal_name(wanted, used)
            used.add(names[name])

    for name, wire in module.wires.items():
        if wire.direction:
            add(name, _plain(name))
    for cell in module.cells:
        add(cell.name, cell.name[1:])
    for name, _ in module.memories:
        add(name, name[1:])
    for name in driven:
        add(name, driven[name])
    for name in module.wires:
        if name not in names:
            add(name, _plain(name))
    return names


# Operators ----------------------------------------------------------------------------------------

_SAME_AS_RESULT = frozenset({"$add", "$sub", "$and", "$or", "$xor", "$neg", "$not"})
_SAME_AS_EACH_OTHER = frozenset({"$eq", "$ne", "$lt", "$le", "$gt", "$ge", "$divfloor", "$modfloor"})
#: Comparisons that are decided if all bits of the constant on the right are the first: to the second.
_AT_LIMIT = {"$gt": ("1", "0"), "$le": ("1", "1"), "$lt": ("0", "0"), "$ge": ("0", "1")}

_LEFT_AS_RESULT = frozenset({"$shl"})


def _fold_limits(module: _Module) -> None:
    """Replaces comparisons that the range of an unsigned operand decides, at which linters frown."""
    kept: list[_Cell] = []
    for cell in module.cells:
        ports = dict(cell.ports)
        limit = ports.get("\\B", [])
        if cell.kind in _AT_LIMIT and len(limit) == 1 and limit[0].bits is not None:
            bit, result = _AT_LIMIT[cell.kind]
            if set(limit[0].bits) == {bit} and "\\B_SIGNED 0" in cell.parameters:
                module.connects.append((ports["\\Y"], [_Slice("", 0, 1, result)]))
                continue
        kept.append(cell)
    module.cells = kept


def _widen_shifts(module: _Module) -> None:
    """Gives a shift to the right a result as wide as its operand, of which the lowest bits then are taken."""
    for cell in module.cells:
        ports = dict(cell.ports)
        if cell.kind not in ("$shr", "$shift", "$shiftx"):
            continue
        result, operand = ports["\\Y"], ports["\\A"]
        width, wanted = (sum(piece.width for piece in signal) for signal in (operand, result))
        if width <= wanted:
            continue
        wide = f"{cell.name}$wide"
        module.wires[wide] = _Wire(width, False, None)
        module.connects.append((result, [_Slice(wide, 0, wanted)]))
        ports["\\Y"] = [_Slice(wide, 0, width)]
        cell.ports = list(ports.items())
        cell.parameters = [
            f"\\Y_WIDTH {width}" if parameter.startswith("\\Y_WIDTH ") else parameter
            for parameter in cell.parameters
        ]


def _resized(signal: _Signal, width: int, signed: bool) -> _Signal:
    present = sum(piece.width for piece in signal)
    if width <= present:
        return _cut(signal, 0, width)
    if signed and signal:
        top = signal[-1].cut(signal[-1].width - 1, 1)
        return [*signal, *[top] * (width - present)]
    return [*signal, _Slice("", 0, width - present, "0" * (width - present))]


#: Bit k of the result depends on bits 0 to k of the operands alone.
_LOW_FROM_LOW = _SAME_AS_RESULT | _LEFT_AS_RESULT | {"$mul"}


def _uses(module: _Module) -> Iterator[_Slice]:
    """Every slice of a wire that something reads."""
    for cell in module.cells:
        for port, signal in cell.ports:
            if not (cell.kind.startswith("$") and port == "\\Y"):
                yield from signal
    for process in module.processes:
        for line in process:
            keyword, _, rest = line.partition(" ")
            if keyword in ("assign", "switch"):
                yield from module.signals(rest)[-1]
    for _, right in module.connects:
        yield from right


def _drop_unused_bits(module: _Module) -> None:
    """Narrows operators to the bits of their results that are used: no carry that nobody reads."""
    changed = True
    while changed:
        changed = False
        used: dict[str, int] = {}
        for piece in _uses(module):
            used[piece.wire] = max(used.get(piece.wire, 0), piece.low + piece.width)
        for cell in module.cells:
            result = next((signal for port, signal in cell.ports if port == "\\Y"), [])
            if cell.kind not in _LOW_FROM_LOW or len(result) != 1:
                continue
            width = used.get(result[0].wire, 0)
            if 0 < width < result[0].width and result[0].wire.startswith("$"):
                module.wires[result[0].wire].width = width
                narrow = result[0].cut(0, width)
                cell.ports = [(port, [narrow] if port == "\\Y" else signal) for port, signal in cell.ports]
                cell.parameters = [
                    f"\\Y_WIDTH {width}" if parameter.startswith("\\Y_WIDTH ") else parameter
                    for parameter in cell.parameters
                ]
                _match_widths(cell)
                changed = True


def _match_widths(cell: _Cell) -> None:
    """Gives operands the width that Verilog computes in; Amaranth cuts off their leading zeros."""
    if cell.kind not in _LOW_FROM_LOW | _SAME_AS_EACH_OTHER:
        return
    ports = dict(cell.ports)
    parameters = dict(parameter.split(" ", 1) for parameter in cell.parameters)
    operands = [port for port in ("\\A", "\\B") if port in ports]
    if cell.kind in _SAME_AS_EACH_OTHER:
        width = max(1, *(sum(piece.width for piece in ports[port]) for port in operands))
    else:
        width = sum(piece.width for piece in ports["\\Y"])
    for port in operands[:1] if cell.kind in _LEFT_AS_RESULT else operands:
        if cell.kind == "$mul":
            # A multiplier is as large as its operands, so they only become narrower.
            operand_width = min(width, sum(piece.width for piece in ports[port]))
        else:
            operand_width = width
        ports[port] = _resized(ports[port], operand_width, bool(int(parameters[f"{port}_SIGNED"])))
        parameters[f"{port}_WIDTH"] = str(operand_width)
    cell.ports = list(ports.items())
    cell.parameters = [f"{name} {value}" for name, value in parameters.items()]


# Output -----------------------------------------------------------------------------------------


def _write(
    module: _Module,
    module_names: dict[str, str],
    names: dict[str, dict[str, str]],
    init: bool,
    port_order: list[str] | None,
) -> Iterator[str]:
    own = names[module.name]

    def renamed(name: str) -> str:
        return f"\\{own[name]}" if name in own else name

    def signal_text(signal: _Signal) -> str:
        return _text([_Slice(renamed(p.wire), p.low, p.width, p.bits) for p in signal])

    yield f"module \\{module_names[module.name]}"
    for name, shape in module.memories:
        yield f"memory {shape} {renamed(name)}"
    ports = [name for name, wire in module.wires.items() if wire.direction]
    if port_order is None:
        # Clock and reset first: the others by direction, as they were declared.
        ports.sort(
            key=lambda name: (name not in ("\\aclk", "\\rst"), module.wires[name].direction != "input")
        )
    else:
        ports.sort(key=lambda name: port_order.index(name[1:]))
    for name, wire in module.wires.items():
        if wire.init is not None and init:
            yield f"attribute \\init {wire.width}'{wire.init}"
        direction = f" {wire.direction} {ports.index(name) + 1}" if wire.direction else ""
        signed = " signed" if wire.signed else ""
        yield f"wire width {wire.width}{direction}{signed} {renamed(name)}"
    for cell in module.cells:
        if cell.kind == "$meminit_v2" and not init:
            continue
        yield (
            f"cell \\{module_names[cell.kind]} {renamed(cell.name)}"
            if cell.kind in module_names
            else (f"cell {cell.kind} {renamed(cell.name)}")
        )
        for parameter in cell.parameters:
            if parameter.startswith("\\MEMID "):
                memory = parameter.partition('"')[2].rstrip('"').replace("\\\\", "\\")
                parameter = f'\\MEMID "\\{renamed(memory)}"'
            yield f"parameter {parameter}"
        for port, signal in cell.ports:
            name = f"\\{names[cell.kind][port]}" if cell.kind in names else port
            yield f"connect {name} {signal_text(signal)}"
        yield "end"
    for process in module.processes:
        for line in process:
            keyword, _, rest = line.partition(" ")
            if keyword in ("assign", "switch"):
                line = " ".join([keyword, *map(signal_text, module.signals(rest))])
            yield line
    for left, right in module.connects:
        yield f"connect {signal_text(left)} {signal_text(right)}"
    yield "end"


def _refuse_tables(module: _Module) -> None:
    """A memory that is never written is a table: without its contents it is nothing."""
    written = {
        p for c in module.cells if c.kind == "$memwr_v2" for p in c.parameters if p.startswith("\\MEMID ")
    }
    for cell in module.cells:
        if cell.kind == "$meminit_v2" and not written.intersection(cell.parameters):
            raise CdmaError(
                f"module {module.name[1:]} has a memory that is only read; it needs its initial values"
            )


def readable(rtlil: str, *, prefix: str, ports: list[str], init: bool) -> str:
    """Rewrites the RTLIL of a design whose top is its first module.

    The top keeps its name and its ports, in the order of ``ports``; the names of the others start with
    ``prefix``.
    Without ``init``, no register and no memory has an initial value.
    """
    modules = {module.name: module for module in _parse(rtlil)}
    top = next(iter(modules))
    leaves: dict[str, dict[str, list[str]]] = {}
    split: dict[str, dict[str, list[tuple[str, int]]]] = {}
    for name, module in modules.items():
        _drop_nothings(module)
        _merge_aliases(module, lambda name: not re.search(r"[.[]", name))
        for cell in module.cells:
            _match_widths(cell)
        _drop_unused_bits(module)
        _fold_limits(module)
        _widen_shifts(module)
        leaves[name] = _leaves(module, keep_ports=name == top)
        split[name] = {
            wire: [(leaf, module.wires[leaf].width) for leaf in names]
            for wire, names in leaves[name].items()
            if module.wires[wire].direction
        }
    for name, module in modules.items():
        _split(module, leaves[name], split)
    module_names = {top: top[1:]}
    # A prefix may end in underscores, and the top may be called like a submodule.
    paths = {top[1 + len(prefix) :]} if top[1:].startswith(prefix) else set()
    for name in modules:
        if name != top:
            path = legal_name(name[len(top) + 1 :], paths)
            paths.add(path)
            module_names[name] = f"{prefix}{path}"
    names = {name: _wire_names(module, modules) for name, module in modules.items()}
    if not init:
        for module in modules.values():
            _refuse_tables(module)
    return "\n".join(
        line
        for name, module in modules.items()
        for line in _write(module, module_names, names, init, ports if name == top else None)
    )
