"""Memories for the block RAM of an FPGA: few bits deep or many, but wide, and slow to read."""

from amaranth.hdl import Module, Signal, Value

__all__ = ["BLOCK_RAM", "after_block_ram"]

#: Attributes of a memory that synthesis is to put into block RAM. Its user never depends on a word that is read while it is
#: written, so that synthesis need not add logic for that case.
BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}


def after_block_ram(m: Module, name: str, word: Value, enable: Value | int = 1) -> Signal:
    """A register straight after the read port of block RAM, which takes most of a cycle to give a word."""
    register = Signal.like(word, name=name, reset_less=True)
    with m.If(enable):
        m.d.sync += register.eq(word)
    return register
