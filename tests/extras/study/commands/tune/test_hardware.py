"""``cdma study tune hardware``: the front, the chosen design for ``generate``, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cdma.app import main
from cdma.app import parser as command
from cdma.options import engine_config_from
from cdma.study.system import designs
from cdma.study.system.designs import Design
from cdma.study.tuner import search
from cdma.study.tuner.search import Space
from tests.support.commands import Refused, Shown

FIXED = {
    "word_bits": (32,),
    "window": (32,),
    "code_bits": (1,),
    "queue": (2,),
    "outstanding": (16,),
    "read_buffer_beats": (512,),
}
SEARCH = ["study", "tune", "hardware", "--network", "alexnet", "--sampler", "random", "--trials", "12"]


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


def test_samplers_compared_with_all_designs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna")
    few = Space(Design, {**FIXED, "lanes": (2, 4, 8, 16), "units": (1, 2, 4)})
    monkeypatch.setattr(designs, "design_space", lambda model: few)
    asked = [*SEARCH, "--compare", "--json"]
    assert main(asked) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["sampler"] for one in shown["compared"]] == ["tpe", "random"]
    assert all(len(one["evaluations"]) == 10 and one["choices"] == 12 for one in shown["compared"])
    assert {row["sampler"] for row in shown["rows"]} == {"grid"}
    assert main(asked[:-1]) == 0
    assert re.match(
        r"tpe: within 1 % of the best of 12 choices after [\d.]+ evaluations in", capsys.readouterr().out
    )
