"""Soaks: cases that are the same again, of every kind; and failures made small."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from cdma.base.errors import CdmaError
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.stage import STAGES
from cdma.verif.campaigns.soak import soak as soaks
from cdma.verif.campaigns.soak.soak import (
    Case,
    Result,
    any_design,
    case_of,
    reduce,
    run_case,
    soak,
    with_settings,
)


def failing(case: Case, jobs: int = 1) -> Result:
    """What a case with four lanes, a pipeline and a budget of ten or more would give, if it had a fault there."""
    config = case.design.config
    fails = config.lanes == 4 and config.pipelined and case.packets >= 10
    return Result(case, "soak" if fails else "", "a word is missing" if fails else "", 1, 1.0)


def test_a_case_is_the_same_again() -> None:
    assert [case_of(1, number) for number in range(5)] == [case_of(1, number) for number in range(5)]
    assert case_of(1, 3) != case_of(2, 3)


def test_designs_of_every_kind_come_up() -> None:
    rng = random.Random(1)
    designs = [any_design(rng) for _ in range(300)]
    assert set(Counter(design.block for design in designs)) == {*BLOCKS, *STAGES, "engine"}
    engines = [design.config for design in designs if design.block == "engine"]
    assert {config.units for config in engines} == {1, 2, 4}
    assert {config.alignment for config in engines} == {"beat", "word", "byte"}
    assert {config.registers for config in engines} == {True, False}
    codecs = [design.config for design in designs if design.block in BLOCKS]
    assert {config.queue for config in codecs} == {0, 1, 2}
    assert {config.pipelined for config in codecs} == {True, False}
    assert {bool(config.format.field_bits) for config in codecs} == {True, False}


def test_a_failure_becomes_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soaks, "run_case", failing)
    settings = {"word_bits": 16, "window": 64, "lanes": 4, "pipelined": True, "register_slices": "in,out"}
    found = failing(Case(7, with_settings("compressor", settings, init=False), None, 5, 400))
    steps: list[str] = []
    small = reduce(found, steps.append)
    assert (
        small.replay
        == "cdma verify compressor --lanes 4 --pipelined --no-init --tests soak --seed 5 --packets 12"
    )
    assert steps[:2] == ["soak alone", "without lanes"]
    assert small.case.number == 7


def test_a_design_that_cannot_be_built_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise CdmaError("Verilator failed")

    monkeypatch.setattr(soaks, "verify", broken)
    result = run_case(case_of(1, 1))
    assert (result.test, result.failure) == ("", "Verilator failed")
    assert "--tests" not in result.replay


def test_the_time_ends_a_soak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soaks, "run_case", failing)
    now = iter(range(0, 600, 25))
    numbers = [result.case.number for result in soak(1, 11, 1.0, clock=lambda: float(next(now)))]
    assert numbers == [11, 12]


@pytest.mark.verilator
def test_a_real_case() -> None:
    design = with_settings("compressor", {"word_bits": 8, "window": 8, "lanes": 2}, init=True)
    result = run_case(Case(1, design, ("lengths",), 3, 20))
    assert not result.failure
    assert result.cycles > 100
    assert result.as_json()["replay"].startswith("cdma verify compressor --lanes 2")
