"""Reads pins of a simulation as plain numbers, for benches that look at many of them in every cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["level", "number"]

#: What is neither 0 nor 1 reads as 0: the rule of unknown outputs objects to it.
_KNOWN = str.maketrans(dict.fromkeys("xXzZ", "0"))


def level(pin: Any) -> Callable[[], bool]:
    """What tells whether a pin of one bit is high."""
    read = pin._handle.get_signal_val_binstr
    return lambda: read() == "1"


def number(pin: Any) -> Callable[[], int]:
    """What tells the number on a pin of any width."""
    read = pin._handle.get_signal_val_binstr

    def value() -> int:
        bits: str = read()
        try:
            return int(bits, 2)
        except ValueError:
            return int(bits.translate(_KNOWN), 2)

    return value
