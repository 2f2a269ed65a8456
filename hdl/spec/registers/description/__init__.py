"""What a register map is: blocks of registers of fields, as plain data that everything else is made from.

The RTL, the register document, the C header, the SystemRDL and the drivers all read these objects and nothing else,
so they cannot disagree. Nothing here imports Amaranth.
"""

from .field import REGISTER_BITS, REGISTER_BYTES, Access, Field, Register
from .register_map import Block, Placed, RegisterMap

__all__ = ["REGISTER_BITS", "REGISTER_BYTES", "Access", "Block", "Field", "Placed", "Register", "RegisterMap"]
