"""A whole design as Verilog.

In: RTLIL from Yosys with legal names. Out: the lines of all modules, from the top to the modules of memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from cdma.hdl.verilog.names import VERILOG_2005, Dialect
from cdma.hdl.verilog.netlist.parse import parse

from .folding import Folded, drop_unused, fold
from .memories import REGISTERS, Memory, Shape, wrapper
from .module import inherit_values, print_module
from .nets import prepare
from .statements import find_selections
from .values import narrow


@dataclass(frozen=True)
class PlacedMemory:
    """A memory of a design.

    ``path``, ``module``: Its hierarchical name below the top, and its wrapper module, if any.
    ``purpose``: What it is for.
    ``checks``: The check bits of each word.
    """

    path: str
    module: str
    shape: Shape
    purpose: str = ""
    checks: int = 0

    @property
    def bits(self) -> int:
        return self.shape.bits

    @property
    def check_bits(self) -> int:
        return self.checks * self.shape.depth


@dataclass(frozen=True)
class Printed:
    """The lines of each module of a design, and its memories."""

    modules: tuple[list[str], ...]
    memories: tuple[PlacedMemory, ...]


def print_design(
    rtlil: str,
    *,
    top: str,
    ports: Sequence[str],
    prefix: str,
    wrap: bool,
    smallest: int = 0,
    comments: Mapping[str, list[str]] = MappingProxyType({}),
    notes: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    dialect: Dialect = VERILOG_2005,
) -> Printed:
    """The text of a design; ``ports`` are those of the module ``top`` in their order.

    ``comments`` are above modules, and ``notes`` beside declarations. With ``wrap``, each memory is an
    instance of a wrapper module, named with ``prefix``; otherwise it is inferred in place. One with fewer bits than the
    ``smallest`` is flip-flops in place, and not listed.
    """
    modules = {module.name: module for module in parse(rtlil)}
    folded: dict[str, Folded] = {}
    for module in modules.values():
        prepare(module, modules)
    drop_unused(modules, f"\\{top}")
    for name, module in modules.items():
        narrow(module, modules)
        inherit_values(module, modules)
        find_selections(module, modules)
        folded[name] = fold(module, modules)
        folded[name].memories[:] = [_of_registers(memory, smallest) for memory in folded[name].memories]
    wrappers: dict[Shape, tuple[str, Memory]] = {}
    used = {name[1:] for name in modules}

    def wrapper_of(memory: Memory) -> str:
        if not wrap or memory.shape.style == REGISTERS:
            return ""
        if memory.shape not in wrappers:
            name = wanted = f"{prefix}{memory.shape.name}"
            serial = 1
            while name in used:
                serial += 1
                name = f"{wanted}_{serial}"
            used.add(name)
            wrappers[memory.shape] = (name, memory)
        return wrappers[memory.shape][0]

    texts = [
        [
            *comments.get(name[1:], ()),
            *print_module(
                folded[name],
                modules,
                module.ports(ports if name[1:] == top else None),
                wrapper_of,
                notes.get(name[1:], {}),
                dialect,
            ),
        ]
        for name, module in modules.items()
    ]
    texts += [wrapper(name, memory, dialect) for name, memory in wrappers.values()]
    names = {shape: name for shape, (name, _) in wrappers.items()}
    return Printed(tuple(texts), tuple(_placed(folded, f"\\{top}", "", names)))


def _of_registers(memory: Memory, smallest: int) -> Memory:
    """The memory, made of flip-flops if it is small."""
    if memory.shape.bits >= smallest:
        return memory
    return replace(memory, shape=replace(memory.shape, style=REGISTERS))


def _placed(
    folded: Mapping[str, Folded], module: str, path: str, wrappers: Mapping[Shape, str]
) -> Iterator[PlacedMemory]:
    """The memories of a module and of its submodules."""
    for memory in folded[module].memories:
        if memory.shape.style == REGISTERS:
            continue
        name = f"{path}{memory.name[1:]}"
        yield PlacedMemory(name, wrappers.get(memory.shape, ""), memory.shape, checks=memory.checks)
    for cell in folded[module].module.cells:
        if cell.kind in folded:
            yield from _placed(folded, cell.kind, f"{path}{cell.name[1:]}.", wrappers)
