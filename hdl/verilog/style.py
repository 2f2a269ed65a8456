"""How the text of a design is written."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PLAIN", "Style"]


@dataclass(frozen=True)
class Style:
    """How the text of a design is written.

    ``source_lines``
        Beside registers, nets, assignments and instances stand their places in the generator.
    """

    source_lines: bool = False


#: The style that nobody has asked anything of.
PLAIN = Style()
