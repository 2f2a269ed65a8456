"""What the searches of ``cdma study tune`` share: their options, and how soon each sampler finds what all choices would."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from cdma.base.errors import ParameterError

if TYPE_CHECKING:
    from cdma.study.tuner.search import Kept, Space

__all__ = ["SEEDS", "Compared", "Plan", "add_search_options", "as_json", "explore", "plan", "say_compared"]

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


def add_search_options(parser: argparse.ArgumentParser, what: str, trials: int, within: float) -> None:
    """Adds the options that both searches have; ``what`` names several choices."""
    # The same as cdma.study.tuner.search.SAMPLERS, which is not imported to show a parser.
    parser.add_argument(
        "--sampler",
        choices=("auto", "gp", "tpe", "random", "grid"),
        default="auto",
        help=f"who chooses {what}: a Gaussian process (gp) or TPE, both of Optuna, chance, or all of them in their order "
        "(grid); auto, the default, is gp where PyTorch and SciPy are installed, and else tpe",
    )
    parser.add_argument(
        "--trials",
        type=int,
        metavar="N",
        help=f"{what} to evaluate (default {trials}; with --sampler grid all)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the sampler (default 1)")
    parser.add_argument(
        "--cache", type=Path, metavar="FILE", help="keep evaluations there (.jsonl); a later search goes on"
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help=f"evaluate all {what}, and say after how many TPE, random search and the sampler are within "
        f"{100 * within:g} %% of the best, with {SEEDS} seeds",
    )
    parser.set_defaults(default_trials=trials)


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


def as_json(rows: list[dict[str, Any]], compared: Sequence[Compared], **more: list[dict[str, Any]]) -> str:
    """Returns the rows, below ``rows`` and beside ``compared`` and what there is ``more`` if samplers were compared."""
    whole = {"compared": [asdict(one) for one in compared], **more, "rows": rows}
    return json.dumps(whole if compared else rows, indent=1)


def say_compared(compared: Sequence[Compared]) -> None:
    """Prints a line for each sampler."""
    from cdma.output import output

    for one in compared:
        output().print(str(one), markup=False)
