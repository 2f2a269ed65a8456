"""What a search had found after each evaluation, and the time that it had taken by then."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from .evaluations import Choice, Found
from .search import Space, search, until_within

__all__ = ["Course", "course", "together"]


@dataclass(frozen=True)
class Course(Generic[Choice]):
    """After each evaluation the best choice until then, its cost, and seconds of choosing and evaluating."""

    best: Sequence[Choice]
    least: Sequence[float]
    seconds: Sequence[float]

    @property
    def evaluations(self) -> int:
        """How many it took until the best of all was found."""
        return self.within(self.least[-1], 0) or len(self.least)

    def within(self, least: float, part: float) -> int | None:
        """How many it took until one was within a part of ``least``; None if none was."""
        return until_within(self.least, least, part)


def course(
    kept: Callable[[Sequence[Choice]], Sequence[Found | None]],
    space: Space[Choice],
    cost: Callable[[Found | None], float],
    took: Callable[[Found | None], float],
    sampler: str,
    trials: int,
    seed: int,
) -> Course[Choice]:
    """A search from nothing: what is known counts with the seconds that it ``took`` when it was evaluated."""
    asked: dict[Choice, float] = {}
    best: list[Choice] = []
    seconds: list[float] = []
    since = time.perf_counter()

    def evaluated(choices: Sequence[Choice]) -> Sequence[Found | None]:
        nonlocal since
        spent = time.perf_counter() - since
        found = kept(choices)
        for choice, one in zip(choices, found, strict=True):
            spent += 0 if choice in asked else took(one)
            asked[choice] = cost(one)
        best.append(min(asked, key=asked.__getitem__))
        seconds.append(spent + (seconds[-1] if seconds else 0))
        since = time.perf_counter()
        return found

    search(evaluated, space, cost, sampler, trials, seed)
    return Course(best, [asked[choice] for choice in best], seconds)


def together(courses: Mapping[str, Course[Choice]]) -> Course[Mapping[str, Choice]]:
    """Searches for what costs the sum of theirs: an evaluation is one of each, and what has ended stays at its best."""
    steps = range(max(len(one.least) for one in courses.values()))

    def after(step: int, values: str) -> list[Any]:
        each = [getattr(one, values) for one in courses.values()]
        return [one[min(step, len(one) - 1)] for one in each]

    return Course(
        [dict(zip(courses, after(step, "best"), strict=True)) for step in steps],
        [sum(after(step, "least")) for step in steps],
        [sum(after(step, "seconds")) for step in steps],
    )
