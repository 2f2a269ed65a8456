"""Legal Verilog names for all of a netlist, which is printed as RTLIL with them.

A wire between submodules is named after its driving instance and port. A port that Amaranth numbers because it is a
part of signals is named after these: ``literal`` for eight ports of a bit, ``address_63_5`` for a part of a signal, or
what an instance inside calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import reduce
from itertools import groupby
from typing import NamedTuple

from cdma.hdl.verilog.names import legal_name

from .model import ENUMERATION, VALUE, Cell, Module, Signal, Slice, Wire, cut, joined


def module_names(paths: Mapping[str, Sequence[str]], top: str, prefix: str) -> dict[str, str]:
    """The name of each module: ``top`` keeps its own, the names of the others start with ``prefix``.

    The common part of the hierarchical ``paths`` of a module's instances becomes its name, without the word that the
    prefix ends with.
    """
    names = {top: top[1:]}
    # A prefix may end in underscores, and the top may be called like a submodule.
    used = {top[1 + len(prefix) :]} if top[1:].startswith(prefix) else set()

    last = prefix.rstrip("_").rpartition("_")[2]

    def give(module: str, wanted: str) -> None:
        first, _, rest = wanted.replace(".", "_").partition("_")
        path = legal_name((rest or "core") if first == last else wanted, used)
        used.add(path)
        names[module] = f"{prefix}{path}"

    inside = {
        module: [path[len(top) + 1 :] for path in same] for module, same in paths.items() if module != top
    }
    shared = {module: places for module, places in inside.items() if len(places) > 1}
    for module, (path, *others) in inside.items():
        if not others:
            give(module, path)
    for module, places in shared.items():
        common = reduce(_common, (re.findall(r"[^._]+", place) for place in places))
        name = "_".join(common)
        own = name.removeprefix(f"{last}_")
        give(module, name if name and legal_name(own, used) == own else places[0])
    return names


def _common(left: list[str], right: list[str]) -> list[str]:
    """The common words of two lists of words, in order."""
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks()
    return [word for block in blocks for word in left[block.a : block.a + block.size]]


def names_within(module: Module, modules: Mapping[str, Module]) -> dict[str, str]:
    """The names of all public objects of a module; ports come first, so that they keep theirs."""
    used: set[str] = set()
    names: dict[str, str] = {}

    def add(name: str, wanted: str) -> None:
        if name.startswith("\\") and name not in names:
            names[name] = legal_name(wanted, used)
            used.add(names[name])

    for name, wire in module.wires.items():
        if wire.direction:
            add(name, _plain(name))
    for cell in module.cells:
        add(cell.name, cell.name[1:])
    for memory in module.memories:
        add(memory.name, memory.name[1:])
    for name, wanted in {**_shared_names(module), **_of_memories(module), **_driven(module, modules)}.items():
        add(name, wanted)
    for name in module.wires:
        add(name, _plain(name))
    return names


def _plain(name: str) -> str:
    """The wanted name of a wire, before it is made legal: without serial numbers, and without the word payload
    in the fields of a stream."""
    return re.sub(r"\$\d+", "", name[1:]).replace("__payload.", "_")


#: The pins of a memory's port: what Yosys calls them, and we.
_PINS = {"\\ADDR": "address", "\\DATA": "data", "\\EN": "enable"}

#: How the names of the signals end that Amaranth makes for them.
_OF_PORT = re.compile(r"__(?:addr|data|en)(?:\$\d+)?$")


def _of_memories(module: Module) -> dict[str, str]:
    """The wanted names of these signals: those of the pins of a wrapper, after the name of the memory."""
    made = {
        _bits([Slice(name, 0, wire.width)]): name
        for name, wire in module.wires.items()
        if _OF_PORT.search(name)
    }
    made |= {_bits(right): left[0].wire for left, right in module.connects if _OF_PORT.search(left[0].wire)}
    ports: dict[tuple[str, str], list[Cell]] = {}
    for cell in module.cells:
        if cell.kind in ("$memrd_v2", "$memwr_v2"):
            memory = cell.parameters["\\MEMID"].strip('"').replace("\\\\", "\\")
            ports.setdefault((memory[1:], "read" if cell.kind == "$memrd_v2" else "write"), []).append(cell)
    result: dict[str, str] = {}
    for (memory, kind), cells in ports.items():
        for number, cell in enumerate(cells):
            port = kind if len(cells) == 1 else f"{kind}{number}"
            for pin, name in _PINS.items():
                wire = made.get(_bits(cell.ports[pin]))
                if wire is not None:
                    result.setdefault(wire, f"{memory}_{port}_{name}")
    return result


def _bits(signal: Signal) -> tuple[Slice, ...]:
    """The different bits of a signal: an enable of a granule goes to each of its bits."""
    return tuple(dict.fromkeys(piece.cut(bit, 1) for piece in signal for bit in range(piece.width)))


def _shared_names(module: Module) -> dict[str, str]:
    """The wanted names of wires of which several are called the same: those of the instance's ports that they lead to."""
    alike: dict[str, list[str]] = {}
    for name in module.wires:
        if name.startswith("\\"):
            alike.setdefault(_plain(name), []).append(name)
    shared = {
        name
        for names in alike.values()
        if len(names) > 1
        for name in names
        if module.wires[name].direction is None
    }
    # The same bits, also where Amaranth has another name for them.
    wires = {
        tuple(right): left[0].wire for left, right in module.connects if module.whole_wire(left) in shared
    }
    wires |= {(Slice(name, 0, module.wires[name].width),): name for name in shared}
    places: dict[str, list[str]] = {}
    for cell in module.cells:
        if not cell.kind.startswith("$"):
            for port, signal in cell.ports.items():
                if (wire := wires.get(tuple(signal))) is not None:
                    places.setdefault(wire, []).append(f"{cell.name[1:]}_{_plain(port)}")
    return {wire: names[0] for wire, names in places.items() if len(names) == 1}


