"""Legal Verilog names of modules, wires, cells and memories.

In: modules with dots, brackets and Amaranth's serial numbers in their names. Out: a legal name for each old one. A wire
between submodules is named after its driving instance and port.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import reduce

from cdma.hdl.verilog.names import legal_name

from .model import Cell, Module, Signal, Slice

__all__ = ["module_names", "names_within"]


def module_names(paths: Mapping[str, Sequence[str]], top: str, prefix: str) -> dict[str, str]:
    """The name of each module: ``top`` keeps its own, the names of the others start with ``prefix``.

    ``paths`` has the hierarchical names of each module's instances. The common part of these becomes its name. A word that
    the prefix ends with does not begin the rest as well.
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
