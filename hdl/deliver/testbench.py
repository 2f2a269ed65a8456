"""A first bench for a generated module, in plain Verilog: a tensor, or packets, through it, every byte compared."""

from __future__ import annotations

from .bench.engine import engine_testbench
from .bench.stream import stream_testbench
from .bench.vectors import StreamVectors
from .block import Block
from .languages import ending

__all__ = ["testbench"]


def testbench(block: Block) -> str:
    """The bench, a module called ``NAME_tb``; the last line that it prints says ``PASS`` or ``FAIL``."""
    if isinstance(block.vectors, StreamVectors):
        return stream_testbench(block.name, block.ports, block.vectors, ending(block.language))
    return engine_testbench(block.name, block.ports, block.registers, block.vectors, ending(block.language))
