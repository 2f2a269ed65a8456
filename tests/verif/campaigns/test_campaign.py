"""The frame of campaigns: what is kept is not run again, and what is lost ends the campaign or stands for a result.
Regressions and soaks on a Dask cluster: what comes back is what this machine finds. The regression's own rules: nothing
passes by running nothing, plans name what there is, lots are even.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import chain, count, repeat
from pathlib import Path

import pytest

from cdma import CodecConfig, Format, ParameterError
from cdma.app import main
from cdma.base.errors import CdmaError, ToolError
from cdma.base.spread import Lost
from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.campaigns import regression
from cdma.verif.campaigns.regression import (
    Campaign,
    Regression,
    plan_of,
    replay_command,
    verify,
    verify_on_cluster,
)
from cdma.verif.campaigns.soak import soak as soaks
from cdma.verif.campaigns.soak.soak import Case
from cdma.verif.engine.design import ENGINE_PLAN, SMALL, EngineDesign
from cdma.verif.simulator.plan import TestPlan
from cdma.verif.simulator.simulate import Design, Outcome
from cdma.verif.stream.codec.design import CODEC_PLAN, CodecDesign
from cdma.verif.stream.stage.design import STAGE_PLAN
from tests.support.patience import own_cache
from tests.support.wheel import local_cluster


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache(tmp_path, monkeypatch)


def _campaign(ran: list[int], prepared: list[list[int]]) -> Campaign[int]:
    def double(part: int) -> int:
        if part == 13:
            raise ToolError("no such part")
        ran.append(part)
        return 2 * part

    return Campaign(
        "numbers", double, key=lambda part: [str(part)], prepare=lambda parts: prepared.append(list(parts))
    )


def test_kept_parts_come_first_and_are_not_run_again() -> None:
    ran: list[int] = []
    prepared: list[list[int]] = []
    numbers = _campaign(ran, prepared)
    assert dict(numbers.results([1, 2], jobs=2)) == {1: 2, 2: 4}
    assert list(numbers.results([3, 2, 1])) == [(2, 4), (1, 2), (3, 6)]
    assert (sorted(ran), prepared) == ([1, 2, 3], [[1, 2], [3]])
    assert dict(numbers.results([1])) == {1: 2}
    assert len(prepared) == 2


def test_kept_parts_are_of_the_benches_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    for benches in ("old", "old", "new"):
        monkeypatch.setattr(regression, "_benches_key", lambda benches=benches: benches)
        list(_campaign(ran, []).results([1]))
    assert ran == [1, 1]


def test_the_benches_are_sources_of_every_kind() -> None:
    root = Path(regression.__file__).parents[2]
    found = {
        path.suffix
        for name in regression._BENCHES
        for kind in regression._SOURCES
        for path in (root / name).rglob(kind)
    }
    assert found == {".py", ".cpp", ".sv"}


def test_a_part_that_is_lost_ends_the_campaign_and_leaves_the_others_kept() -> None:
    ran: list[int] = []
    numbers = _campaign(ran, [])
    with pytest.raises(CdmaError, match="13 was lost: no such part"):
        list(numbers.results([1, 13]))
    assert dict(numbers.results([1])) == {1: 2}
    assert ran == [1]


def test_without_a_key_there_is_no_end_of_parts() -> None:
    def halve(part: int) -> int:
        if part % 2:
            raise ToolError("odd")
        return part // 2

    halves: Campaign[int] = Campaign("halves", halve, lost=lambda part, reason: f"{part} is {reason}")
    results = halves.results(count(4))
    assert [next(results) for _ in range(3)] == [(4, 2), (5, "5 is odd"), (6, 3)]
    results.close()


TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))
TESTS = ["lengths", "patience"]


def _counted(result: Regression) -> list[tuple[str, str | None, int, int]]:
    return [(each.test, each.failure, each.packets, each.checks) for each in result.outcomes]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    with local_cluster() as cluster:
        yield cluster.scheduler_address


@pytest.mark.verilator
@pytest.mark.slow
def test_a_regression(scheduler: str) -> None:
    result = verify_on_cluster(TINY, scheduler, tests=TESTS, packets=5)
    assert result.passed
    assert _counted(result) == _counted(verify(TINY, tests=TESTS, packets=5))


@pytest.mark.verilator
@pytest.mark.slow
def test_a_soak(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soaks, "case_of", lambda seed, number: Case(number, TINY, ("lengths",), number, 5))
    log = tmp_path / "log.jsonl"
    plain = soaks.soak

    def numbers_run(looks: int) -> list[int]:
        """The numbers in the log after a soak that looks so many times whether to begin a case."""
        times = chain(repeat(0.0, 1 + looks), repeat(1e9))
        monkeypatch.setattr(soaks, "soak", partial(plain, clock=lambda: next(times)))
        assert main(["soak", "--dask", scheduler, "--log", str(log), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["cases"] == 1
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        assert all(row["seed"] == 1 and row["passed"] for row in rows)
        return [row["case"] for row in rows]

    assert numbers_run(1) == [1]
    # What the log has is not run again.
    assert numbers_run(2) == [1, 2]


@pytest.mark.slow
def test_a_test_whose_job_is_lost_has_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(function: object, items: Iterator[object], **options: object) -> Iterator[tuple[int, Lost]]:
        for index, _ in enumerate(items):
            yield index, Lost("its worker died")

    monkeypatch.setattr(regression, "spread", lost)
    assert main(["verify", "compressor", "--tests", "lengths", "--dask", "tcp://a:1", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["tests"]
    assert row["failure"] == "the run was lost: its worker died"


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
