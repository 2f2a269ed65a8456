"""Evaluations of choices, which are kept and never made twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from cdma.base.errors import CdmaError

__all__ = ["Choice", "Found", "Kept", "Share"]

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

    ``kinds``
        The types of a choice and of an evaluation.
    ``question``
        What is asked: a file may hold evaluations for several questions.
    ``make``
        Evaluates a choice; None if it is impossible.
    ``share``
        Evaluates several, on other processors or machines perhaps.
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
