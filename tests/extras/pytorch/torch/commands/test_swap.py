"""``cdma bench swap``: rows by policy, losses that must agree, and what is refused."""

from __future__ import annotations

import json
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.support.commands import Printed, Refused, Shown


def test_rows_show_what_each_policy_moves(shown: Shown) -> None:
    command = ["bench", "swap", "--batch", "4", "--rounds", "1", "--json"]
    rows = {
        row["policy"]: row for row in json.loads(shown(*command, "--policies", "vdnn_all", "cdma", "lms"))
    }
    assert list(rows) == ["plain", "vdnn_all", "cdma", "lms"]
    assert rows["plain"]["moved"] is None
    assert rows["plain"]["slower"] == 1
    assert rows["vdnn_all"]["ratio"] == rows["vdnn_all"]["speedup"] == 1
    assert rows["cdma"]["speedup"] == pytest.approx(rows["vdnn_all"]["ms"] / rows["cdma"]["ms"])
    assert all(row["same"] and row["card"] == "cpu" for row in rows.values())
    assert all(row["tools"]["torch"] == torch.__version__ for row in rows.values())
    assert rows["cdma"]["ratio"] > 1.5
    assert rows["cdma"]["moved"] * rows["cdma"]["ratio"] == pytest.approx(rows["vdnn_all"]["moved"], rel=0.01)
    assert 0 < rows["lms"]["moved"] < rows["vdnn_all"]["moved"]


def test_the_command_names_what_there_is() -> None:
    from cdma.torch.bench.swap_bench import POLICIES
    from cdma.torch.commands.swap import FULL_SIZE_NAMES, POLICY_NAMES, TOKEN_NAMES
    from cdma.torch.networks.networks import FULL_SIZE, GPT2

    assert list(POLICIES) == list(POLICY_NAMES)
    assert list(FULL_SIZE) == list(FULL_SIZE_NAMES)
    assert list(TOKEN_NAMES) == [GPT2]


FULL_SIZE = ["bench", "swap", "--networks", "squeezenet224", "--batch", "1", "--rounds", "1"]


def _small(**settings: object) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 9, stride=8),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * 27 * 27, 1000),
    )


def test_networks_in_their_own_size_are_those_of_torchvision(
    monkeypatch: pytest.MonkeyPatch, printed: Printed
) -> None:
    """Their numbers of 16 bits by autocast, and no digits: these are in another package."""
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "torchvision.models", SimpleNamespace(squeezenet1_0=_small))
    monkeypatch.setitem(sys.modules, "sklearn", None)
    command = [*FULL_SIZE, "--precision", "bf16", "--policies", "vdnn_all", "cdma"]
    rows = printed(*command)
    assert [(row["policy"], row["precision"], row["same"]) for row in rows] == [
        ("plain", "bf16", True),
        ("vdnn_all", "bf16", True),
        ("cdma", "bf16", True),
    ]
    assert 0 < rows[2]["moved"] < rows[1]["moved"]


def test_without_torchvision_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    assert "squeezenet1_0 is built by the package torchvision" in refused(*FULL_SIZE)


def test_the_largest_batch_is_the_last_that_fits(printed: Printed) -> None:
    """Two MiB of what the small VGG keeps, which is that of a batch of 16, and not of 24."""
    command = ["bench", "swap", "--rounds", "1", "--policies", "vdnn_all", "--link", "100"]
    rows = printed(*command, "--batch", "8", "max", "--memory", "0.009")
    small, large = rows[1], rows[3]
    assert (small["batch"], large["batch"] % 8) == (8, 0)
    kept = small["moved"] / 8
    assert large["batch"] * kept <= 0.009 * 2**30 < (large["batch"] + 16) * kept
    for row in rows:
        assert row["images_per_second"] == pytest.approx(row["batch"] / row["ms"] * 1e3)


def test_weights_are_those_that_were_trained(tmp_path: Path, printed: Printed) -> None:
    from cdma.torch.bench.swap_bench import SwapTraining
    from cdma.torch.bench.swap_training import SwapBench

    weights = SwapTraining("vgg", SwapBench(batch=8, seed=7)).model.state_dict()
    torch.save(weights, tmp_path / "vgg.pt")
    bench = SwapBench(batch=8, weights=tmp_path)
    found = SwapTraining("vgg", bench).model.state_dict()
    assert all(torch.equal(found[name], each) for name, each in weights.items())


def test_what_the_card_has_no_memory_for_has_a_row_without_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from cdma.torch.bench import swap_bench
    from cdma.torch.bench.swap_training import SwapBench

    class OnCard(SwapBench):
        on_card = True

    def trained(network: str, group: list[str], bench: SwapBench) -> object:
        if group == ["plain"]:
            raise torch.OutOfMemoryError
        return [({"policy": group[0], "ms": 5.0 * len(group[0])}, [1.0])]

    monkeypatch.setattr(swap_bench, "_trained", trained)
    monkeypatch.setattr(swap_bench, "ready_card", lambda bench: None)
    monkeypatch.setattr(swap_bench, "where", lambda card: {"card": "one", "tools": {}})
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    plain, raw, compressed = swap_bench.swap_rows("vgg", ["vdnn_all", "cdma"], OnCard(batch=4))
    assert (plain["policy"], plain["ms"], plain["same"], plain["images_per_second"]) == (
        "plain",
        *3 * [None],
    )
    assert (raw["slower"], raw["speedup"], raw["same"]) == (None, 1, True)
    assert (compressed["speedup"], compressed["images_per_second"]) == (2.0, 200.0)


