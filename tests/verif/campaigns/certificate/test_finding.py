"""Findings of made-up results: what does not hold, and what was not done."""

from __future__ import annotations

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.verif.campaigns.certificate.finding import (
    Shown,
    coverage_finding,
    mutants_finding,
    proofs_finding,
    regression_finding,
)
from cdma.verif.campaigns.mutation.campaign import KILLED, SURVIVED, Verdict, scores
from cdma.verif.campaigns.mutation.mutants import Mutant
from cdma.verif.campaigns.regression import Regression, plan_of
from cdma.verif.proofs.proof import FAILED, PROVEN, UNKNOWN, VACUOUS, Result
from cdma.verif.simulator.simulate import Outcome
from cdma.verif.stream.codec.design import CodecDesign

TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))


def _regression(failure: str | None = None) -> Regression:
    tests = [point.name for point in plan_of(TINY).choose(TINY)]
    return Regression(TINY, 3, 9, [Outcome(name, failure, 1, 2, 3, 4) for name in tests])


def _shown(status: str, detail: str = "", own: bool = False) -> Shown:
    result = Result("packer", "2 lanes", "pdr", None, status, 1.0, 2, "words come out", detail=detail)
    return Shown(result, own)


def _verdicts(*results: str) -> list[Verdict]:
    mutant = Mutant("compressor.core", "m", "mutate", "", "bit 0 of A inverted")
    return [Verdict(mutant, result, "", "not decided") for result in results]


def test_a_finding_that_holds_has_no_failures_and_nothing_open() -> None:
    killed = _verdicts(KILLED)
    for finding in (
        regression_finding(_regression()),
        proofs_finding([_shown(PROVEN, own=True)], []),
        mutants_finding(killed, scores(killed, "compressor")),
        coverage_finding({"lines": 100.0}, []),
    ):
        assert (list(finding.fails), list(finding.open)) == ([], [])


def test_a_test_that_fails_has_the_command_that_runs_it_again() -> None:
    fails = regression_finding(_regression("17 < 18")).fails
    assert len(fails) == len(_regression().outcomes)
    (soak,) = [sentence for sentence in fails if sentence.startswith("test soak: 17 < 18")]
    assert "(again: cdma verify compressor --lanes 2" in soak
    assert soak.endswith("--tests soak --seed 3 --packets 9)")


def test_tests_that_were_left_out_are_open() -> None:
    run = Regression(TINY, 1, 9, _regression().outcomes[:1])
    (sentence,) = regression_finding(run).open
    assert sentence.startswith("tests that were left out: endings, soak, ")


def test_proofs_fail_or_are_open() -> None:
    shown = [
        _shown(FAILED, "packer.py:3"),
        _shown(VACUOUS, "no cover"),
        _shown(UNKNOWN, "no answer within 9 s"),
    ]
    finding = proofs_finding([*shown, _shown(PROVEN)], ["lossless (2 lanes)"])
    assert finding.fails == [
        "proof packer (2 lanes): failed, packer.py:3",
        "proof packer (2 lanes): vacuous, no cover",
    ]
    assert finding.open == [
        "proof packer (2 lanes): no answer within 9 s",
        "proven in other, mostly smaller configurations alone: packer",
        "proofs that take long and were not run: lossless (2 lanes)",
    ]
    assert [row["own_configuration"] for row in finding.data] == [False] * 4


def test_too_few_mutants_found_fail_and_survivors_are_open() -> None:
    verdicts = _verdicts(SURVIVED, KILLED)
    finding = mutants_finding(verdicts, scores(verdicts, "compressor"))
    assert finding.fails == ["50.0 % of the mutants were found; the goal is 95 %"]
    assert finding.open == ["mutant of compressor.core survived: bit 0 of A inverted; not decided"]
    assert (finding.data["mutants"], finding.data["score"], len(finding.data["surviving"])) == (2, 50.0, 1)


def test_goals_not_reached_are_open() -> None:
    finding = coverage_finding({"lines": 99.0}, ["99.00 % of lines, less than 100 %"])
    assert (finding.fails, finding.open) == ([], ["coverage: 99.00 % of lines, less than 100 %"])
