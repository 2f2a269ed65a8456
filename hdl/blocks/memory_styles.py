"""What an FPGA makes a memory of: block RAM is deep, and slow to read."""

__all__ = ["BLOCK_RAM", "LOOK_UP_TABLES", "REGISTERS"]

#: Attributes of a memory that synthesis is to put into block RAM. Its user never depends on a word that is read while it is
#: written, so that synthesis need not add logic for that case.
BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}
#: Attributes of a memory that synthesis is to make of look-up tables.
LOOK_UP_TABLES = {"ram_style": "distributed"}
#: The style of a memory that is made of flip-flops.
REGISTERS = "registers"