def test_mobilenet_is_the_one_of_the_table() -> None:
    from cdma.study.system.networks import load_network
    from cdma.torch.networks.networks import mobilenet

    with torch.device("meta"):
        found = mobilenet()
    convolutions = [each for each in found if isinstance(each, torch.nn.Conv2d)]
    table = [layer for layer in load_network("mobilenet").layers if layer.kind == "conv"]
    assert [each.out_channels for each in convolutions] == [layer.shape[0] for layer in table]
    assert sum(each.numel() for each in found.parameters()) == 4_231_976


def test_a_loss_that_differs_is_an_error(monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    from cdma.torch.coded import Codec

    unpack = Codec.unpack

    def wrong(self: Codec, packed: Any) -> torch.Tensor:
        # Positions of a pooling must stay within its input.
        made = unpack(self, packed)
        return (made.view(torch.float32) * 2).view(torch.uint8) if packed.format.word_bits == 32 else made

    monkeypatch.setattr(Codec, "unpack", wrong)
    assert "cdma made the loss of vgg in step 1" in refused(
        "bench", "swap", "--batch", "4", "--rounds", "1", "--policies", "cdma"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--networks", "lenet"], "network is 'lenet'; it must be one of"),
        (["--link", "0"], "link is 0 GB/s"),
        (["--batch", "0"], "batch is 0"),
        (["--batch", "1501"], "batch is 1501"),
        (["--batch", "max"], "batch is max, and no GPU is full on a processor: give --memory"),
        (["--memory", "1"], "memory is given without --batch max"),
        (["--batch", "max", "--memory", "0"], "memory is 0"),
        (["--batch", "max", "--memory", "0.00001"], "a step with a batch of 8, the smallest, takes"),
        (
            ["--weights", "nowhere"],
            "nowhere has no vgg.pt: cdma study characterise --train nowhere --weights writes those of",
        ),
        (["--precision", "tf32"], "precision is tf32, which only GPUs have"),
    ],
)
def test_impossible_options_are_refused(arguments: list[str], message: str, refused: Refused) -> None:
    assert message in refused("bench", "swap", *arguments)


def test_nothing_is_said_of_losses_where_plain_training_has_others_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from cdma.torch.bench import swap_bench
    from cdma.torch.bench.swap_training import SwapBench

    bench = SwapBench(device="cuda")
    monkeypatch.setattr(swap_bench, "_trained", lambda *_: [({}, [2.0, 2.5])])
    assert swap_bench._are_same("cdma", "vgg", [1.0, 3.0], [1.0, 3.0], "plain", bench) is True
    assert swap_bench._are_same("cdma", "vgg", [1.0, 4.0], [1.0, 3.0], "plain", bench) is None
    monkeypatch.setattr(swap_bench, "_trained", lambda *_: [({}, [1.0, 3.0])])
    with pytest.raises(swap_bench.WrongLoss, match=r"in step 1 4\.0; plain training has 3\.0"):
        swap_bench._are_same("cdma", "vgg", [1.0, 4.0], [1.0, 3.0], "plain", bench)


@pytest.mark.slow
def test_on_a_card_one_model_is_there_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor is taken for a GPU, whose models lie one after the other in its memory."""
    from cdma.torch.bench import swap_bench
    from cdma.torch.bench.swap_training import SwapBench

    class OnCard(SwapBench):
        on_card = True

    models: list[weakref.ref[torch.nn.Module]] = []

    class Noted(swap_bench._Run):
        def __init__(self, *arguments: object) -> None:
            assert all(model() is None for model in models)
            super().__init__(*arguments)
            models.append(weakref.ref(self.training.model))

    monkeypatch.setattr(swap_bench, "_Run", Noted)
    monkeypatch.setattr(swap_bench, "where", lambda card: {"card": "one", "tools": {}})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for name in ("synchronize", "reset_peak_memory_stats", "empty_cache", "max_memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda: 7)
    for name in ("deterministic", "allow_tf32"):
        monkeypatch.setattr(torch.backends.cudnn, name, getattr(torch.backends.cudnn, name))
    rows = list(swap_bench.swap_rows("vgg", ["vdnn_all", "cdma", "cswap"], OnCard(batch=4, rounds=1)))
    assert len(models) == 4
    assert [row["same"] for row in rows] == [True] * 4
    assert [row["speedup"] is None for row in rows] == [True, False, False, False]
    assert all(row["allocated"] == 7 for row in rows)
    assert torch.backends.cudnn.deterministic
