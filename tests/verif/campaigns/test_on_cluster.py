"""Regressions and soaks on a Dask cluster: what comes back is what this machine finds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import chain, repeat
from pathlib import Path

import pytest

from cdma import CodecConfig, Format
from cdma.app import main
from cdma.base.spread import Lost
from cdma.verif.campaigns import campaign
from cdma.verif.campaigns.on_cluster import verify_on_cluster
from cdma.verif.campaigns.soak import soak as soaks
from cdma.verif.campaigns.soak.soak import Case
from cdma.verif.regression import Regression, verify
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.dask_cluster import local_cluster

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

    monkeypatch.setattr(campaign, "spread", lost)
    assert main(["verify", "compressor", "--tests", "lengths", "--dask", "tcp://a:1", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["tests"]
    assert row["failure"] == "the run was lost: its worker died"
