"""What ``cdma verify`` says at its end: tests, speed, coverage, and of each failure its log, its waves and its command."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.rows import Growing

if TYPE_CHECKING:
    from cdma.verif.campaigns.coverage.goals import Reached
    from cdma.verif.campaigns.regression import Regression
    from cdma.verif.simulator.simulate import Design, Outcome

__all__ = ["Failure", "RegressionReport", "keep_logs", "outcome_row", "outcome_rows", "replay"]

_PASSED, _FAILED = "passed", "failed"


@dataclass(frozen=True)
class Failure:
    """A test that failed, the file of its log, that of its waves if they were asked for, and the command that runs it
    again."""

    outcome: Outcome
    log: Path
    waves: Path | None
    again: str


@dataclass(frozen=True)
class RegressionReport:
    """A regression, what it reached of the functional goals (None where nobody counted), and its failures."""

    result: Regression
    reached: Sequence[Reached] | None
    failures: Sequence[Failure]
    #: How many tests there are, where only some were asked for: these cannot reach every goal.
    planned: int | None = None

    def total_row(self) -> list[str]:
        """The row of all tests."""
        from cdma.verif.campaigns.regression import COUNTS

        verdict = f"{len(self.failures)} failed" if self.failures else _PASSED
        totals = (f"{self.result.total(name):,}" for name in COUNTS)
        return [
            "all",
            verdict,
            *totals,
            f"{self.seconds:.1f}",
            _speed(self.result.total("cycles"), self.seconds),
        ]

    @property
    def seconds(self) -> float:
        """Of all simulations, one after the other."""
        return sum(outcome.seconds for outcome in self.result.outcomes)

    def sentences(self) -> list[str]:
        """What ran, and what it reached."""
        result = self.result
        tests, failed = len(result.outcomes), len(self.failures)
        verdict = f"{failed} of {tests} tests failed" if failed else f"all {tests} tests passed"
        cycles, speed = result.total("cycles"), _speed(result.total("cycles"), self.seconds)
        said = [
            f"{verdict}, with seed {result.seed}: {cycles:,} cycles in {self.seconds:.1f} s, {speed or 0} per second"
        ]
        if self.reached is None:
            return [*said, "functional coverage: not counted on other machines"]
        bins, hit = sum(len(each.counts) for each in self.reached), sum(each.hit for each in self.reached)
        if self.planned is not None:
            return [
                *said,
                f"functional coverage: {hit:,} of {bins:,} situations, by {tests} of {self.planned} tests",
            ]
        whole = [each for each in self.reached if not each.holes]
        said.append(
            f"functional coverage: {hit:,} of {bins:,} situations, {len(whole)} of {len(self.reached)} goals in full"
        )
        return said

    def short(self) -> list[str]:
        """The goals that are not reached in full, each with what is reached; none of tests that were chosen."""
        if self.planned is not None:
            return []
        missed = [each for each in self.reached or () if each.holes]
        return [f"{each.goal.name}: {each.hit} of {len(each.counts)}" for each in missed]

    def conclude(self, *, logs: bool) -> None:
        """Prints what follows the rows, with the logs themselves if they are wanted."""
        for sentence in self.sentences():
            print(sentence)
        if missed := self.short():
            print(f"not reached in full: {'; '.join(missed)}")
        self.show_failures(logs=logs)

    def show_failures(self, *, logs: bool) -> None:
        """Prints what failed, where its log is, and how to run it again."""
        for each in self.failures:
            print(f"\n{each.outcome.test} failed: {each.outcome.failure}")
            print(f"  log: {each.log}")
            if each.waves is None:
                print(f"  again, with waves: {each.again} --waves")
            else:
                print(f"  waves: {each.waves}\n  again: {each.again}")
            if logs and each.outcome.log:
                print(each.outcome.log)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        told = self.result.to_dict()
        for row in told["tests"]:
            row["cycles_per_second"] = _rate(row["cycles"], row["seconds"])
        return {
            **told,
            "seconds": self.seconds,
            "cycles_per_second": _rate(told["cycles"], self.seconds),
            "coverage": None if self.reached is None else [each.to_dict() for each in self.reached],
            "failures": [
                {
                    "test": each.outcome.test,
                    "failure": each.outcome.failure,
                    "log": str(each.log),
                    "waves": None if each.waves is None else str(each.waves),
                    "again": each.again,
                }
                for each in self.failures
            ],
        }

    def page(self, version: str) -> str:
        """One page of HTML, which needs nothing from elsewhere."""
        from cdma.hdl.deliver.document import Code, Heading, Paragraph, Part, as_html
        from cdma.hdl.deliver.document import Table as PageTable

        result = self.result
        titles = outcome_titles(result.design)
        rows = [*map(outcome_row, result.outcomes), self.total_row()]
        parts: list[Part] = [
            Heading(f"Regression of the {result.design.block}", 1),
            Paragraph(f"{result.design}. cdma {version}."),
            *(Paragraph(f"{sentence}.") for sentence in self.sentences()),
        ]
        for each in self.failures:
            where = [f"log: `{each.log}`", *([f"waves: `{each.waves}`"] if each.waves else [])]
            parts += [
                Heading(f"{each.outcome.test} failed"),
                Code(str(each.outcome.failure)),
                *map(Paragraph, where),
                Paragraph(f"again: `{each.again}`"),
            ]
        parts += [Heading("Tests"), PageTable(titles, rows, numbers=range(2, len(titles)))]
        if self.reached is not None:
            goals = [
                [
                    each.goal.name,
                    f"{each.hit} / {len(each.counts)}",
                    each.goal.statement,
                    "; ".join(each.holes),
                ]
                for each in self.reached
            ]
            parts += [
                Heading("Functional coverage"),
                PageTable(("goal", "reached", "what it is about", "missing"), goals),
            ]
        return as_html(parts)


def outcome_titles(design: Design) -> list[str]:
    """The titles of the rows of outcomes."""
    from cdma.verif.campaigns.regression import COUNTS, plan_of

    return ["test", "result", plan_of(design).unit, *COUNTS[1:], "seconds", "cycles/s"]


def outcome_rows(design: Design, tests: Sequence[str], *, head: str, shown: bool) -> Growing:
    """The table that takes :func:`outcome_row` of each test as it ends."""
    widths = [max(map(len, tests)), len("99 failed")]
    return Growing(outcome_titles(design), widths, head=head, shown=shown)


def outcome_row(outcome: Outcome) -> list[str]:
    """What became of a test."""
    from cdma.verif.campaigns.regression import COUNTS

    counts = (f"{getattr(outcome, name):,}" for name in COUNTS)
    verdict = _FAILED if outcome.failure else _PASSED
    return [outcome.test, verdict, *counts, f"{outcome.seconds:.1f}", _speed(outcome.cycles, outcome.seconds)]


def _rate(cycles: int, seconds: float) -> int | None:
    """Cycles per second; None for a test that counts no cycles, or took no time."""
    return round(cycles / seconds) if cycles and seconds else None


def _speed(cycles: int, seconds: float) -> str:
    rate = _rate(cycles, seconds)
    return "" if rate is None else f"{rate:,}"


def replay(result: Regression, outcome: Outcome, arguments: argparse.Namespace) -> str:
    """The command that runs one test again as it was run here."""
    from cdma.verif.campaigns.regression import replay_command

    words = [replay_command(result.design, outcome.test, result.seed, result.packets)]
    for name, usual in (("simulator", "verilator"), ("netlist", "verilog")):
        if getattr(arguments, name) != usual:
            words.append(f"--{name} {getattr(arguments, name)}")
    if arguments.liberty:
        words.append(f"--liberty {shlex.join(map(str, arguments.liberty))}")
    return " ".join(words)


def keep_logs(result: Regression, arguments: argparse.Namespace) -> list[Failure]:
    """Writes the log of each test that failed: beside the waves, or else into the cache."""
    from cdma.base.cache import cache_folder
    from cdma.files import make_directory, write_text

    folder = arguments.waves or cache_folder() / "logs"
    failures = []
    for outcome in result.outcomes:
        if outcome.failure is None:
            continue
        make_directory(folder)
        name = (
            f"{outcome.test}.log"
            if arguments.waves
            else f"{result.design.block}-{outcome.test}-{result.seed}.log"
        )
        write_text(folder, name, f"{outcome.failure}\n\n{outcome.log}")
        waves = arguments.waves / f"{outcome.test}.vcd" if arguments.waves else None
        failures.append(Failure(outcome, folder / name, waves, replay(result, outcome, arguments)))
    return failures
