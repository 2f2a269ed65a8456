"""Fractals: the same again, of kinds that differ, and learnt by the networks as the digits are."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from torch import nn  # noqa: E402

from cdma.app import main  # noqa: E402
from cdma.base.errors import ParameterError  # noqa: E402
from cdma.study.system.density_table import load_densities  # noqa: E402
from cdma.study.training.watching import Watching  # noqa: E402
from cdma.torch.networks.task import Fractals  # noqa: E402
from tests.support.commands import Refused  # noqa: E402

FEW = Fractals(categories=3, images=4, side=32)


def test_there_are_as_many_of_each_kind() -> None:
    images, kinds = FEW.draw()
    assert images.shape == (12, 1, 32, 32)
    assert images.dtype == torch.uint8
    assert kinds.bincount().tolist() == [4, 4, 4]
    filled = (images > 0).float().mean((1, 2, 3))
    assert filled.min() > 0.02
    assert filled.max() < 0.98


def test_they_are_the_same_again_and_others_with_another_seed() -> None:
    first, again = FEW.draw(), Fractals(categories=3, images=4, side=32).draw()
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], Fractals(categories=3, images=4, side=32, seed=2).draw()[0])


def test_two_of_a_kind_are_more_alike_than_two_of_different_kinds() -> None:
    """Of how much is filled, which mirroring leaves as it is."""
    images, kinds = Fractals(categories=12, images=12, side=32, seed=3).draw()
    filled = (images > 0).float().mean((1, 2, 3))
    within = torch.stack([filled[kinds == kind].var() for kind in range(12)]).mean()
    means = torch.stack([filled[kinds == kind].mean() for kind in range(12)])
    assert means.var() > 2 * within


def test_refusals(refused: Refused) -> None:
    with pytest.raises(ParameterError, match="side is 8"):
        Fractals(side=8)
    train = ["study", "characterise", "--train", "never"]
    for options, says in (
        (["--kinds", "3"], "--kinds is given without fractals"),
        (["--images", "fractals", "--kinds", "1"], "categories is 1"),
        (["--images", "fractals", "--device", "tpu"], "device is 'tpu'"),
        (
            ["--images", "fractals", "--kinds", "2", "--of-each", "2"],
            "batch is 64; there are 4 training images",
        ),
        (
            ["--images", "fractals", "--kinds", "2", "--of-each", "40", "--networks", "vgg16"],
            "network is 'vgg16'",
        ),
    ):
        assert says in refused(*train, *options)
    assert "--images is given without --train" in refused("study", "characterise", "--images", "fractals")


@pytest.mark.slow
def test_networks_learn_them(tmp_path, capsys) -> None:
    options = ["--images", "fractals", "--kinds", "2", "--of-each", "40", "--batch", "24", "--epochs", "2"]
    options += ["--probe", "2", "--points", "2", "--networks", "vgg", "--json"]
    assert main(["study", "characterise", "--train", str(tmp_path / "made"), *options]) == 0
    capsys.readouterr()
    record = json.loads((tmp_path / "made" / "densities.json").read_text())
    assert record["data"] == "fractals of 2 kinds, 72 training images of 32 x 32, seed 1"
    assert record["schedule"]["images"] == 72
    assert record["networks"]["vgg"]["accuracy"] is not None
    assert load_densities(tmp_path / "made" / "densities.json").networks["vgg"][0].shape == (16, 32, 32)


class _Functions(nn.Module):
    """Calls functions, and a module twice."""

    def __init__(self) -> None:
        super().__init__()
        self.relu, self.inner = nn.ReLU(inplace=True), nn.Sequential(nn.MaxPool2d(2))

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        image = self.relu(image - 0.5)
        image = self.relu(image - 0.1)
        return self.inner(nn.functional.relu(torch.nn.functional.max_pool2d(image, 2), inplace=True).relu())


def test_functions_are_seen_as_modules_are() -> None:
    model = _Functions()
    image = torch.rand(1, 1, 8, 8)
    with Watching(model) as seen, torch.no_grad():
        model(image)
    assert list(seen.activations) == ["relu", "relu.2", "", ".2", ".3", "inner.0"]
    assert list(seen.kinds.values()) == ["relu", "relu", "pool", "relu", "relu", "pool"]
    assert torch.equal(torch.from_numpy(seen.activations["relu"]), (image - 0.5).relu())
    assert seen.activations["inner.0"].shape == (1, 1, 2, 2)
    assert not model.relu._forward_hooks
