"""The memories in the Verilog of a design, as a simulation in C++ sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Array", "arrays_of", "visible"]

_MODULE = re.compile(r"^module (\w+) \($.*?^endmodule$", re.MULTILINE | re.DOTALL)
_INSTANCE = re.compile(r"^  (\w+) (\w+) \($", re.MULTILINE)
#: How the module of a memory ends: its words, their bits, and the bits that are written by themselves.
_SHAPE = re.compile(r"_ram_\w+?_(\d+)x(\d+)(?:_by(\d+))?_\w+$")
_WORDS = re.compile(r"^(  reg \[\d+:0\] contents \[0:\d+\]);$", re.MULTILINE)


@dataclass(frozen=True)
class Array:
    """A memory: its path below the top, its words, the bits of a word, and those that have checks of their own."""

    path: str
    words: int
    bits: int
    group: int

    @property
    def name(self) -> str:
        """What a simulation calls it, below the name of the top."""
        return "__DOT__".join([*self.path.split("."), "contents"])


def arrays_of(verilog: str, top: str) -> list[Array]:
    """The memories of a design whose memories are instances of wrapper modules."""
    inside = {found[1]: _INSTANCE.findall(found[0]) for found in _MODULE.finditer(verilog)}

    def below(module: str, path: str) -> list[Array]:
        if shape := _SHAPE.search(module):
            words, bits, group = (int(number) if number else 0 for number in shape.groups())
            return [Array(path, words, bits, group or bits)]
        return [
            array
            for kind, name in inside.get(module, ())
            for array in below(kind, f"{path}.{name}" if path else name)
        ]

    return below(top, "")


def visible(verilog: str) -> str:
    """The design with memories that the simulation may change."""
    return _WORDS.sub(r"\1 /*verilator public_flat_rw*/;", verilog)
