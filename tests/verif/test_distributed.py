"""Regressions and soaks behind a command prefix and on a Dask cluster: what comes back is what this machine finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma import CodecConfig, Format
from cdma.app import main
from cdma.verif.campaigns.soak import soak as soaks
from cdma.verif.campaigns.soak.soak import Case
from cdma.verif.distributed import verify_elsewhere
from cdma.verif.regression import Regression, verify
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.dask_cluster import local_cluster

pytestmark = [pytest.mark.verilator, pytest.mark.slow]

TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))
TESTS = ["lengths", "patience"]


def _counted(result: Regression) -> list[tuple[str, str | None, int, int]]:
    return [(each.test, each.failure, each.packets, each.checks) for each in result.outcomes]


@pytest.fixture(scope="module")
def here() -> list[tuple[str, str | None, int, int]]:
    return _counted(verify(TINY, tests=TESTS, packets=5))


def test_behind_a_prefix(here: list[tuple[str, str | None, int, int]]) -> None:
    result = verify_elsewhere(TINY, tests=TESTS, packets=5, jobs=2, submit="env")
    assert result.passed
    assert _counted(result) == here


def test_on_a_cluster(here: list[tuple[str, str | None, int, int]]) -> None:
    with local_cluster() as cluster:
        result = verify_elsewhere(TINY, tests=TESTS, packets=5, scheduler=cluster.scheduler_address)
    assert _counted(result) == here


def test_a_test_whose_job_is_lost_has_failed(capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "verify",
        "compressor",
        "--lanes",
        "2",
        "--word-bits",
        "8",
        "--window",
        "8",
        "--tests",
        "lengths",
    ]
    assert main([*command, "--submit", "false", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["tests"]
    assert row["failure"].startswith("the run was lost: its command ended with status 1")


def test_a_soak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(soaks, "case_of", lambda seed, number: Case(number, TINY, ("lengths",), number, 5))
    log = tmp_path / "log.jsonl"
    command = ["soak", "--minutes", "1e-9", "--submit", "env", "--log", str(log), "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["cases"] == 1
    # What the log has is not run again.
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["cases"] == 0
    (row,) = map(json.loads, log.read_text().splitlines())
    assert (row["seed"], row["case"], row["passed"]) == (1, 1, True)
