"""``cdma study tune software``: the settings that were timed, the one to apply, evaluations kept, samplers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import cdma
from cdma.app import main
from cdma.base.toml_table import read_toml
from cdma.sim.codec import software
from cdma.study.compare.launches import Launch, Timed, Workload, launch_space
from tests.support.commands import Refused, Shown

pytestmark = pytest.mark.skipif(not software.installed(), reason="the kernels in C are not built")

SMALL = ["study", "tune", "software", "--size", "1", "--json"]


def test_all_settings(shown: Shown) -> None:
    rows = json.loads(shown(*SMALL, "--sampler", "grid"))
    assert {Launch(row["threads"], row["chunk_KB"]) for row in rows} == set(launch_space())
    assert [row["chosen"] for row in rows] == [True, *[False] * (len(rows) - 1)]
    assert rows[0]["seconds"] == min(row["seconds"] for row in rows)
    assert {row["sampler"] for row in rows} == {"grid"}


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


def test_the_best_setting_is_printed_with_its_sampler(monkeypatch: pytest.MonkeyPatch, shown: Shown) -> None:
    monkeypatch.setattr(Workload, "timed", lambda self, launch: Timed(launch.threads + launch.chunk_KB / 32))
    assert shown(*SMALL[:-1], "--sampler", "grid").splitlines()[-1] == (
        f"sampler grid: of {len(list(launch_space()))} settings that were timed the best is "
        "cdma.compress(array, threads=2, chunk_bytes=32768)"
    )


def test_samplers_compared_with_all_settings(monkeypatch: pytest.MonkeyPatch, shown: Shown) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setattr(Workload, "timed", lambda self, launch: Timed(launch.threads + launch.chunk_KB / 32))
    found = json.loads(shown(*SMALL, "--compare", "--sampler", "tpe"))
    assert [one["sampler"] for one in found["compared"]] == ["tpe", "random"]
    assert len(found["rows"]) == len(list(launch_space()))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--size", "0"], "size must be 1 to 1000 MB"),
        (["--trials", "0"], "trials is 0; it must be more than 0"),
        (["-o", "best.txt"], ".toml"),
    ],
)
def test_refusals(more: list[str], message: str, refused: Refused) -> None:
    assert message in refused(*SMALL, *more)
