"""The objective of a search over designs, the best design, and the Pareto front of area and step."""

from __future__ import annotations

from collections.abc import Mapping

from .designs import Design, Evaluation, Limits

#: The objective of a design beyond a limit: more than any step, and more the further it is beyond.
_PENALTY = 1e3


def objective(found: Evaluation | None, limits: Limits) -> float:
    """Returns what a search minimises: the step, within the limits. Of equal steps the smaller design is better."""
    if found is None:
        return 10 * _PENALTY
    over = max(found.area_kge / limits.area_kge - 1, 0.0) + max(limits.clock_ghz / found.clock_ghz - 1, 0.0)
    return _PENALTY * (1 + over) if over else found.step_s * (1 + 1e-3 * found.area_kge / limits.area_kge)


def best(known: Mapping[Design, Evaluation | None], limits: Limits) -> Design | None:
    """Returns the design with the least objective among those that keep the limits."""
    within = [design for design, found in known.items() if found is not None and found.keeps(limits)]
    return min(within, key=lambda design: objective(known[design], limits), default=None)


def pareto_front(
    known: Mapping[Design, Evaluation | None], limits: Limits
) -> list[tuple[Design, Evaluation]]:
    """Returns the designs within the limits than which no other is both smaller and faster, the smallest first."""
    pairs = [(design, found) for design, found in known.items() if found is not None and found.keeps(limits)]
    result: list[tuple[Design, Evaluation]] = []
    for design, found in sorted(pairs, key=lambda pair: (pair[1].area_kge, pair[1].step_s)):
        if not result or found.step_s < result[-1][1].step_s * (1 - 1e-4):
            result.append((design, found))
    return result
