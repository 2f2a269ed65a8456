"""Checks of parameters: each refuses a value with a message that says what was given, what is allowed and why."""

from __future__ import annotations

from .errors import ParameterError

__all__ = ["check_choice", "check_flag", "check_range", "check_words", "is_int"]


def is_int(value: object) -> bool:
    """Whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_choice(name: str, value: object, allowed: tuple[int, ...], why: str) -> None:
    """Refuses what is not one of the whole numbers ``allowed``."""
    if not is_int(value) or value not in allowed:
        choices = ", ".join(map(str, allowed))
        raise ParameterError(f"{name} is {value!r}; it must be one of {choices}: {why}")


def check_flag(name: str, value: object) -> None:
    """Refuses what is neither true nor false."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is {value!r}; it must be true or false")


def check_range(name: str, value: object, low: int, high: int, why: str) -> None:
    """Refuses what is not a whole number from ``low`` to ``high``, both included."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number from {low} to {high}: {why}")


def check_words(words: object) -> None:
    """Refuses what is not a whole number of words, 0 or more."""
    if not is_int(words) or words < 0:  # type: ignore[operator]
        raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
