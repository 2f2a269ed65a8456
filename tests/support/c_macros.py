"""Reads the macros of a C header."""

from __future__ import annotations

import re

__all__ = ["c_macros"]


def c_macros(text: str) -> dict[str, int]:
    """The numeric macros of a C header; of ``NAME(k)`` the offset of entry 0."""
    macros = {}
    for name, offset, number in re.findall(
        r"^#define (\w+)(?:\(k\) \((0x\w+)u .*| (0x[0-9a-f]+|\d+)u)$", text, re.MULTILINE
    ):
        macros[name] = int(offset or number, 0)
    return macros
