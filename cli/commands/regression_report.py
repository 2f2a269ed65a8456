"""What ``cdma verify`` says at its end: tests, speed, coverage, and of each failure its log, its waves and its command."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.base.document import Paragraph, Part, Table
from cdma.result import Result

if TYPE_CHECKING:
    from cdma.verif.campaigns.coverage.goals import Reached
    from cdma.verif.campaigns.regression import Regression
    from cdma.verif.simulator.simulate import Design, Outcome


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
    #: The tests of the plan that were not asked for: without them the others cannot reach every goal.
    left_out: Sequence[str] = ()

    def total_row(self) -> list[str]:
        """The row of all tests."""
        from cdma.verif.campaigns.regression import COUNTS

        totals = {name: self.result.total(name) for name in COUNTS}
        verdict = f"{len(self.failures)} failed" if self.failures else "passed"
        return _row("all", verdict, totals, self.seconds)

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
        reach = f"functional coverage: {hit:,} of {bins:,} situations"
        if self.left_out:
            return [*said, f"{reach}, by {tests} of {tests + len(self.left_out)} tests"]
        whole = sum(not each.holes for each in self.reached)
        return [*said, f"{reach}, {whole} of {len(self.reached)} goals in full"]

    def short(self) -> list[str]:
        """The goals that are not reached in full, each with what is reached; none of tests that were chosen."""
        if self.left_out:
            return []
        missed = [each for each in self.reached or () if each.holes]
        return [f"{each.goal.name}: {each.hit} of {len(each.counts)}" for each in missed]

    def conclusion(self, *, logs: bool) -> Iterator[str]:
        """What follows the rows, with the logs themselves if they are wanted."""
        yield from self.sentences()
        if missed := self.short():
            yield f"not reached in full: {'; '.join(missed)}"
        yield from self.failed(logs=logs)

    def failed(self, *, logs: bool) -> Iterator[str]:
        """What failed, where its log is, and how to run it again."""
        for each in self.failures:
            yield f"\n{each.outcome.test} failed: {each.outcome.failure}\n  log: {each.log}"
            if each.waves is None:
                yield f"  again, with waves: {each.again} --waves"
            else:
                yield f"  waves: {each.waves}\n  again: {each.again}"
            if logs and each.outcome.log:
                yield each.outcome.log

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

    def result_of(self, arguments: argparse.Namespace) -> Result:
        """All of it, as the command shows it."""
        run = self.result
        passed = len(run.outcomes) - len(self.failures)
        planned = len(run.outcomes) + len(self.left_out)
        return Result(
            self.to_dict(),
            self.conclusion(logs=arguments.log),
            run.passed,
            self.tests(),
            f"{passed} of {planned} tests passed, {len(self.failures)} failed: {run.total('checks'):,} checks in "
            f"{run.total('cycles'):,} cycles.",
            [
                f"test {each.outcome.test}: {str(each.outcome.failure).splitlines()[0]} (again: {each.again})"
                for each in self.failures
            ],
            [f"tests that were left out: {', '.join(self.left_out)}"] if self.left_out else [],
        )

    def tests(self) -> Iterator[Part]:
        """Each test with its stimulus and check, its result and its counts."""
        from cdma.verif.campaigns.regression import plan_of

        run = self.result
        plan = plan_of(run.design)
        statements = {point.name: point.statement for point in plan.choose(run.design)}
        rows = []
        for outcome in run.outcomes:
            name, *cells = outcome_row(outcome)
            rows.append([f"`{name}`", statements.get(name, ""), *cells])
        titles = ("test", "stimulus and check", *outcome_titles(run.design)[1:])
        yield Paragraph(f"Seed {run.seed}, budget {run.packets:,} {plan.unit}.")
        yield Table(titles, rows, range(3, len(titles)))


def outcome_titles(design: Design) -> list[str]:
    """The titles of the rows of outcomes."""
    from cdma.verif.campaigns.regression import COUNTS, plan_of

    return ["test", "result", plan_of(design).unit, *COUNTS[1:], "seconds", "cycles/s"]


def outcome_row(outcome: Outcome) -> list[str]:
    """What became of a test."""
    from cdma.verif.campaigns.regression import COUNTS

    counts = {name: getattr(outcome, name) for name in COUNTS}
    return _row(outcome.test, "failed" if outcome.failure else "passed", counts, outcome.seconds)


def _row(test: str, verdict: str, counts: dict[str, int], seconds: float) -> list[str]:
    texts = (f"{count:,}" for count in counts.values())
    return [test, verdict, *texts, f"{seconds:.1f}", _speed(counts["cycles"], seconds)]


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
