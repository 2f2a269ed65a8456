"""The C driver's own text, for who generates an engine and wants everything in one place."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["c_driver"]


def c_driver() -> str:
    """The text of ``cdma.h``; it includes the ``cdma_regs.h`` of any engine."""
    return (files(__package__) / "cdma.h").read_text(encoding="utf-8")
