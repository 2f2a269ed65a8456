"""``cdma study characterise``: tables, JSON, figures, records and refusals."""

import json
import re

import pytest

from cdma.app import main
from cdma.study.training import record
from cdma.study.training.observations import load_ratios
from cdma.study.training.record import RECORDS
from tests.support.paths import DATA, DOCS


def test_json(printed):
    report = printed("study", "characterise")
    assert len(report["tensors"]) == len(load_ratios())
    assert {entry["observation"] for entry in report["observations"]} == {1, 2, 3, 4}


def test_the_document_has_tables_that_the_command_prints(shown):
    printed = shown("study", "characterise", "--markdown").splitlines()
    document = (DOCS / "study" / "characterisation.md").read_text(encoding="utf-8")
    measured = re.sub(
        r"^## What density depends on$.*?(?=^## )", "", document, flags=re.MULTILINE | re.DOTALL
    )
    rows = [line for line in measured.splitlines() if line.startswith("|")]
    assert len(rows) >= 17
    assert [line for line in rows if line not in printed] == []


def test_other_records(tmp_path, refused):
    assert f"cannot read {tmp_path / 'densities.json'}" in refused(
        "study", "characterise", "--records", str(tmp_path)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epochs", "3"], "--epochs is given without --train, which it is for"),
        (["--learning-rate", "1e-3"], "--learning-rate is given without --train, which it is for"),
        (["--train", "x", "--learning-rate", "0"], "learning_rate is 0.0; it must be more than 0"),
        (["--weights"], "--weights is given without --train, which it is for"),
        (["--networks", "vgg"], "--networks is given without --train, which it is for"),
        (
            ["--records", "x", "--train", "y"],
            "--records and --train are given; records are either read or made",
        ),
    ],
)
def test_refusals(options, message, refused):
    assert message in refused("study", "characterise", *options)


def test_the_document_shows_the_figures_that_the_command_draws(tmp_path):
    assert main(["study", "characterise", "--figures", str(tmp_path)]) == 0
    drawn = {path.name for path in tmp_path.iterdir()}
    assert len(drawn) == 7
    assert drawn <= {path.name for path in (DOCS / "figures").iterdir()}
    text = (DOCS / "study" / "characterisation.md").read_text(encoding="utf-8")
    assert all(f"figures/{name}" in text for name in drawn)


def test_options_of_the_training_arrive_and_its_records_are_read(tmp_path, capsys, monkeypatch):
    """The training itself is in tests/extras/study/training/test_train.py."""
    asked = []

    def made(schedule, networks, progress, task, weights):
        assert task is None
        asked.append((schedule.epochs, schedule.seed, schedule.learning_rate, networks, weights))
        return {name: (DATA / name).read_bytes() for name in RECORDS}

    monkeypatch.setattr(record, "record", made)
    options = ["--networks", "alexnet", "--epochs", "1", "--seed", "3", "--learning-rate", "1e-3"]
    assert main(["study", "characterise", "--train", str(tmp_path), *options, "--weights", "--json"]) == 0
    assert asked == [(1, 3, 1e-3, ["alexnet"], True)]
    assert len(json.loads(capsys.readouterr().out)["tensors"]) == len(load_ratios())
    assert {path.name for path in tmp_path.iterdir()} == set(RECORDS)


def test_refuses_an_unknown_network(tmp_path, refused):
    assert "network is 'lenet'" in refused(
        "study", "characterise", "--train", str(tmp_path / "new"), "--networks", "lenet"
    )
    assert not (tmp_path / "new").exists()
