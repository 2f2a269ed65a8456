"""Which designs are best: the cost that a search makes small, the best of all, and the front of area and step."""

from __future__ import annotations

from collections.abc import Mapping

from .designs import Design, Evaluation, Limits

__all__ = ["best", "cost", "front"]

#: What a design costs that exceeds a limit: longer than any step, and longer the more it exceeds.
_PENALTY = 1e3


def cost(found: Evaluation | None, limits: Limits) -> float:
    """Returns what a search makes small: the step, of equally long ones that of the smaller design, within the limits."""
    if found is None:
        return 10 * _PENALTY
    over = max(found.area_kge / limits.area_kge - 1, 0.0) + max(limits.clock_ghz / found.clock_ghz - 1, 0.0)
    return _PENALTY * (1 + over) if over else found.step_s * (1 + 1e-3 * found.area_kge / limits.area_kge)


def best(known: Mapping[Design, Evaluation | None], limits: Limits) -> Design | None:
    """Returns the design with the least cost among those that keep the limits."""
    within = [design for design, found in known.items() if found is not None and found.keeps(limits)]
    return min(within, key=lambda design: cost(known[design], limits), default=None)


def front(known: Mapping[Design, Evaluation | None], limits: Limits) -> list[tuple[Design, Evaluation]]:
    """Returns the designs within the limits of which none is both smaller and faster, the smallest first."""
    pairs = [(design, found) for design, found in known.items() if found is not None and found.keeps(limits)]
    result: list[tuple[Design, Evaluation]] = []
    for design, found in sorted(pairs, key=lambda pair: (pair[1].area_kge, pair[1].step_s)):
        if not result or found.step_s < result[-1][1].step_s * (1 - 1e-4):
            result.append((design, found))
    return result
