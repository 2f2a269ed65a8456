"""Small circuits, and a library of a few gates to measure them with."""

from __future__ import annotations

from functools import cache

from cdma.synth.asic.library.library import Library
from cdma.synth.asic.library.load import load_libraries
from cdma.synth.circuits import Circuit

from .paths import TINY

__all__ = ["PORTS", "circuit", "tiny_library"]

#: The ports of a circuit with 8 bits in and 8 out.
PORTS = "input clk, input e, input r, input [7:0] d, output reg [7:0] q"


@cache
def tiny_library() -> Library:
    """The library of ``tiny.lib``."""
    return load_libraries([TINY])


def circuit(body: str, ports: str = PORTS) -> Circuit:
    """A circuit of one module ``top`` with that body."""
    return Circuit("test", {}, "top", f"module top({ports});\n{body}\nendmodule\n")
