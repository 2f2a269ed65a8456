"""How the text of a design is written."""

from __future__ import annotations

from dataclasses import dataclass

from .dialect import VERILOG_2005, Dialect

__all__ = ["PLAIN", "Style"]


@dataclass(frozen=True)
class Style:
    """How the text of a design is written.

    ``dialect``
        The language.
    ``source_lines``
        Beside registers, nets, assignments and instances stand their places in the generator.
    """

    dialect: Dialect = VERILOG_2005
    source_lines: bool = False


#: The style that nobody has asked anything of.
PLAIN = Style()
