"""What a memory is made of. Of an FPGA, block RAM is deep, and slow to read."""

from amaranth.hdl import Fragment
from amaranth.lib.memory import Memory

__all__ = ["BLOCK_RAM", "LOOK_UP_TABLES", "REGISTERS", "FlipFlops"]

#: Attributes of a memory that synthesis is to put into block RAM. Its user never depends on a word that is read while it is
#: written, so that synthesis need not add logic for that case.
BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}
#: Attributes of a memory that synthesis is to make of look-up tables.
LOOK_UP_TABLES = {"ram_style": "distributed"}
#: The style of a memory that is made of flip-flops.
REGISTERS = "registers"


class FlipFlops:
    """What is elaborated with it, in the place of Amaranth's platform, has flip-flops for memories."""

    def get_memory(self, memory: Memory) -> Fragment:
        """The memory as it is built; Amaranth calls it."""
        memory.attrs["ram_style"] = REGISTERS
        plain: Fragment = memory.elaborate(None)
        return plain
