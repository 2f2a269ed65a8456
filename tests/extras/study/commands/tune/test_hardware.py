"""``cdma study tune hardware``: the front, the chosen design for ``generate``, refusals. ``cdma study tune software``:
the settings that were timed, the one to apply, evaluations kept, samplers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.app import parser as command
from cdma.base.toml_table import read_toml
from cdma.options import engine_config_from
from cdma.sim.codec import software
from cdma.study.compare.launches import Launch, Timed, Workload, launch_space
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


SMALL = ["study", "tune", "software", "--size", "1", "--json"]


@pytest.mark.skipif(not software.installed(), reason="the kernels in C are not built")
def test_all_settings(shown: Shown) -> None:
    rows = json.loads(shown(*SMALL, "--sampler", "grid"))
    assert {Launch(row["threads"], row["chunk_KB"]) for row in rows} == set(launch_space())
    assert [row["chosen"] for row in rows] == [True, *[False] * (len(rows) - 1)]
    assert rows[0]["seconds"] == min(row["seconds"] for row in rows)
    assert {row["sampler"] for row in rows} == {"grid"}


@pytest.mark.skipif(not software.installed(), reason="the kernels in C are not built")
def test_a_search_goes_on_and_its_setting_can_be_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache, best = tmp_path / "kept.jsonl", tmp_path / "best.toml"
    asked = [*SMALL, "--sampler", "random", "--trials", "4", "--cache", str(cache), "-o", str(best)]
    assert main(asked) == 0
    rows = json.loads(capsys.readouterr().out)
    assert 1 <= len(rows) <= 4
    kept = cache.read_text()
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out) == rows
    assert cache.read_text() == kept
    setting = read_toml(best)
    settings = {name: setting.whole(name) for name in ("threads", "chunk_bytes")}
    setting.done()
    assert settings == Launch(rows[0]["threads"], rows[0]["chunk_KB"]).settings()
    words = np.arange(5000, dtype=np.uint32)
    assert (cdma.decompress(cdma.compress(words, **settings), 5000, **settings) == words).all()


@pytest.mark.skipif(not software.installed(), reason="the kernels in C are not built")
def test_the_best_setting_is_printed_with_its_sampler(monkeypatch: pytest.MonkeyPatch, shown: Shown) -> None:
    monkeypatch.setattr(Workload, "timed", lambda self, launch: Timed(launch.threads + launch.chunk_KB / 32))
    assert shown(*SMALL[:-1], "--sampler", "grid").splitlines()[-1] == (
        f"sampler grid: of {len(list(launch_space()))} settings that were timed the best is "
        "cdma.compress(array, threads=2, chunk_bytes=32768)"
    )


@pytest.mark.skipif(not software.installed(), reason="the kernels in C are not built")
def test_samplers_compared_with_all_settings(monkeypatch: pytest.MonkeyPatch, shown: Shown) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setattr(Workload, "timed", lambda self, launch: Timed(launch.threads + launch.chunk_KB / 32))
    found = json.loads(shown(*SMALL, "--compare", "--sampler", "tpe"))
    assert [one["sampler"] for one in found["compared"]] == ["tpe", "random"]
    assert len(found["rows"]) == len(list(launch_space()))


@pytest.mark.skipif(not software.installed(), reason="the kernels in C are not built")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--size", "0"], "size must be 1 to 1000 MB"),
        (["--trials", "0"], "trials is 0; it must be more than 0"),
        (["-o", "best.txt"], ".toml"),
    ],
)
def test_software_refusals(more: list[str], message: str, refused: Refused) -> None:
    assert message in refused(*SMALL, *more)
