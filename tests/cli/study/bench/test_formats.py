"""``cdma bench formats``: rows of every tensor and codec, and samples of a training of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdma.app import main

pytest.importorskip("lz4")
pytest.importorskip("zstandard")


def test_rows_and_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "formats", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all({"data", "codec", "ratio"} <= set(row) for row in rows)
    assert main(["bench", "formats", "--markdown"]) == 0
    title, rule, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("| data | density | zvc32 | zvc16 | zvc8 | bf16 |")
    assert len(lines) == len({(row["data"], row["number_type"]) for row in rows})
    assert all(line.count("|") == rule.count("|") for line in lines)


@pytest.mark.slow
def test_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    samples = tmp_path / "mine.npz"
    assert main(["bench", "formats", "--train", str(samples), "--epochs", "1", "--json"]) == 0
    trained = json.loads(capsys.readouterr().out)
    assert main(["bench", "formats", "--samples", str(samples), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == trained


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "2"], "--seed is given without --train, which it is for"),
        (["--samples", "none.npz"], "cannot read none.npz: No such file or directory"),
    ],
)
def test_refusals(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "formats", *options]) == 2
    assert message in capsys.readouterr().err
