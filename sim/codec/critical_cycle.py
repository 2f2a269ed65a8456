"""Which windows, over and over, cost a codec the most cycles for their words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

__all__ = ["Kinds", "worst_circle"]

#: Windows as the literals of their beats, by their cycles and those of the contract.
Kinds = dict[tuple[int, float], tuple[int, ...]]


def worst_circle(windows: Mapping[tuple[int, int], Kinds], states: int) -> dict[int, tuple[int, ...]]:
    """The circle of windows whose ratio of cycles to those of the contract is largest, each by the state before it.

    ``windows`` has those that lead from one of so many ``states`` of the codec to another, or to the same. The result is
    empty if no circle takes more cycles than the contract has.
    """
    ratio, circle = 1.0, dict[int, tuple[int, ...]]()
    # Each circle whose ratio is larger than the last one's is the better one, until there is none.
    while (better := _circle_above(ratio, windows, states)) is not None:
        ratio, circle = better
    return circle


def _circle_above(
    ratio: float,
    windows: Mapping[tuple[int, int], Kinds],
    states: int,
) -> tuple[float, dict[int, tuple[int, ...]]] | None:
    """A circle of windows with more cycles than ``ratio`` times the contract's.

    Returns its ratio, and each window by the state before it.
    """
    steps = {
        ends: max(kinds.items(), key=lambda kind: kind[0][0] - ratio * kind[0][1])
        for ends, kinds in windows.items()
    }
    best = np.zeros(states)
    before: dict[int, int] = {}
    for _ in range(states + 1):
        changed = -1
        for (state, after), ((cycles, allowed), _) in steps.items():
            gain = best[state] + cycles - ratio * allowed
            if gain > best[after] + 1e-9:
                best[after], before[after], changed = gain, state, after
        if changed < 0:
            return None
    # After so many rounds a state that still gains lies on a circle or behind one.
    for _ in range(states):
        changed = before[changed]
    path = [changed]
    while len(path) == 1 or path[-1] != changed:
        path.append(before[path[-1]])
    chosen = [steps[state, after] for after, state in itertools.pairwise(path)][::-1]
    cycles = sum(figures[0] for figures, _ in chosen)
    circle = {state: counts for state, (_, counts) in zip(path[:0:-1], chosen, strict=True)}
    return cycles / sum(figures[1] for figures, _ in chosen), circle
