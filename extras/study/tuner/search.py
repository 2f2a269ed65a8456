"""A search over choices by a Gaussian process or TPE (both Optuna), at random, or through all of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, product
from typing import Any, Generic

from cdma.base.errors import CdmaError
from cdma.base.install import install_command

from .evaluations import Choice, Found

__all__ = ["SAMPLERS", "MissingOptuna", "Space", "sampler_named", "search", "until_within"]

#: Who chooses; ``auto`` is one of the first two.
SAMPLERS = ("auto", "gp", "tpe", "random", "grid")


class MissingOptuna(CdmaError, ImportError):
    """A search needs an extra that is not installed."""

    def __init__(self) -> None:
        super().__init__(
            f"the search needs the package optuna: {install_command('tune')}; or choose --sampler random or grid"
        )


@dataclass(frozen=True)
class Space(Generic[Choice]):
    """All choices, each once.

    ``kind``
        Makes a choice of a value for each name, perhaps the same one of several.
    ``possible``
        Whether it is worth evaluating.
    """

    kind: Callable[..., Choice]
    values: Mapping[str, tuple[int, ...]]
    possible: Callable[[Choice], bool] = lambda choice: True

    def __iter__(self) -> Iterator[Choice]:
        every = (
            self.kind(**dict(zip(self.values, values, strict=True)))
            for values in product(*self.values.values())
        )
        return (choice for choice in dict.fromkeys(every) if self.possible(choice))


def sampler_named(name: str) -> str:
    """Returns the sampler that a name stands for.

    ``auto`` is a Gaussian process where there is what Optuna computes one with, PyTorch and SciPy, and TPE elsewhere.
    """
    if name != "auto":
        return name
    return "gp" if find_spec("torch") and find_spec("scipy") else "tpe"


def search(
    kept: Callable[[Sequence[Choice]], Sequence[Found | None]],
    space: Space[Choice],
    cost: Callable[[Found | None], float],
    sampler: str,
    trials: int,
    seed: int,
    said: Callable[[int, float], None] = lambda trial, least: None,
    at_once: int = 1,
) -> list[float]:
    """Returns the cost of each of ``trials`` choices, in the order in which the sampler asked for them.

    It asks for ``at_once`` of them before it knows what became of these.
    """
    ask, tell = {"random": _random, "grid": _grid}.get(sampler, _optuna)(space, sampler, seed)
    costs: list[float] = []
    while len(costs) < trials:
        asked = [ask() for _ in range(min(at_once, trials - len(costs)))]
        for (trial, _), found in zip(asked, kept([choice for _, choice in asked]), strict=True):
            costs.append(cost(found))
            tell(trial, costs[-1])
        said(len(costs) - 1, min(costs))
    return costs


#: Gives a trial and its choice; and takes the cost of a trial.
_Sampler = tuple[Callable[[], tuple[Any, Any]], Callable[[Any, float], None]]


def _random(space: Space[Any], sampler: str, seed: int) -> _Sampler:
    order = random.Random(seed)

    def ask() -> tuple[Any, Any]:
        return None, space.kind(**{name: order.choice(values) for name, values in space.values.items()})

    return ask, lambda trial, found: None


def _grid(space: Space[Any], sampler: str, seed: int) -> _Sampler:
    choices = cycle(space)
    return lambda: (None, next(choices)), lambda trial, found: None


def _optuna(space: Space[Any], sampler: str, seed: int) -> _Sampler:
    try:
        optuna: Any = import_module("optuna")
    except ImportError:
        raise MissingOptuna from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}
    study = optuna.create_study(sampler=samplers[sampler](seed=seed))

    def ask() -> tuple[Any, Any]:
        asked = study.ask()
        # The values rise, and near ones are alike: their positions are numbers, not names.
        choice = space.kind(
            **{
                name: values[asked.suggest_int(name, 0, len(values) - 1)] if len(values) > 1 else values[0]
                for name, values in space.values.items()
            }
        )
        return asked, choice

    return ask, study.tell


def until_within(costs: Sequence[float], least: float, part: float = 0.01) -> int | None:
    """Returns how many evaluations it took until one was within ``part`` of ``least``; None if none was."""
    good: Iterable[int] = (count for count, value in enumerate(costs, 1) if value <= least * (1 + part))
    return next(iter(good), None)