def _driven(module: Module, modules: Mapping[str, Module]) -> dict[str, str]:
    """The wanted names of wires that a submodule's output drives alone."""
    result: dict[str, str] = {}
    for cell in module.cells:
        if cell.kind not in modules:
            continue
        for port, signal in cell.ports.items():
            wire = module.whole_wire(signal)
            if (
                wire is not None
                and modules[cell.kind].wires[port].direction == "output"
                and module.wires[wire].direction is None
            ):
                result[wire] = f"{cell.name[1:]}_{_plain(port)}"
    return result


#: Begins the names of such ports.
_NAMELESS = "\\port$"

#: A bit of a wire.
_Bit = tuple[str, int]


def name_ports(modules: Mapping[str, Module], inside_out: Iterable[str]) -> None:
    """Names the ports of all modules; submodules come before the modules that they stand in."""
    # The new ports of each module, each with the bits of the old ones that it has.
    named: dict[str, dict[str, Signal]] = {}
    for name in inside_out:
        module = modules[name]
        for cell in module.cells:
            if cell.kind in named:
                old = cell.ports
                new = {
                    port: [part for piece in bits for part in cut(old[piece.wire], piece.low, piece.width)]
                    for port, bits in named[cell.kind].items()
                }
                kept = {port: signal for port, signal in old.items() if not port.startswith(_NAMELESS)}
                cell.ports = kept | new
        for direction in ("input", "output"):
            ports = [
                port
                for port, wire in module.wires.items()
                if port.startswith(_NAMELESS) and wire.direction == direction
            ]
            if ports:
                named.setdefault(name, {}).update(_named(module, modules, ports, direction))


class _Part(NamedTuple):
    """Bits of a signal that belong to nameless ports, from ``low`` on; ``whole`` if it is all of the signal."""

    signal: str
    low: int
    of: list[_Bit]
    whole: bool

    @property
    def name(self) -> str:
        if self.whole:
            return self.signal
        high = self.low + len(self.of) - 1
        return f"{self.signal}_{high}" if len(self.of) == 1 else f"{self.signal}_{high}_{self.low}"


