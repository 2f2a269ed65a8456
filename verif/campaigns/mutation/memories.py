"""A netlist without its memories: what each would read becomes inputs of the module, and what goes into it outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cdma.hdl.verilog.ports import Direction, Port

from .mutants import read_netlist

__all__ = ["Socket", "flatten", "memory_modules", "sockets"]

_MODULE = re.compile(r"^module (\w+_r[ao]m_\w+)", re.MULTILINE)
_LISTED = re.compile(
    r"^(input|output) \[(\d+):0\] (\S+)\.((?:read|write)\d*_(?:enable|address|data))$", re.MULTILINE
)


class Socket:
    """The place of a memory: the ports of its module, of which each is a port of the netlist now.

    ``path``
        Where in the design the memory was.
    ``ports``
        By the names that they have in the memory's module. Directions are those of the netlist.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.ports: dict[str, Port] = {}

    @property
    def inputs(self) -> list[Port]:
        """What the memory would give."""
        return [port for port in self.ports.values() if port.direction == "input"]

    @property
    def outputs(self) -> list[Port]:
        """What it would be given."""
        return [port for port in self.ports.values() if port.direction == "output"]

    def pin(self, port: Port) -> str:
        """The port's name in the netlist, in Verilog. ``port.name`` itself is one that other names can be made of."""
        name = next(name for name, each in self.ports.items() if each is port)
        return f"\\{self.path}.{name} "

    def differences(self, one: str, other: str) -> Iterator[str]:
        """Verilog expressions that are true while two netlists, whose outputs have these prefixes, do not do the same with
        the memory. Addresses and data count while they are enabled."""
        for name, port in self.ports.items():
            if port.direction == "input":
                continue
            start, _, kind = name.rpartition("_")
            enable = self.ports.get(f"{start}_enable")
            if kind == "enable" or enable is None:
                yield f"({one}{port.name} != {other}{port.name})"
            elif kind == "address":
                yield f"(|{one}{enable.name} && {one}{port.name} != {other}{port.name})"
            else:
                lanes, bits = enable.width, port.width // enable.width
                for lane in range(lanes):
                    enabled = f"{one}{enable.name}" + (f"[{lane}]" if lanes > 1 else "")
                    part = f"[{lane * bits} +: {bits}]" if port.width > 1 else ""
                    yield f"({enabled} && {one}{port.name}{part} != {other}{port.name}{part})"


def memory_modules(text: str) -> list[str]:
    """The modules in the text of a design that are memories."""
    return _MODULE.findall(text)


def flatten(modules: Sequence[str]) -> str:
    """Yosys commands that flatten a design, and take the memories that are these modules out of it."""
    if not modules:
        return "flatten\n"
    kinds = " ".join(f"t:{module}" for module in modules)
    return f"blackbox {' '.join(modules)}\nflatten\nexpose -evert {kinds}\n"


def sockets(text: str, top: str, modules: Sequence[str]) -> list[Socket]:
    """Where the memories were that these modules are."""
    if not modules:
        return []
    log = read_netlist(text, top, f"{flatten(modules)}portlist {top}\n")
    found: dict[str, Socket] = {}
    for direction, high, path, name in _LISTED.findall(log):
        socket = found.setdefault(path, Socket(path))
        # It says nothing else.
        kind: Direction = "input" if direction == "input" else "output"
        socket.ports[name] = Port(f"socket_{len(found)}_{name}", kind, int(high) + 1)
    return list(found.values())
