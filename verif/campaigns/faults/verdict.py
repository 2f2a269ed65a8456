"""The verdict on a fault, and the counts of a campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

#: What becomes of a fault, from the best to the worst.
#:
#: ``detected``
#:     It is reported as the documents say, or the engine recovers as they say, and the next transfer is right.
#: ``harmless``
#:     Every byte is right all the same, and nothing is to be reported.
#: ``undetectable``
#:     A stream has become another valid stream; the engine does what the model does with it.
#: ``wrong``
#:     It is reported, with another status, address or number than it should; or what comes after it is not right.
#: ``silent``
#:     Success is reported, and something is not right.
#: ``hung``
#:     Something does not come, for ever.
OUTCOMES = ("detected", "harmless", "undetectable", "wrong", "silent", "hung")

#: The most failures that a tally describes.
_DESCRIBED = 20


class Wrong(Exception):
    """Something is not as the documents say."""


class Silent(Wrong):
    """Success is reported, and something is not right."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one fault.

    ``kind``: The row of the table that counts it.
    ``case``: Its name, which runs it again.
    ``outside``: Bytes that were written outside of every destination.
    """

    kind: str
    case: str
    outcome: str
    outside: int = 0
    reason: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.outside) or self.outcome in ("wrong", "silent", "hung")


@dataclass
class Tally:
    """Verdicts, counted by kind, with the descriptions of the first ``failures``."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        row = self.counts.setdefault(verdict.kind, dict.fromkeys(("cases", *OUTCOMES, "outside"), 0))
        row["cases"] += 1
        row[verdict.outcome] += 1
        row["outside"] += verdict.outside
        if verdict.failed and len(self.failures) < _DESCRIBED:
            self.failures.append(vars(verdict).copy())

    def merge(self, other: Tally) -> None:
        for kind, row in other.counts.items():
            mine = self.counts.setdefault(kind, dict.fromkeys(row, 0))
            for name, count in row.items():
                mine[name] += count
        self.failures += other.failures[: _DESCRIBED - len(self.failures)]

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Tally:
        tally = cls()
        for verdict in verdicts:
            tally.add(verdict)
        return tally

    @property
    def failed(self) -> bool:
        """Whether anything was wrong, silent, hung or outside."""
        bad = ("wrong", "silent", "hung", "outside")
        return any(row[name] for row in self.counts.values() for name in bad)


def judged(run: Callable[[], str]) -> tuple[str, str]:
    """The outcome that ``run`` returns or raises, and the reason if it must not be so."""
    try:
        return run(), ""
    except TimeoutError as error:
        return "hung", str(error)
    except Silent as error:
        return "silent", str(error)
    except (Wrong, AssertionError) as error:
        return "wrong", str(error)