def _named(
    module: Module, modules: Mapping[str, Module], ports: list[str], direction: str
) -> dict[str, Signal]:
    """Names nameless ports of one direction; returns the new ones, each with the bits of the old that it has."""
    old = {port: module.wires.pop(port).width for port in ports}
    # What the bits of the ports are inside: their own, or what an output is given.
    inside = {port: [Slice(port, 0, width)] for port, width in old.items()}
    if direction == "output":
        inside |= {left[0].wire: right for left, right in module.connects if left[0].wire in old}
        module.connects = [connect for connect in module.connects if connect[0][0].wire not in old]
    of_port = {bit: (port, place) for port in ports for place, bit in enumerate(_port_bits(inside[port]))}
    parts = [*_signals(module, of_port), *_pins(module, modules, of_port)]
    parts += [_Part(port, 0, [(port, place) for place in range(width)], True) for port, width in old.items()]
    chosen = _chosen(module, parts)
    inner = {outer: bit for bit, outer in of_port.items()}
    replaced: dict[_Bit, _Bit] = {}
    for part in chosen:
        value = _signal(inner[bit] for bit in part.of)
        width = len(part.of)
        if direction == "input":
            module.connects = [
                connect for connect in module.connects if not part.whole or connect[0][0].wire != part.name
            ]
            replaced |= {inner[bit]: (part.name, place) for place, bit in enumerate(part.of)}
        elif part.name not in module.wires:
            module.connects.append(([Slice(part.name, 0, width)], value))
        module.wires.setdefault(part.name, Wire(width, False, None)).direction = direction
    if replaced:
        wires = {wire for wire, _ in replaced}

        def renamed(signal: Signal) -> Signal:
            if not any(piece.wire in wires for piece in signal):
                return signal
            return joined(
                [
                    Slice(*replaced.get((piece.wire, bit), (piece.wire, bit)), 1)
                    if piece.bits is None
                    else piece.cut(bit - piece.low, 1)
                    for piece in signal
                    for bit in range(piece.low, piece.low + piece.width)
                ]
            )

        module.rewrite(renamed)
    return {part.name: _signal(part.of) for part in chosen}


def _signals(module: Module, of_port: Mapping[_Bit, _Bit]) -> Iterator[_Part]:
    """The parts of the module's signals that are bits of ports."""
    found: dict[str, dict[int, _Bit]] = {}
    for left, right in module.connects:
        targets = _port_bits(left)
        for (wire, place), source in zip(targets, _port_bits(right), strict=True):
            if source in of_port:
                found.setdefault(wire, {})[place] = of_port[source]
    for (wire, place), outer in of_port.items():
        if wire in module.wires:
            found.setdefault(wire, {})[place] = outer
    for wire, bits in found.items():
        if wire.startswith("\\") and module.wires[wire].direction is None:
            for run in _runs(sorted(bits)):
                yield _part(wire, run[0], [bits[place] for place in run], module.wires[wire].width)


def _pins(module: Module, modules: Mapping[str, Module], of_port: Mapping[_Bit, _Bit]) -> Iterator[_Part]:
    """The parts of ports of instances that are bits of ports of the module."""
    for cell in module.cells:
        if cell.kind in modules:
            for port, signal in cell.ports.items():
                bits = {place: of_port[bit] for place, bit in enumerate(_port_bits(signal)) if bit in of_port}
                for run in _runs(sorted(bits)):
                    name = f"{cell.name}__{port[1:]}"
                    width = modules[cell.kind].wires[port].width
                    yield _part(name, run[0], [bits[place] for place in run], width)


def _part(signal: str, low: int, of: list[_Bit], width: int) -> _Part:
    return _Part(signal, low, of, len(of) == width)


