"""Checks of parameters: each refuses a value with a message that says what was given, what is allowed and why."""

from __future__ import annotations

from operator import index

from cdma.base.errors import ParameterError

__all__ = ["check_choice", "check_flag", "check_range", "is_int", "word_count"]


def is_int(value: object) -> bool:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_choice(name: str, value: object, allowed: tuple[object, ...], why: str = "") -> None:
    """Refuses what is not one of the whole numbers or texts ``allowed``."""
    if isinstance(value, bool) or not isinstance(value, type(allowed[0])) or value not in allowed:
        choices, reason = ", ".join(map(str, allowed)), f": {why}" if why else ""
        raise ParameterError(f"{name} is {value!r}; it must be one of {choices}{reason}")


def check_flag(name: str, value: object) -> None:
    """Refuses what is neither true nor false."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is {value!r}; it must be true or false")


def check_range(name: str, value: object, low: int, high: int, why: str) -> None:
    """Refuses what is not a whole number from ``low`` to ``high``, both included."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number from {low} to {high}: {why}")


def word_count(words: object) -> int:
    """A number of words, whatever type of whole number it has; refuses what is not 0 or more."""
    try:
        count = -1 if isinstance(words, bool) else index(words)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if count < 0:
        raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
    return int(count)
