"""Search over designs by TPE, a Gaussian process (both Optuna) or at random; evaluations are kept and never made twice."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.spec.install import install_command

from .designs import Design, Evaluation, Limits, Space

__all__ = ["SAMPLERS", "Kept", "MissingOptuna", "best", "front", "search", "until_within"]

SAMPLERS = ("tpe", "gp", "random")

#: What a design costs that exceeds a limit: longer than any step, and longer the more it exceeds.
_PENALTY = 1e3


class MissingOptuna(CdmaError, ImportError):
    """A search needs an extra that is not installed."""

    def __init__(self) -> None:
        super().__init__(f"the search needs the package optuna: {install_command('tune')}")


#: Evaluates designs, and gives the index of each with what became of it, in the order in which they end.
Share = Callable[
    [Callable[[Design], Evaluation | None], Sequence[Design]], Iterable[tuple[int, Evaluation | None]]
]


def _one_by_one(
    make: Callable[[Design], Evaluation | None], designs: Sequence[Design]
) -> Iterable[tuple[int, Evaluation | None]]:
    for index, design in enumerate(designs):
        yield index, make(design)


@dataclass
class Kept:
    """Evaluations by design, and their file, one line of JSON for each, which a later search reads again.

    ``make``
        Evaluates a design.
    ``share``
        Evaluates several, on other processors or machines perhaps.
    """

    question: str
    make: Callable[[Design], Evaluation | None]
    path: Path | None = None
    share: Share = _one_by_one
    known: dict[Design, Evaluation | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None or not self.path.exists():
            return
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                row = json.loads(line)
                if row["question"] == self.question:
                    found = row["evaluation"]
                    self.known[Design(**row["design"])] = None if found is None else Evaluation(**found)
            except (ValueError, KeyError, TypeError):
                raise CdmaError(
                    f"line {number} of {self.path} is no evaluation of a design with the parameters that are searched now; "
                    "choose another file"
                ) from None

    def __call__(self, designs: Sequence[Design]) -> list[Evaluation | None]:
        """Returns the evaluations of designs, of which those that are not known are made."""
        unknown = [design for design in dict.fromkeys(designs) if design not in self.known]
        for index, found in self.share(self.make, unknown):
            self.add(unknown[index], found)
        return [self.known[design] for design in designs]

    def add(self, design: Design, found: Evaluation | None) -> None:
        """Keeps an evaluation."""
        self.known[design] = found
        if self.path is not None:
            row = {
                "question": self.question,
                "design": asdict(design),
                "evaluation": None if found is None else asdict(found),
            }
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def cost(found: Evaluation | None, limits: Limits) -> float:
    """Returns what a search makes small: the step, of equally long ones that of the smaller design, within the limits."""
    if found is None:
        return 10 * _PENALTY
    over = max(found.area_kge / limits.area_kge - 1, 0.0) + max(limits.clock_ghz / found.clock_ghz - 1, 0.0)
    return _PENALTY * (1 + over) if over else found.step_s * (1 + 1e-3 * found.area_kge / limits.area_kge)


def search(
    kept: Callable[[Sequence[Design]], Sequence[Evaluation | None]],
    space: Space,
    limits: Limits,
    sampler: str,
    trials: int,
    seed: int,
    said: Callable[[int, float], None] = lambda trial, least: None,
    at_once: int = 1,
) -> list[float]:
    """Returns the cost of each of ``trials`` designs, in the order in which the sampler asked for them.

    It asks for ``at_once`` of them before it knows what became of these.
    """
    ask, tell = (_random if sampler == "random" else _optuna)(space, sampler, seed)
    costs: list[float] = []
    while len(costs) < trials:
        asked = [ask() for _ in range(min(at_once, trials - len(costs)))]
        for (trial, _), found in zip(asked, kept([design for _, design in asked]), strict=True):
            costs.append(cost(found, limits))
            tell(trial, costs[-1])
        said(len(costs) - 1, min(costs))
    return costs


#: Gives a trial and its design; and takes the cost of a trial.
_Sampler = tuple[Callable[[], tuple[Any, Design]], Callable[[Any, float], None]]


def _random(space: Space, sampler: str, seed: int) -> _Sampler:
    order = random.Random(seed)

    def ask() -> tuple[Any, Design]:
        return None, Design(**{name: order.choice(values) for name, values in space.values.items()})

    return ask, lambda trial, found: None


def _optuna(space: Space, sampler: str, seed: int) -> _Sampler:
    try:
        optuna: Any = import_module("optuna")
    except ImportError:
        raise MissingOptuna from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}
    study = optuna.create_study(sampler=samplers[sampler](seed=seed))

    def ask() -> tuple[Any, Design]:
        asked = study.ask()
        # The values rise, and near ones are alike: their positions are numbers, not names.
        design = Design(
            **{
                name: values[asked.suggest_int(name, 0, len(values) - 1)] if len(values) > 1 else values[0]
                for name, values in space.values.items()
            }
        )
        return asked, design

    return ask, study.tell


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


def until_within(costs: Sequence[float], least: float, part: float = 0.01) -> int | None:
    """Returns how many evaluations it took until one was within ``part`` of ``least``; None if none was."""
    good: Iterable[int] = (count for count, value in enumerate(costs, 1) if value <= least * (1 + part))
    return next(iter(good), None)