def _chosen(module: Module, parts: Iterable[_Part]) -> list[_Part]:
    """The largest parts without a bit in common; of equal ones that with the plainest name, signals before pins."""
    chosen: list[_Part] = []
    used: set[_Bit] = set()

    def rank(part: _Part) -> tuple[object, ...]:
        is_signal = part.signal in module.wires
        is_port = part.signal.startswith(_NAMELESS)
        return is_port, not is_signal, -len(part.of), not part.whole, "$" in part.signal, len(part.signal)

    for part in sorted(parts, key=rank):
        if len({*part.of}) < len(part.of):
            continue
        free = [bit not in used for bit in part.of]
        if part.signal.startswith(_NAMELESS):
            for run in _runs([place for place, is_free in enumerate(free) if is_free]):
                chosen.append(_part(part.signal, run[0], [part.of[place] for place in run], len(part.of)))
        elif all(free):
            chosen.append(part)
            used.update(part.of)
    return chosen


def _runs(places: list[int]) -> Iterator[list[int]]:
    """Runs of consecutive numbers."""
    for _, run in groupby(enumerate(places), lambda item: item[1] - item[0]):
        yield [place for _, place in run]


def _port_bits(signal: Signal) -> list[_Bit]:
    """The bits of a signal; a constant one is of no wire."""
    return [(piece.wire, bit) for piece in signal for bit in range(piece.low, piece.low + piece.width)]


def _signal(bits: Iterable[_Bit]) -> Signal:
    return joined([Slice(wire, bit, 1) for wire, bit in bits])


def write(
    module: Module,
    module_names: Mapping[str, str],
    names: Mapping[str, Mapping[str, str]],
    port_order: Sequence[str] | None,
) -> Iterator[str]:
    """The lines of a module, with ``names`` within each module.

    Ports come in ``port_order``, by their old names, or clock and reset first and then inputs before outputs.
    """
    own = names[module.name]
    yield f"module \\{module_names[module.name]}"
    for memory in module.memories:
        for attribute, value in memory.attributes.items():
            yield f"attribute {attribute} {value}"
        yield f"memory {memory.shape} {_renamed(memory.name, own)}"
    ports = module.ports(port_order)
    for name, wire in module.wires.items():
        if wire.init is not None:
            yield f"attribute \\init {wire.width}'{wire.init}"
        if wire.enumeration:
            yield f'attribute {ENUMERATION} "{wire.enumeration}"'
        for bits, value in wire.values.items():
            yield f'attribute {VALUE}{bits} "{value}"'
        direction = f" {wire.direction} {ports.index(name) + 1}" if wire.direction else ""
        signed = " signed" if wire.signed else ""
        yield f"wire width {wire.width}{direction}{signed} {_renamed(name, own)}"
    for cell in module.cells:
        yield from _cell(cell, own, module_names, names)
    for statement in module.statements():
        texts = [_text(signal, own) for signal in statement.signals] or [statement.rest]
        yield " ".join([statement.keyword, *texts]).rstrip()
    for left, right in module.connects:
        yield f"connect {_text(left, own)} {_text(right, own)}"
    yield "end"


def _cell(
    cell: Cell,
    own: Mapping[str, str],
    module_names: Mapping[str, str],
    names: Mapping[str, Mapping[str, str]],
) -> Iterator[str]:
    kind = f"\\{module_names[cell.kind]}" if cell.kind in module_names else cell.kind
    yield f"cell {kind} {_renamed(cell.name, own)}"
    for parameter, value in cell.parameters.items():
        if parameter == "\\MEMID":
            memory = value.strip('"').replace("\\\\", "\\")
            value = f'"\\{_renamed(memory, own)}"'
        yield f"parameter {parameter} {value}"
    for port, signal in cell.ports.items():
        name = f"\\{names[cell.kind][port]}" if cell.kind in names else port
        yield f"connect {name} {_text(signal, own)}"
    yield "end"


def _renamed(name: str, names: Mapping[str, str]) -> str:
    return f"\\{names[name]}" if name in names else name


def _text(signal: Signal, names: Mapping[str, str]) -> str:
    texts = [_slice_text(piece, names) for piece in reversed(signal)]
    return texts[0] if len(texts) == 1 else "{ " + " ".join(texts) + " }"


def _slice_text(piece: Slice, names: Mapping[str, str]) -> str:
    if piece.bits is not None:
        return f"{piece.width}'{piece.bits}"
    return f"{_renamed(piece.wire, names)} [{piece.low + piece.width - 1}:{piece.low}]"
