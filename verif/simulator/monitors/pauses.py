"""When a source or a sink of the bench holds back: the patterns of valid and ready that neighbours show."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = [
    "PATTERNS",
    "Pause",
    "after_waiting",
    "always",
    "bursts",
    "long_stalls",
    "never_first",
    "once",
    "pattern",
    "scattered",
]

#: Called once per cycle with whether the other side is willing; returns whether to hold back in the next cycle.
Pause = Callable[[bool], bool]


def always(rng: random.Random) -> Pause:
    """Never holds back."""
    return lambda willing: False


def scattered(rng: random.Random) -> Pause:
    """Holds back in random cycles, rarely or often."""
    share = rng.choice((0.05, 0.3, 0.5, 0.8, 0.95))
    draw = rng.random
    return lambda willing: draw() < share


def bursts(rng: random.Random) -> Pause:
    """Runs of cycles on and off, each of random length."""
    longest = rng.choice((3, 8, 20))
    left, holding = 0, False

    def pause(willing: bool) -> bool:
        nonlocal left, holding
        if left == 0:
            left, holding = rng.randint(1, longest), not holding
        left -= 1
        return holding

    return pause


def long_stalls(rng: random.Random) -> Pause:
    """Free running with now and then a stall long enough to fill every buffer."""
    left = 0

    def pause(willing: bool) -> bool:
        nonlocal left
        if left:
            left -= 1
        elif rng.random() < 0.02:
            left = rng.randint(30, 150)
        return left > 0

    return pause


def never_first(rng: random.Random) -> Pause:
    """A sink that is ready only once it has seen valid, for one cycle: a valid that waits for it hangs."""
    waited = 0

    def pause(willing: bool) -> bool:
        nonlocal waited
        waited = waited + 1 if willing else 0
        return waited == 0 or waited % 2 == 0

    return pause


def once(first: int, cycles: int) -> Pause:
    """Holds back once, for some cycles, from the first-th beat on offer."""
    seen = 0

    def pause(willing: bool) -> bool:
        nonlocal seen
        seen += willing
        return first <= seen < first + cycles

    return pause


def after_waiting(cycles: int) -> Pause:
    """Takes each beat only when it has been on offer for so many cycles."""
    waited = 0

    def pause(willing: bool) -> bool:
        nonlocal waited
        waited = waited + 1 if willing else 0
        return waited < cycles

    return pause


#: For sources and sinks alike; a source sees its own ready as the other side.
PATTERNS = {
    "always": always,
    "scattered": scattered,
    "bursts": bursts,
    "long_stalls": long_stalls,
    "never_first": never_first,
}


def pattern(rng: random.Random, *, sink: bool) -> tuple[str, Pause]:
    """A random pattern and its name. A source must not wait for ready, so ``never_first`` is for sinks."""
    names = [name for name in PATTERNS if sink or name != "never_first"]
    name = rng.choice(names)
    return name, PATTERNS[name](rng)
