"""``cdma tune``: the front, the chosen design for ``generate``, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.app import main
from cdma.app import parser as command
from cdma.options import engine_config_from
from cdma.sim.codec import native

SEARCH = ["tune", "hardware", "--network", "alexnet", "--sampler", "random", "--trials", "12"]


def test_the_chosen_design_is_one_that_generate_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache, chosen, plot = tmp_path / "kept.jsonl", tmp_path / "engine.toml", tmp_path / "front.svg"
    asked = [*SEARCH, "--cache", str(cache), "-o", str(chosen), "--plot", str(plot), "--json"]
    assert main(asked) == 0
    rows = json.loads(capsys.readouterr().out)
    (row,) = [row for row in rows if row["chosen"]]
    config = engine_config_from(
        command().parse_args(["generate", "engine", "--config", str(chosen), "-o", "x"])
    )
    assert (config.lanes, config.units, config.queue) == (row["lanes"], row["units"], row["queue"])
    assert config.dev_data_bits == 32 * config.lanes
    assert plot.read_text().startswith("<svg")
    kept = cache.read_text()
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out) == rows
    assert cache.read_text() == kept


def test_jobs_behind_a_command_choose_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    few = [*SEARCH[:-1], "3", "--json", "--jobs", "2"]
    assert main(few) == 0
    rows = json.loads(capsys.readouterr().out)
    assert main([*few, "--submit", "env TUNED=1"]) == 0
    assert json.loads(capsys.readouterr().out) == rows


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--area", "1"], "designs has at most 1 kGE"),
        (["--trials", "0"], "trials is 0; it must be more than 0"),
        (["--jobs", "0"], "jobs is 0; it must be 1 or more"),
        (["--dask", "tcp://a:1", "--submit", "env"], "two ways to spread work; give one"),
        (["-o", "engine.txt"], ".toml"),
    ],
)
def test_refusals(more: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SEARCH, *more]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not native.installed(), reason="the kernels in C are not built")
def test_threads_and_chunks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "software", "--size", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["seconds"] == min(row["seconds"] for row in rows)
    assert {row["chunk_KB"] for row in rows} >= {32, 1024, 16384}
