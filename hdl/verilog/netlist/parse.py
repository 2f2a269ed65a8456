"""Parses RTLIL as Amaranth's back end and Yosys write it: one declaration, connection or statement a line.

Two passes prepare modules: nameless wires get the names of variables from the wires beside them, and initial values are
written for memories of zeros or removed for all registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cdma.base.errors import CdmaError

from .model import (
    ENUMERATION,
    VALUE,
    Cell,
    MemoryDeclaration,
    Module,
    Signal,
    Slice,
    Statement,
    Wire,
    called,
    constant,
    constant_bits,
    cut,
    variable_of,
)


def fill_memories(module: Module) -> None:
    """Writes the words of memories of zeros."""
    for cell in module.cells:
        if cell.kind == "$meminit_v2" and not cell.ports["\\DATA"]:
            bits = int(cell.parameters["\\WIDTH"]) * int(cell.parameters["\\WORDS"])
            cell.ports["\\DATA"] = [constant("0" * bits)]


def drop_initial_values(module: Module) -> None:
    """Removes the initial values; refuses a read-only memory, which needs its contents."""
    written = {cell.parameters["\\MEMID"] for cell in module.cells if cell.kind == "$memwr_v2"}
    for cell in module.cells:
        if cell.kind == "$meminit_v2" and cell.parameters["\\MEMID"] not in written:
            raise CdmaError(
                f"module {module.name[1:]} has a memory that is only read; it needs its initial values"
            )
    module.cells = [cell for cell in module.cells if cell.kind != "$meminit_v2"]
    for wire in module.wires.values():
        wire.init = None


def call_wires(module: Module) -> None:
    """Calls the nameless wires of a module after their variables."""
    labels = {wire for wire in module.wires if wire.startswith("\\") and variable_of(wire)}
    # What is connected to another wire has a name without it.
    aliases = {left[0].wire for left, _ in module.connects if left[0].wire in labels}
    module.connects = [connect for connect in module.connects if connect[0][0].wire not in aliases]
    new_names = {wire: called(f"{variable_of(wire)}$") for wire in labels - aliases}
    module.wires = {
        new_names.get(name, name): wire for name, wire in module.wires.items() if name not in aliases
    }

    def renamed(piece: Slice) -> Slice:
        return piece._replace(wire=new_names[piece.wire]) if piece.wire in new_names else piece

    if new_names:
        module.rewrite(lambda signal: [renamed(piece) for piece in signal])


_WIRE = re.compile(r"wire(?: width (\d+))?(?: (input|output|inout) \d+)?( +signed)? +(\S+)$")
_TOKEN = re.compile(r"\{|\}|\[(\d+)(?::(\d+))?\]|(\d+)'([01xz-]*)|([\\$]\S+)|(-?\d+)")


def parse(text: str) -> list[Module]:
    modules: list[Module] = []
    attributes: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        words = line.strip()
        keyword, _, rest = words.partition(" ")
        if keyword == "module":
            modules.append(Module(rest))
        elif keyword == "attribute":
            name, _, value = rest.partition(" ")
            attributes[name] = value
        elif keyword == "wire":
            match = _WIRE.match(words)
            assert match is not None, words
            init = constant_bits(attributes["\\init"]) if "\\init" in attributes else None
            modules[-1].wires[match[4]] = Wire(
                int(match[1] or 1),
                match[3] is not None,
                match[2],
                init,
                attributes.get(ENUMERATION, "").strip('"'),
                {
                    name.removeprefix(VALUE): value.strip('"')
                    for name, value in attributes.items()
                    if name.startswith(VALUE)
                },
            )
        elif keyword == "memory":
            shape, _, name = rest.rpartition(" ")
            modules[-1].memories.append(MemoryDeclaration(name, shape, attributes))
        elif keyword == "cell":
            modules[-1].cells.append(_cell(modules[-1], rest, lines, attributes))
        elif keyword == "process":
            modules[-1].processes.append(list(_process(modules[-1], rest, lines)))
        elif keyword == "connect":
            left, right = _signals(modules[-1], rest)
            if left:
                modules[-1].connects.append((left, right))
        else:
            assert keyword in ("", "end", "autoidx", "#"), words
        if keyword != "attribute":
            attributes = {}
    return modules


def _cell(module: Module, heading: str, lines: Iterator[str], attributes: dict[str, str]) -> Cell:
    kind, name = heading.split()
    cell = Cell(kind, name, attributes=attributes)
    for line in lines:
        keyword, _, rest = line.strip().partition(" ")
        if keyword == "end":
            break
        item, _, value = rest.partition(" ")
        if keyword == "parameter":
            cell.parameters[item] = value
        elif keyword == "connect":
            cell.ports[item] = _signals(module, value)[0]
        else:
            assert keyword == "", line
    return cell


def _process(module: Module, name: str, lines: Iterator[str]) -> Iterator[Statement]:
    """The lines of a process, including the first and the last."""
    yield Statement("process", [], name)
    depth = 1
    for line in lines:
        keyword, _, rest = line.strip().partition(" ")
        if keyword in ("assign", "switch"):
            yield Statement(keyword, _signals(module, rest))
        elif keyword:
            yield Statement(keyword, [], rest)
        depth += (keyword == "switch") - (keyword == "end")
        if depth == 0:
            return


def _signals(module: Module, text: str) -> list[Signal]:
    whole = module.wires.get(text)
    if whole is not None and whole.width:
        return [[Slice(text, 0, whole.width)]]
    result: list[Signal] = []
    stack: list[list[Signal]] = []
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
            result[-1] = cut(result[-1], low, high - low + 1)
        elif match[3] is not None:
            result.append([constant(constant_bits(token))] if int(match[3]) else [])
        elif match[6] is not None:
            result.append([constant(constant_bits(match[6]))])
        else:
            width = module.wires[token].width
            result.append([Slice(token, 0, width)] if width else [])
    assert not text[position:].strip(), text
    return result
