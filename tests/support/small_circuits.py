"""Small circuits, and a library of a few gates to measure them with."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from cdma.synth.asic.library.library import Library
from cdma.synth.asic.library.load import load_libraries
from cdma.synth.circuits import Circuit

from .paths import TINY

__all__ = ["PORTS", "WIRES", "circuit", "tiny_library", "wired_library"]

#: The ports of a circuit with 8 bits in and 8 out.
PORTS = "input clk, input e, input r, input [7:0] d, output reg [7:0] q"


@cache
def tiny_library() -> Library:
    """The library of ``tiny.lib``."""
    return load_libraries([TINY])


#: How a library says which model its wires have: always this one, or this one for circuits of such areas.
WIRES = {
    "default": b'default_wire_load : "tiny_wires";',
    "by area": b'wire_load_selection (areas) { wire_load_from_area (0, 1000, "tiny_wires"); } '
    b'default_wire_load_selection : "areas";',
}


@cache
def wired_library(how: str = "default") -> Library:
    """The library of ``tiny.lib`` with wires: 2 fF for a first load, 4 more for a second one, 2 for each further one."""
    tiny = tiny_library()
    return replace(tiny, texts=(tiny.texts[0].replace(b"  cell (INV)", WIRES[how] + b"  cell (INV)", 1),))


def circuit(body: str, ports: str = PORTS) -> Circuit:
    """A circuit of one module ``top`` with that body."""
    return Circuit("test", {}, "top", f"module top({ports});\n{body}\nendmodule\n")
