"""Functional coverage: which situations a regression is to bring up, and which of them it did.

A bench leaves a sample of each packet or transfer, as it observed it. A goal sorts samples into bins, all of which are
to be met.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from cdma.verif.simulator.design import Design

__all__ = ["Goal", "Reached", "Sample", "cross", "evaluate", "read_samples"]

#: What a bench observed of one packet or transfer.
Sample = Mapping[str, Any]


def _any_design(design: Design) -> bool:
    return True


@dataclass(frozen=True)
class Goal:
    """Bins, each of which some sample must fall into.

    ``name``
        Names it, such as ``length by density``.
    ``statement``
        Says what it is about.
    ``bins``
        Gives the bins of a design: all that can happen.
    ``of``
        Gives the bins that a sample falls into; none if the goal is not about it.
    ``needs``
        Tells whether the goal is for a design.
    """

    name: str
    statement: str
    bins: Callable[[Design], Iterable[str]]
    of: Callable[[Sample, Design], Iterable[str]]
    needs: Callable[[Design], bool] = _any_design


@dataclass(frozen=True)
class Reached:
    """How many samples fell into each bin of a goal."""

    goal: Goal
    counts: Mapping[str, int]

    @property
    def holes(self) -> list[str]:
        """The bins that nothing fell into."""
        return [name for name, count in self.counts.items() if not count]

    @property
    def hit(self) -> int:
        """The bins that something fell into."""
        return len(self.counts) - len(self.holes)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "goal": self.goal.name,
            "statement": self.goal.statement,
            "hit": self.hit,
            "total": len(self.counts),
            "holes": self.holes,
            "bins": dict(self.counts),
        }


def evaluate(goals: Iterable[Goal], samples: Sequence[Sample], design: Design) -> list[Reached]:
    """What samples reach of the goals that are for a design."""
    found = []
    for goal in goals:
        if goal.needs(design):
            counted = Counter(name for sample in samples for name in goal.of(sample, design))
            found.append(Reached(goal, {name: counted[name] for name in goal.bins(design)}))
    return found


def cross(*parts: Iterable[str]) -> list[str]:
    """The names of the bins of a cross: one of each part."""
    return [", ".join(names) for names in product(*parts)]


def read_samples(paths: Iterable[Path]) -> list[Sample]:
    """The samples that simulations have left."""
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]
