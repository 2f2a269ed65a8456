"""``cdma study characterise``: tables, JSON, figures, records and refusals. ``cdma study profile``: tables, JSON, pages
and refusals.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from cdma.app import main
from cdma.study.training import observations
from cdma.study.training.observations import RECORDS, load_ratios
from tests.support.paths import DATA, DOCS
from tests.support.stimuli import tensor


def test_json(printed):
    report = printed("study", "characterise")
    assert len(report["tensors"]) == len(load_ratios())
    assert {entry["observation"] for entry in report["observations"]} == {1, 2, 3, 4}


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
    drawn = list(tmp_path.iterdir())
    assert len(drawn) == 7
    text = (DOCS / "study" / "characterisation.md").read_text(encoding="utf-8")
    for path in drawn:
        assert path.read_bytes() == (DOCS / "figures" / path.name).read_bytes(), path.name
        assert f"figures/{path.name}" in text


def test_options_of_the_training_arrive_and_its_records_are_read(tmp_path, capsys, monkeypatch):
    """The training itself is in tests/extras/study/training/test_train.py."""
    asked = []

    def made(schedule, networks, progress, weights):
        asked.append((schedule.epochs, schedule.seed, schedule.learning_rate, networks, weights))
        return {name: (DATA / name).read_bytes() for name in RECORDS}

    monkeypatch.setattr(observations, "record", made)
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


class TestCommand:
    @pytest.fixture
    def path(self, tmp_path):
        folder = tmp_path / "acts"
        folder.mkdir()
        np.save(folder / "relu0.npy", tensor(0.5))
        np.save(folder / "relu1.npy", tensor(0.1))
        return folder

    def test_report(self, path, shown):
        out = " ".join(shown("study", "profile", str(path)).split())
        assert "relu0" in out
        assert " fp32 " in out
        assert "One engine for all tensors, fp32, c=2, with a table for each:" in out
        assert "Verdict: none yet: 2 of 2 tensors transfer faster compressed; whether" in out
        assert "-0.0" not in out
        out = " ".join(shown("study", "profile", str(path), "--hidden-backward", "0").split())
        assert "Verdict: offload, compress in the engine: 2 of 2 tensors are worth compressing" in out
        assert "0 ms of each offload and 0 ms of each prefetch hidden by computation." in out

    def test_what_is_no_tensor_is_left_out_of_a_folder(self, path, capsys):
        (path / "broken.npy").write_text("x")
        assert main(["study", "profile", str(path)]) == 0
        captured = capsys.readouterr()
        assert "relu1" in captured.out
        assert f"cdma: warning: cannot read {path / 'broken.npy'}" in captured.err
        for tensor_file in path.glob("relu*"):
            tensor_file.unlink()
        assert main(["study", "profile", str(path)]) == 2

    def test_json(self, path, printed):
        report = printed("study", "profile", str(path), "--link", "25", "--link-back", "20", "--units", "2")
        assert report["settings"]["link"] == 25e9
        assert report["settings"]["link_back"] == 20e9
        assert [row["name"] for row in report["tensors"]] == ["relu0", "relu1"]
        assert report["link_s"] == pytest.approx(2 * 16384 * (1 / 25e9 + 1 / 20e9))

    def test_hidden_times(self, path, tmp_path, printed, refused):
        times = tmp_path / "hidden.toml"
        times.write_text("[relu0]\nforward = 1000\nbackward = 1000\n", encoding="utf-8")
        rows = printed("study", "profile", str(path), "--hidden", str(times), "--hidden-forward", "0")[
            "tensors"
        ]
        assert [row["worth"] for row in rows] == [False, True]
        for text, message in (
            ("[relu0]\nforwards = 1\n", "has the unknown key 'forwards'; it may have backward, forward"),
            ("[relu0]\nforward = -1\n", "has forward = -1; it must be a finite number and at least 0"),
            ("[relu0]\nforward = nan\n", "has forward = nan"),
            ("[relu0]\nforward = 1\n", "but not for 'relu1' and not for all"),
            ("[relu7]\nforward = 1\n", "hidden times are given for 'relu7'"),
            ("relu0 = 1\n", "relu0 is 1; it must be a table"),
            ("", "is empty"),
        ):
            times.write_text(text, encoding="utf-8")
            assert message in refused("study", "profile", str(path), "--hidden", str(times))

    def test_minus_zeros_are_told(self, path, shown):
        np.save(path / "relu2.npy", np.full(100, -0.0, np.float32))
        assert "100 elements are -0.0" in shown("study", "profile", str(path))

    @pytest.mark.parametrize(
        "options", [["--link", "0"], ["--link", "nan"], ["--units", "1.5"], ["--hidden-forward", "-1"]]
    )
    def test_refusals(self, path, options, capsys):
        with pytest.raises(SystemExit) as stopped:
            main(["study", "profile", str(path), *options])
        assert stopped.value.code == 2
        assert f"{options[1]!r} is not a" in capsys.readouterr().err

    def test_empty_tensor(self, path, refused):
        np.save(path / "none.npy", np.zeros((0, 4), np.float32))
        assert "tensor 'none' has the shape (0, 4), and so no elements" in refused(
            "study", "profile", str(path)
        )
