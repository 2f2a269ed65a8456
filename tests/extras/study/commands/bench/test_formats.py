"""``cdma study bench formats``: rows of every tensor and codec, and samples of a training of one's own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cdma.study.training import transformer
from tests.support.commands import Printed, Refused, Shown


def test_rows_and_table(shown: Shown, printed: Printed) -> None:
    rows = printed("study", "bench", "formats")
    assert all({"data", "codec", "ratio"} <= set(row) for row in rows)
    title, rule, *lines = shown("study", "bench", "formats", "--markdown").splitlines()
    assert title.startswith("| data | density | zvc32 | zvc16 | zvc8 | bf16 |")
    assert len(lines) == len({(row["data"], row["number_type"]) for row in rows})
    assert all(line.count("|") == rule.count("|") for line in lines)


def test_samples_of_a_training_are_kept_and_read(
    tmp_path: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training itself is in tests/extras/study/training/test_train.py."""
    asked: list[dict[str, Any]] = []

    def trained(**given: Any) -> SimpleNamespace:
        asked.append(given)
        return SimpleNamespace(samples={"mine": np.arange(4096, dtype=np.uint16)})

    monkeypatch.setattr(transformer, "train_transformer", trained)
    samples = tmp_path / "mine.npz"
    found = printed("study", "bench", "formats", "--train", str(samples), "--epochs", "1")
    assert (asked[0]["epochs"], "seed" in asked[0]) == (1, False)
    assert "mine" in {row["data"] for row in found}
    assert printed("study", "bench", "formats", "--samples", str(samples)) == found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "2"], "--seed is given without --train, which it is for"),
        (["--samples", "none.npz"], "cannot read none.npz: No such file or directory"),
    ],
)
def test_refusals(options: list[str], message: str, refused: Refused) -> None:
    assert message in refused("study", "bench", "formats", *options)
