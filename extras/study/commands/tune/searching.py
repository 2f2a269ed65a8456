"""What the searches of ``cdma study tune`` share: their options, and how soon each sampler finds what all choices would."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError
from cdma.command import Option, flag, option

if TYPE_CHECKING:
    from cdma.study.tuner.search import Kept, Space

#: Searches of a sampler that are compared.
SEEDS = 10


@dataclass(frozen=True)
class Plan:
    """Who chooses, how often, and from which seed; or, to compare, everything is evaluated."""

    sampler: str
    trials: int
    seed: int
    compares: bool

    @property
    def chosen_by(self) -> str:
        """The sampler whose choice the result is: the best of all choices if they were all evaluated."""
        return "grid" if self.compares else self.sampler


@dataclass(frozen=True)
class Compared:
    """After how many evaluations each of several seeds of a sampler was within a part of the best; None: it was not."""

    sampler: str
    within: float
    trials: int
    evaluations: list[int | None]
    choices: int

    def __str__(self) -> str:
        counts = sorted(self.trials + 1 if count is None else count for count in self.evaluations)
        middle = median(counts)
        shown = ", ".join(self._named(count) for count in counts)
        return (
            f"{self.sampler}: within {100 * self.within:g} % of the best of {self.choices:,} choices after "
            f"{self._named(middle)} evaluations in the median of {len(counts)} seeds ({shown})"
        )

    def _named(self, count: float) -> str:
        return f"more than {self.trials}" if count > self.trials else f"{count:g}"


def search_options(what: str, trials: int, within: float) -> tuple[Option, ...]:
    """The options that all searches have; ``what`` names several choices."""
    # The same as cdma.study.tuner.search.SAMPLERS, which is not imported to show a parser.
    return (
        option("--sampler", f"who chooses {what}: a Gaussian process (gp) or TPE, both of Optuna, chance, or all of them in "
            "their order (grid); auto, the default, is gp where PyTorch and SciPy are installed, and else tpe", "auto",
            choices=("auto", "gp", "tpe", "random", "grid")),
        option("--trials N", f"{what} to evaluate (default {trials}; with --sampler grid all)", int),
        option("--seed", "of the sampler", 1),
        option("--cache FILE", "keep evaluations there (.jsonl); a later search goes on", Path),
        flag("--compare", f"evaluate all {what}, and say after how many TPE, random search and the sampler are within "
            f"{100 * within:g} %% of the best, with {SEEDS} seeds"),
    )  # fmt: skip


def plan(arguments: argparse.Namespace, space: Space[Any]) -> Plan:
    """Returns what the options of a search say."""
    from cdma.study.tuner.search import sampler_named

    if arguments.trials is not None and arguments.trials < 1:
        raise ParameterError(f"trials is {arguments.trials}; it must be more than 0")
    sampler = sampler_named(arguments.sampler)
    usual = sum(1 for _ in space) if sampler == "grid" else arguments.default_trials
    trials = usual if arguments.trials is None else arguments.trials
    return Plan(sampler, trials, arguments.seed, arguments.compare)


def explore(
    kept: Kept[Any, Any],
    space: Space[Any],
    cost: Callable[[Any], float],
    asked: Plan,
    within: float,
    at_once: int = 1,
) -> list[Compared]:
    """Searches as asked, or evaluates all choices and returns how each sampler searches among them."""
    from cdma.output import status
    from cdma.study.tuner.search import search

    with status() as say:
        if asked.compares:
            return _compared(kept, space, cost, asked, within, say)
        search(
            kept,
            space,
            cost,
            asked.sampler,
            asked.trials,
            asked.seed,
            lambda trial, least: say(f"{trial + 1} of {asked.trials}, {1e3 * least:.1f} ms"),
            at_once,
        )
    return []


def _compared(
    kept: Kept[Any, Any],
    space: Space[Any],
    cost: Callable[[Any], float],
    asked: Plan,
    within: float,
    say: Callable[[str], None],
) -> list[Compared]:
    from cdma.study.tuner.search import search, until_within

    choices = list(space)
    say(f"all {len(choices)} choices")
    least = min(cost(found) for found in kept(choices))
    result = []
    for sampler in dict.fromkeys(("tpe", "random", asked.sampler)):
        counts = []
        for seed in range(1, SEEDS + 1):
            say(f"{sampler}, seed {seed}")
            costs = search(kept, space, cost, sampler, asked.trials, seed)
            counts.append(until_within(costs, least, within))
        result.append(Compared(sampler, within, asked.trials, counts, len(choices)))
    return result


def searched(rows: list[dict[str, Any]], compared: Sequence[Compared], **more: list[dict[str, Any]]) -> Any:
    """The rows for JSON, below ``rows`` and beside ``compared`` and what there is ``more`` if samplers were compared."""
    return {"compared": [asdict(one) for one in compared], **more, "rows": rows} if compared else rows
