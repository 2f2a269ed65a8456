"""``cdma generate``: the Verilog of a block, and what its users need beside it."""

from .command import register

__all__ = ["register"]
