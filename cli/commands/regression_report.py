"""What ``cdma verify`` says at its end: tests, speed, coverage, and of each failure its log, its waves and its command."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdma.rows import Table

if TYPE_CHECKING:
    from cdma.verif.campaigns.coverage.goals import Reached
    from cdma.verif.regression import Regression
    from cdma.verif.simulator.simulate import Outcome

__all__ = ["Failure", "RegressionReport", "keep_logs", "replay"]


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

    def table(self) -> Table:
        """A row for each test, and one for all of them, with the markup of rich."""
        titles, *rows = self._cells("[green]passed[/]", "[red]failed[/]", "[red]{} failed[/]")
        return Table(titles, rows, texts=2, lines=(len(rows) - 1,))

    def _cells(self, passed: str, failed: str, some_failed: str) -> list[list[str]]:
        """The titles, the rows of the tests, and that of all of them."""
        from cdma.verif.blocks import plan_of
        from cdma.verif.regression import COUNTS

        result = self.result
        rows = [["test", "result", plan_of(result.design).unit, *COUNTS[1:], "seconds", "cycles/s"]]
        for outcome in result.outcomes:
            counts = (f"{getattr(outcome, name):,}" for name in COUNTS)
            speed = _speed(outcome.cycles, outcome.seconds)
            rows.append(
                [
                    outcome.test,
                    failed if outcome.failure else passed,
                    *counts,
                    f"{outcome.seconds:.1f}",
                    speed,
                ]
            )
        totals = (f"{result.total(name):,}" for name in COUNTS)
        verdict = some_failed.format(len(self.failures)) if self.failures else passed
        speed = _speed(result.total("cycles"), self.seconds)
        return [*rows, ["all", verdict, *totals, f"{self.seconds:.1f}", speed]]

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
        whole = [each for each in self.reached if not each.holes]
        said.append(
            f"functional coverage: {hit:,} of {bins:,} situations, {len(whole)} of {len(self.reached)} goals in full"
        )
        return said

    def short(self) -> list[str]:
        """The goals that are not reached in full, each with how much of it is missing."""
        missed = [each for each in self.reached or () if each.holes]
        return [f"{each.goal.name}: {each.hit} of {len(each.counts)}" for each in missed]

    def show(self, logs: bool) -> None:
        """Prints it, with the logs themselves if they are wanted."""
        result = self.result
        print(f"{result.design}, seed {result.seed}")
        self.table().show()
        for sentence in self.sentences():
            print(sentence)
        if missed := self.short():
            print(f"not reached in full: {'; '.join(missed)}")
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
        titles, *rows = self._cells("passed", "failed", "{} failed")
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


def _rate(cycles: int, seconds: float) -> int | None:
    """Cycles per second; None for a test that counts no cycles, or took no time."""
    return round(cycles / seconds) if cycles and seconds else None


def _speed(cycles: int, seconds: float) -> str:
    rate = _rate(cycles, seconds)
    return "" if rate is None else f"{rate:,}"


def replay(result: Regression, outcome: Outcome, arguments: argparse.Namespace) -> str:
    """The command that runs one test again as it was run here."""
    from cdma.verif.regression import replay_command

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
