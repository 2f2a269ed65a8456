"""The regression's own rules: nothing passes by running nothing, plans name what there is, lots are even."""

from __future__ import annotations

import dataclasses
from importlib import import_module

import pytest

from cdma import CodecConfig, Format, ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.campaigns import regression
from cdma.verif.campaigns.regression import Regression, plan_of, replay_command, verify
from cdma.verif.engine.design import ENGINE_PLAN, SMALL, EngineDesign
from cdma.verif.simulator.plan import TestPlan
from cdma.verif.simulator.simulate import Design, Outcome
from cdma.verif.stream.codec.design import CODEC_PLAN, CodecDesign
from cdma.verif.stream.stage.design import STAGE_PLAN

COMPRESSOR = CodecDesign("compressor")
BARE = EngineDesign(dataclasses.replace(SMALL, registers=False))


@pytest.mark.parametrize("design", [COMPRESSOR, EngineDesign()], ids=lambda design: design.block)
def test_nothing_passes_by_running_nothing(design: Design) -> None:
    assert not Regression(design, 1, 1, []).passed
    with pytest.raises(ParameterError, match="tests is empty; a regression that runs nothing proves nothing"):
        verify(design, tests=[])
    unit = plan_of(design).unit
    with pytest.raises(ParameterError, match=f"{unit} is 0; a regression that moves nothing proves nothing"):
        verify(design, packets=0)


@pytest.mark.parametrize(
    ("design", "test", "known"),
    [
        (COMPRESSOR, "corrupt", "the tests of the compressor are lengths, endings, soak"),
        (BARE, "ring_wrap", "the tests of the engine are soak, lengths"),
    ],
)
def test_only_what_is_for_the_design(design: Design, test: str, known: str) -> None:
    with pytest.raises(ParameterError, match=f"tests has '{test}'; {known}"):
        verify(design, tests=[test])


@pytest.mark.parametrize("plan", [CODEC_PLAN, ENGINE_PLAN, STAGE_PLAN], ids=["codec", "engine", "stage"])
def test_every_test_is_planned(plan: TestPlan) -> None:
    tests = [test for name in plan.modules for test in vars(import_module(name)).values()]
    names = {test.name for test in tests if hasattr(test, "expect_fail")}
    assert names == {point.name for point in plan.points}
    assert len(names) == len(plan.points)


def test_lots_share_the_work() -> None:
    lots = regression._lots(ENGINE_PLAN.points, 3)
    weights = [sum(point.weight for point in lot) for lot in lots]
    assert sorted(point.name for lot in lots for point in lot) == sorted(p.name for p in ENGINE_PLAN.points)
    assert max(weights) - min(weights) <= 2
    assert len(regression._lots(ENGINE_PLAN.points[:2], 8)) == 2


def _runs(*digests: str, failure: str | None = None) -> list[Outcome]:
    return [Outcome("start", failure, 2, 20, 200, 1000, 1.0, {"digest": digest}) for digest in digests]


def test_start_values_must_not_show() -> None:
    same = regression._merge_starts(_runs("a", "a", "a"))
    assert (same.failure, same.packets, same.checks, same.notes) == (None, 6, 602, {"starts": 3})
    assert regression._merge_starts(_runs("a", "b")).failure is not None
    assert regression._merge_starts(_runs("a", "a", failure="bad")).failure == "bad"


@pytest.mark.parametrize(
    ("design", "options"),
    [
        (COMPRESSOR, "--tests soak --seed 2 --packets 9"),
        (
            CodecDesign("compressor", CodecConfig(Format(8, 32, 2, (0, 9)), 4, True, True), init=False),
            "--lanes 4 --runtime-values --pipelined --word-bits 8 --code-bits 2 --values 0x0 0x9 --no-init "
            "--tests soak --seed 2 --packets 9",
        ),
        (
            EngineDesign(EngineConfig(Format(8, values=(7,)), registers=False, alignment="word")),
            "--alignment word --no-registers --word-bits 8 --tests soak --seed 2 --transfers 9",
        ),
    ],
)
def test_replay(design: Design, options: str) -> None:
    assert replay_command(design, "soak", 2, 9) == f"cdma verify {design.block} {options}"
