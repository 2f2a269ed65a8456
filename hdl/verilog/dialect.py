"""What the text has in the words of Verilog-2005, or of SystemVerilog."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SYSTEM_VERILOG", "VERILOG_2005", "Dialect"]


@dataclass(frozen=True)
class Dialect:
    """A language, as far as the text differs.

    ``net``, ``register``
        The keywords of their declarations.
    ``clocked``
        That of a process at a clock, whose variables no other process writes.
    ``combinational``
        That of a process without a clock, which gives a net its value.
    ``latched``
        That of a process that holds a value while a condition is not met.
    ``constant``
        Those of a local constant.
    ``declares_values``
        An initial value stands in the declaration; otherwise a process gives it.
    ``has_types``
        The states of a machine are an enumeration, and the range of a memory is its number of words.
    """

    net: str
    register: str
    clocked: str
    combinational: str
    latched: str
    constant: str
    declares_values: bool
    has_types: bool

    def words(self, number: int) -> str:
        """The dimension of a memory of so many words."""
        return f"[{number}]" if self.has_types else f"[0:{number - 1}]"


VERILOG_2005 = Dialect(
    "wire", "reg", "always", "always @*", "always @*", "localparam", declares_values=False, has_types=False
)
SYSTEM_VERILOG = Dialect(
    "logic",
    "logic",
    "always_ff",
    "always_comb",
    "always_latch",
    "localparam logic",
    declares_values=True,
    has_types=True,
)
