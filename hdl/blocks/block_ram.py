"""Memories for the block RAM of an FPGA: deep, and slow to read."""

__all__ = ["BLOCK_RAM"]

#: Attributes of a memory that synthesis is to put into block RAM. Its user never depends on a word that is read while it is
#: written, so that synthesis need not add logic for that case.
BLOCK_RAM = {"ram_style": "block", "no_rw_check": 1}
