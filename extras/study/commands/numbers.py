"""Numbers on the command lines of the study, refused where they are not finite or too small."""

from __future__ import annotations

import argparse


def positive(text: str) -> float:
    """A number that is more than 0, such as a rate."""
    return _number(text, zero=False)


def time(text: str) -> float:
    """A number that is 0 or more."""
    return _number(text, zero=True)


def count(text: str) -> int:
    """A whole number that is 1 or more."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return int(text)


def _number(text: str, *, zero: bool) -> float:
    import math

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number, {'0 or more' if zero else 'more than 0'}"
        )
    return value
