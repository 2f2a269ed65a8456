"""Results of made-up campaigns: what does not hold, and what was not done."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from cdma.commands import mutate
from cdma.commands.intake.parts import proofs_result
from cdma.commands.regression_report import Failure, RegressionReport
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.result import Result
from cdma.verif.campaigns.mutation.campaign import KILLED, SURVIVED, Verdict
from cdma.verif.campaigns.mutation.mutants import Mutant
from cdma.verif.campaigns.regression import Regression, plan_of
from cdma.verif.proofs.proof import FAILED, PROVEN, UNKNOWN, VACUOUS
from cdma.verif.proofs.proof import Result as Proof
from cdma.verif.simulator.simulate import Outcome
from cdma.verif.stream.codec.design import CodecDesign

TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))
TESTS = [point.name for point in plan_of(TINY).choose(TINY)]


def _regression(tests: list[str], failure: str | None = None) -> Result:
    left = [name for name in TESTS if name not in tests]
    outcomes = [Outcome(name, failure, 1, 2, 3, 4) for name in tests]
    failures = [Failure(each, Path("log"), None, f"cdma verify --tests {each.test}") for each in outcomes]
    report = RegressionReport(Regression(TINY, 3, 9, outcomes), None, failures if failure else [], left)
    return report.result_of(argparse.Namespace(log=False))


def _proof(status: str, detail: str = "") -> Proof:
    return Proof("packer", "2 lanes", "pdr", None, status, 1.0, 2, "words come out", detail=detail)


def _mutants(monkeypatch: pytest.MonkeyPatch, *results: str) -> Result:
    mutant = Mutant("compressor.core", "m", "mutate", "", "bit 0 of A inverted")
    verdicts = [Verdict(mutant, result, "", "not decided") for result in results]
    monkeypatch.setattr(mutate, "_verdicts", lambda *_: [("compressor", verdicts)])
    found, _ = mutate.campaign(argparse.Namespace(goal=mutate.GOAL), {"compressor": TINY})
    return found


def test_what_holds_has_no_failures_and_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for result in (
        _regression(TESTS),
        proofs_result([_proof(PROVEN)], [], []),
        _mutants(monkeypatch, KILLED),
    ):
        assert (list(result.fails), list(result.open), result.holds) == ([], [], True)


def test_a_test_that_fails_has_the_command_that_runs_it_again() -> None:
    result = _regression(TESTS, "17 < 18")
    assert not result.holds
    assert len(result.fails) == len(TESTS)
    assert "test soak: 17 < 18 (again: cdma verify --tests soak)" in result.fails


def test_tests_that_were_left_out_are_open() -> None:
    (sentence,) = _regression(TESTS[:1]).open
    assert sentence.startswith("tests that were left out: endings, soak, ")


def test_proofs_fail_or_are_open() -> None:
    others = [
        _proof(FAILED, "packer.py:3"),
        _proof(VACUOUS, "no cover"),
        _proof(UNKNOWN, "no answer within 9 s"),
    ]
    result = proofs_result([], [*others, _proof(PROVEN)], ["lossless (2 lanes)"])
    assert result.fails == [
        "proof packer (2 lanes): failed, packer.py:3",
        "proof packer (2 lanes): vacuous, no cover",
    ]
    assert result.open == [
        "proof packer (2 lanes): no answer within 9 s",
        "proven in other, mostly smaller configurations alone: packer",
        "proofs that take long and were not run: lossless (2 lanes)",
    ]
    assert [row["own_configuration"] for row in result.data] == [False] * 4


def test_too_few_mutants_found_fail_and_survivors_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    result = _mutants(monkeypatch, SURVIVED, KILLED)
    assert result.fails == ["50.0 % of the mutants were found; the goal is 95 %"]
    assert result.open == ["mutant of compressor.core survived: bit 0 of A inverted; not decided"]
    assert (result.data[0]["mutants"], len(result.data[0]["surviving"])) == (2, 1)
