"""``cdma study bench queue`` and ``formats``: their rows and tables, and samples of a training of one's own. ``cdma study
bench lossy``: rows of trainings, means and differences by seed, and a run that is continued.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cdma.app import main
from cdma.study.training import lossy, transformer
from cdma.study.training.lossy import Training, rows
from tests.support.commands import Printed, Refused, Shown


@pytest.mark.slow
def test_rows_of_every_shape_and_depth(printed: Printed) -> None:
    rows = printed("study", "bench", "queue")
    assert [(row["block"], row["word_bits"], row["lanes"], row["queue"]) for row in rows] == [
        (block, bits, 256 // bits, queue)
        for block, queues in (("compressor", (0, 1, 2)), ("decompressor", (0, 2)))
        for bits in (32, 16, 8)
        for queue in queues
    ]
    for row in rows:
        assert 0.99 <= row["activations"] <= 1
        assert row["least"] <= row["activations"]
        assert "kge" not in row
    without, one, full = rows[:3]
    assert {**without, "queue": 1} == one
    assert without["worst"] == pytest.approx(8.125 / 9, abs=0.001)
    assert rows[9]["worst"] == pytest.approx(8.125 / 9, abs=0.001)
    assert full["worst"] == pytest.approx(1, abs=0.001)
    assert without["random"]["0.95"] >= 0.99


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


pytest.importorskip("torch")
pytest.importorskip("sklearn")


def training(policy: str, seed: int, accuracy: float, network: str = "vgg") -> Training:
    return Training(network, policy, seed, 1, 2.0 * seed, 3.0, 2.5, accuracy, 0, 0.1, 0.2)


def test_differences_are_by_seed() -> None:
    found = [training("lossless", seed, 0.8 + seed / 100) for seed in (1, 2)]
    found += [training("bound", seed, 0.81 + seed / 50) for seed in (1, 2)]
    exact, bound = rows(found)
    assert (exact.difference, exact.difference_error, exact.seeds) == (0, 0, 2)
    assert bound.accuracy == pytest.approx(0.84)
    assert bound.accuracy_lossless == pytest.approx(0.815)
    assert bound.difference == pytest.approx(0.025)
    assert bound.difference_error == pytest.approx(0.005)
    assert bound.ratio_conv == 3
    (alone,) = rows(found[:1])
    assert alone.accuracy_spread is None


def test_a_run_is_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second run trains nothing that the first has trained, and a table has what the rows have."""
    asked = []

    def made_up(network: str, policy: str, seed: int, epochs: int) -> Training:
        asked.append((network, policy, seed, epochs))
        return training(policy, seed, 0.5, network)

    monkeypatch.setattr(lossy, "_train", made_up)
    file = str(tmp_path / "done.jsonl")
    options = ["--networks", "vgg", "alexnet", "--epochs", "1", "--resume", file]
    assert main(["study", "bench", "lossy", *options, "--json"]) == 0
    assert len(asked) == 10
    names = {"network", "policy", "ratio_conv", "ratio", "accuracy", "accuracy_lossless", "seeds"}
    assert all(names <= set(row) for row in json.loads(capsys.readouterr().out))
    assert main(["study", "bench", "lossy", *options, "--seeds", "2", "--markdown"]) == 0
    assert len(asked) == 20
    title, _, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("| network | policy |")
    assert len(lines) == 10


@pytest.mark.slow
@pytest.mark.thorough
def test_training_of_a_transformer(printed: Printed) -> None:
    table = {
        row["policy"]: row
        for row in printed("study", "bench", "lossy", "--networks", "transformer", "--epochs", "1")
    }
    assert set(table) == {"lossless", "bound", "comet", "momentum", "acgc"}
    for row in table.values():
        assert row["ratio_conv"] is None
        assert row["accuracy_lossless"] == table["lossless"]["accuracy"]
    assert table["bound"]["ratio"] > table["comet"]["ratio"] > table["lossless"]["ratio"] > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--networks", "lenet"], "network is 'lenet'"),
        (["--seeds", "0"], "seeds is 0"),
        (["--resume", "setup.py"], "does not hold trainings"),
    ],
)
def test_refusals_of_training(options: list[str], message: str, refused: Refused) -> None:
    assert message in refused("study", "bench", "lossy", *options)
