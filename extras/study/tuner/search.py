"""A search over choices by a Gaussian process or TPE (both Optuna), at random, or through all of them, and the options that
commands have for it. Evaluations are kept and never made twice. A course is what a search had found after each evaluation,
and the time that it had taken by then.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, product
from pathlib import Path
from typing import Any, Generic, TypeVar

from cdma.base.errors import CdmaError, ParameterError, install_command
from cdma.command import Option, option

#: What is chosen, and what becomes of it: dataclasses of plain values.
Choice = TypeVar("Choice")
Found = TypeVar("Found")

#: Evaluates choices, and gives the index of each with what became of it, in the order in which they end.
Share = Callable[[Callable[[Choice], "Found | None"], Sequence[Choice]], Iterable["tuple[int, Found | None]"]]


def _one_by_one(
    make: Callable[[Choice], Found | None], choices: Sequence[Choice]
) -> Iterable[tuple[int, Found | None]]:
    for index, choice in enumerate(choices):
        yield index, make(choice)


@dataclass
class Kept(Generic[Choice, Found]):
    """Evaluations by choice, and their file, one line of JSON for each, which a later search reads again.

    ``kinds``: The types of a choice and of an evaluation.
    ``question``: What is asked: a file may hold evaluations for several questions.
    ``make``: Evaluates a choice; None if it is impossible.
    ``share``: Evaluates several, on other processors or machines perhaps.
    """

    kinds: tuple[type[Choice], type[Found]]
    question: str
    make: Callable[[Choice], Found | None]
    path: Path | None = None
    share: Share[Choice, Found] = _one_by_one
    known: dict[Choice, Found | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None or not self.path.exists():
            return
        choice, evaluation = self.kinds
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                row = json.loads(line)
                if row["question"] == self.question:
                    found = row["evaluation"]
                    self.known[choice(**row["design"])] = None if found is None else evaluation(**found)
            except (ValueError, KeyError, TypeError):
                raise CdmaError(
                    f"line {number} of {self.path} is no evaluation of a design with the parameters that are searched now; "
                    "choose another file"
                ) from None

    def __call__(self, choices: Sequence[Choice]) -> list[Found | None]:
        """Returns the evaluations of choices, of which those that are not known are made."""
        unknown = [choice for choice in dict.fromkeys(choices) if choice not in self.known]
        for index, found in self.share(self.make, unknown):
            self.add(unknown[index], found)
        return [self.known[choice] for choice in choices]

    def add(self, choice: Choice, found: Found | None) -> None:
        """Keeps an evaluation."""
        self.known[choice] = found
        if self.path is not None:
            # The dataclasses that a type variable cannot name.
            chosen: Any = choice
            evaluated: Any = found
            row = {
                "question": self.question,
                "design": asdict(chosen),
                "evaluation": None if found is None else asdict(evaluated),
            }
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


@dataclass(frozen=True)
class Course(Generic[Choice]):
    """After each evaluation the best choice until then, its cost, and seconds of choosing and evaluating."""

    best: Sequence[Choice]
    least: Sequence[float]
    seconds: Sequence[float]

    @property
    def evaluations(self) -> int:
        """How many it took until the best of all was found."""
        return self.least.index(self.least[-1]) + 1


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

    ``kind``: Makes a choice of a value for each name, perhaps the same one of several.
    ``possible``: Whether it is worth evaluating.
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


def search_options(what: str, trials: int) -> tuple[Option, ...]:
    """The options that :func:`explore` reads; ``what`` names several choices."""
    return (
        option("--sampler", f"who chooses {what}: a Gaussian process (gp) or TPE, both of Optuna, chance, or all of them in "
            "their order (grid); auto, the default, is gp where PyTorch and SciPy are installed, and else tpe", "auto",
            choices=SAMPLERS),
        option("--trials N", f"{what} to evaluate (default {trials}; with --sampler grid all)", int),
        option("--seed", "of the sampler", 1),
        option("--cache FILE", "keep evaluations there (.jsonl); a later search goes on", Path),
    )  # fmt: skip


def asked_for(arguments: argparse.Namespace, space: Space[Any]) -> tuple[str, int]:
    """The sampler that the options ask for, and how many choices it evaluates."""
    if arguments.trials is not None and arguments.trials < 1:
        raise ParameterError(f"trials is {arguments.trials}; it must be more than 0")
    sampler = sampler_named(arguments.sampler)
    usual = sum(1 for _ in space) if sampler == "grid" else arguments.default_trials
    return sampler, usual if arguments.trials is None else arguments.trials


def explore(
    arguments: argparse.Namespace,
    kept: Kept[Any, Any],
    space: Space[Any],
    cost: Callable[[Any], float],
    at_once: int = 1,
) -> str:
    """Searches as the options ask for; returns the sampler."""
    from cdma.output import status

    sampler, trials = asked_for(arguments, space)
    with status() as say:
        search(
            kept,
            space,
            cost,
            sampler,
            trials,
            arguments.seed,
            lambda trial, least: say(f"{trial + 1} of {trials}, {1e3 * least:.1f} ms"),
            at_once,
        )
    return sampler
