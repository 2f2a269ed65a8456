"""Prints a module as RTLIL.

In: a module, and its new names. Out: the lines of its text, with the new names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .model import ENUMERATION, VALUE, Cell, Module, Signal, Slice

__all__ = ["write"]


def write(
    module: Module,
    module_names: Mapping[str, str],
    names: Mapping[str, Mapping[str, str]],
    port_order: Sequence[str] | None,
) -> Iterator[str]:
    """The lines of a module.

    ``names`` has the names within each module. Ports come in ``port_order``, by their old names, or if that is None
    clock and reset first and then inputs before outputs.
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
