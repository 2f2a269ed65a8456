"""Parses RTLIL as Amaranth's back end and Yosys write it: one declaration, connection or statement a line.

In: RTLIL text. Out: its modules, in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    constant,
    constant_bits,
    cut,
)

__all__ = ["parse"]

_WIRE = re.compile(r"wire(?: width (\d+))?(?: (input|output|inout) \d+)?( +signed)? +(\S+)$")
_TOKEN = re.compile(r"\{|\}|\[(\d+)(?::(\d+))?\]|(\d+)'([01xz-]*)|([\\$]\S+)|(-?\d+)")


def parse(text: str) -> list[Module]:
    """The modules of ``text``."""
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
    """The signals in ``text``, in order."""
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
