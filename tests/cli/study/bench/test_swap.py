"""``cdma bench swap``: rows by policy, losses that must agree, and what is refused."""

from __future__ import annotations

import json

import pytest

from cdma.app import main

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")


def test_rows_show_what_each_policy_moves(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "swap", "--batch", "4", "--rounds", "1", "--json"]
    assert main([*command, "--policies", "vdnn_all", "cdma", "lms"]) == 0
    rows = {row["policy"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["plain", "vdnn_all", "cdma", "lms"]
    assert rows["plain"]["moved"] is None
    assert rows["plain"]["slower"] == 1
    assert rows["vdnn_all"]["ratio"] == 1
    assert rows["cdma"]["ratio"] > 1.5
    assert rows["cdma"]["moved"] * rows["cdma"]["ratio"] == pytest.approx(rows["vdnn_all"]["moved"], rel=0.01)
    assert 0 < rows["lms"]["moved"] < rows["vdnn_all"]["moved"]


def test_the_command_names_the_policies_that_there_are() -> None:
    from cdma.sim.study.training.swap_bench import POLICIES
    from cdma.study.bench.swap import POLICY_NAMES

    assert list(POLICIES) == list(POLICY_NAMES)


def test_a_loss_that_differs_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from cdma.sim.torch.offload.packing import Packing

    unpack = Packing.unpack

    def wrong(self: Packing, stream: torch.Tensor, *rest: object) -> torch.Tensor:
        # Positions of a pooling must stay within its input.
        flat = unpack(self, stream, *rest)
        return flat * 2 if flat.is_floating_point() else flat

    monkeypatch.setattr(Packing, "unpack", wrong)
    assert main(["bench", "swap", "--batch", "4", "--rounds", "1", "--policies", "cdma"]) == 2
    assert "cdma made the loss of vgg in step 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--networks", "lenet"], "network is 'lenet'; it must be one of"),
        (["--link", "0"], "link is 0 GB/s"),
        (["--batch", "0"], "batch is 0"),
    ],
)
def test_what_cannot_be_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "swap", *arguments]) == 2
    assert message in capsys.readouterr().err
