"""When the two sides of a stream rest."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

__all__ = ["PAIRS", "WILLING", "Pause", "by_phases", "never", "sometimes"]

#: Asked once per cycle: whether to rest in it.
Pause = Callable[[], bool]


def never() -> bool:
    """No pauses."""
    return False


def sometimes(seed: object, share: float) -> Pause:
    """Pauses at random, for the given share of cycles."""
    source = random.Random(repr(seed))
    return lambda: source.random() < share


def by_phases(seed: object) -> Pause:
    """Pauses never, sometimes or mostly, in phases of 25 decisions."""
    source = random.Random(repr(seed))
    phases = (source.choice((0, 0, 0.3, 0.8)) for _ in itertools.count())
    shares = itertools.chain.from_iterable([share] * 25 for share in phases)
    return lambda: source.random() < next(shares)


#: How willing a side is to send or to receive, by a source of chance and the cycle: at random, or in phases that are
#: longer than a queue.
WILLING: dict[str, Callable[[random.Random, int], bool]] = {
    "always": lambda source, cycle: True,
    "half": lambda source, cycle: source.random() < 0.5,
    "seldom": lambda source, cycle: source.random() < 0.1,
    "mostly": lambda source, cycle: source.random() < 0.9,
    "by turns": lambda source, cycle: cycle // 50 % 2 == 0,
    "by other turns": lambda source, cycle: cycle // 70 % 2 == 1,
}

#: How willing the writer is, and how willing the reader.
PAIRS = [
    ("always", "always"),
    ("always", "half"),
    ("half", "always"),
    ("half", "half"),
    ("mostly", "mostly"),
    ("seldom", "mostly"),
    ("mostly", "seldom"),
    ("always", "by turns"),
    ("by turns", "by other turns"),
]
