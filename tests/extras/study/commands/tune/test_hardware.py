"""``cdma study tune hardware``: the front, the chosen design for ``generate``, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.app import main
from cdma.app import parser as command
from cdma.options import engine_config_from
from cdma.study.tuner import search
from tests.support.commands import Refused, Shown

SEARCH = ["study", "tune", "hardware", "--network", "alexnet", "--sampler", "random", "--trials", "12"]


def test_the_chosen_design_is_one_that_generate_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache, chosen = tmp_path / "kept.jsonl", tmp_path / "engine.toml"
    asked = [*SEARCH, "--cache", str(cache), "-o", str(chosen), "--json"]
    assert main(asked) == 0
    rows = json.loads(capsys.readouterr().out)
    (row,) = [row for row in rows if row["chosen"]]
    config = engine_config_from(
        command().parse_args(["generate", "engine", "--config", str(chosen), "-o", "x"])
    )
    assert (config.lanes, config.units, config.queue) == (row["lanes"], row["units"], row["queue"])
    assert config.dev_data_bits == 32 * config.lanes
    assert {row["sampler"] for row in rows} == {"random"}
    assert "; sampler random." in chosen.read_text()
    kept = cache.read_text()
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out) == rows
    assert cache.read_text() == kept


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--area", "1"], "designs has at most 1 kGE"),
        (["--trials", "0"], "trials is 0; it must be more than 0"),
        (["--jobs", "0"], "jobs is 0; it must be 1 or more"),
        (["-o", "engine.txt"], ".toml"),
    ],
)
def test_refusals(more: list[str], message: str, refused: Refused) -> None:
    assert message in refused(*SEARCH, *more)


def test_the_sampler_is_printed(monkeypatch: pytest.MonkeyPatch, shown: Shown) -> None:
    """Without a choice it is what ``auto`` stands for."""
    monkeypatch.setattr(search, "sampler_named", lambda name: {"auto": "random"}[name])
    assert shown(*SEARCH[:5], *SEARCH[7:]).splitlines()[-1] == "sampler random"
