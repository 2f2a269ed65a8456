"""``cdma study tune gpu``: the plans that were timed, the one that is kept, and one sentence where there is no card."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from cdma.gpu import plans  # noqa: E402
from cdma.gpu.plans import KERNELS, Plan  # noqa: E402
from cdma.study.commands.tune import gpu as command  # noqa: E402
from cdma.study.compare import card_launches  # noqa: E402
from cdma.study.compare.card_launches import PLANS, Timed  # noqa: E402
from cdma.study.tuner import search  # noqa: E402
from cdma.torch.bench import swap_training  # noqa: E402


class _Workload:
    """Stands for a card, on which plans that unroll 16 have no room."""

    question, kept = "a tensor", None

    expert = Plan(1, 32)

    def __init__(self, *arguments):
        self.arguments = arguments

    def timed(self, plan):
        return Timed(None if plan.unroll == 16 else 1 / (plan.unroll + plan.registers), took=2.0)

    def keep(self, plan):
        _Workload.kept = plan
        return "a file"


@pytest.fixture
def _with_a_card(monkeypatch):
    monkeypatch.setattr(card_launches, "Workload", _Workload)


@pytest.mark.usefixtures("_with_a_card")
def test_all_plans_and_the_best_is_kept(printed):
    rows = printed("study", "tune", "gpu", "--sampler", "grid", "--keep")
    assert len(rows) == len(list(PLANS))
    assert rows[0]["chosen"]
    assert (rows[0]["unroll"], rows[0]["registers"]) == (8, 96)
    assert Plan(*(rows[0][name] for name in ("unroll", "registers"))) == _Workload.kept
    assert {row["unroll"] for row in rows if row["seconds"] is None} == {16}


@pytest.mark.usefixtures("_with_a_card")
def test_both_kernels_have_plans_of_their_own_and_their_sum_is_shown(printed, shown):
    words = ["study", "tune", "gpu", "--kernel", "both", "--sampler", "random", "--trials", "9"]
    rows = printed(*words)
    assert {row["kernel"] for row in rows if row["chosen"]} == {"pack", "unpack"}
    least = [min(row["seconds"] or 1 for row in rows if row["kernel"] == name) for name in ("pack", "unpack")]
    assert f"both take {1e3 * sum(least):.3f} ms" in shown(*words)


class _Training:
    """Stands for a training whose steps are as long as the plans unroll."""

    def __init__(self, network, bench):
        assert (network, bench.device, bench.batch, bench.rounds) == ("mobilenet", "cuda", 8, 3)

    def seconds(self, plans):
        assert len({tuple(each.values()) for each in plans}) == len(plans)
        return [float(sum(plan.unroll for plan in each.values())) for each in plans]


@pytest.mark.usefixtures("_with_a_card")
def test_samplers_stand_beside_the_expert_and_all_plans(monkeypatch, printed, shown):
    pytest.importorskip("optuna")
    monkeypatch.setattr(command, "SEEDS", 2)
    monkeypatch.setattr(search, "find_spec", lambda name: None)
    monkeypatch.setattr(card_launches, "TunedTraining", _Training)
    # Choosing takes a tick.
    monkeypatch.setattr(search, "time", SimpleNamespace(perf_counter=count(0, 1e-6).__next__))
    words = ["study", "tune", "gpu", "--kernel", "both", "--compare", "--trials", "6"]
    words += ["--network", "mobilenet", "--batch", "8", "--rounds", "3"]
    found = printed(*words)
    rows = {(row["sampler"], row["seed"]): row for row in found["searches"]}
    assert list(rows) == [
        ("expert", 0),
        *((name, seed) for name in ("tpe", "random") for seed in (1, 2)),
        ("grid", 1),
    ]
    expert, grid = rows["expert", 0], rows["grid", 1]
    assert expert["plans"]["unpack"] == {"unroll": 1, "registers": 32}
    assert expert["ms"] == pytest.approx(2e3 / 33)
    assert (expert["evaluations"], expert["seconds"], expert["step_ms"]) == (1, 0, 2e3)
    # A search through all has found the best that there is, and has waited for each plan once.
    assert grid["searched"] == len(list(PLANS))
    assert grid["search_seconds"] == pytest.approx(2 * len(KERNELS) * len(list(PLANS)), rel=0.1)
    assert (grid["ms"], grid["step_ms"]) == (pytest.approx(2e3 / 104), 16e3)
    for row in rows.values():
        assert row["ms"] == row["least_ms"][-1] >= grid["ms"]
        assert row["least_ms"][row["evaluations"] - 1] == row["ms"]
        assert row["evaluations"] == 1 or row["least_ms"][row["evaluations"] - 2] != row["ms"]
        assert row["seconds"] <= row["search_seconds"]
    assert rows["random", 1]["searched"] == 6
    assert 4 < rows["random", 1]["search_seconds"] < 6 * 4 + 1
    text = shown(*words)
    assert "step, ms" in text
    # Plans of another format say nothing of what the network keeps.
    rows = printed(*words, "--format", "bf16")["searches"]
    assert {row["step_ms"] for row in rows} == {None}
    assert "no training was timed: what it keeps are streams of zvc32" in shown(*words, "--format", "bf16")


def test_a_training_launches_its_kernels_by_the_plans(monkeypatch):
    pytest.importorskip("sklearn")
    seen = []
    bench = swap_training.SwapBench(batch=4, rounds=1, link=1e12)
    training = card_launches.TunedTraining("vgg", bench)
    step = training._training.step
    monkeypatch.setattr(
        training._training, "step", lambda context: seen.append(dict(plans._tried)) or step(context)
    )
    both = {"pack": Plan(2, 8), "unpack": Plan(1, 8)}
    assert all(seconds > 0 for seconds in training.seconds([both, {"pack": Plan(4, 8)}]))
    assert seen == 3 * [both, {"pack": Plan(4, 8)}]
    assert training._context.report.rows["relu0"].actions == {"compressed": 6}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--density", "2"], "density is 2"),
        (["--size", "0"], "size is 0"),
        (["--trials", "0"], "trials is 0"),
        (["--rounds", "0"], "rounds is 0"),
    ],
)
@pytest.mark.usefixtures("_with_a_card")
def test_refusals(options, says, refused):
    assert says in refused("study", "tune", "gpu", *options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_it_says_so(refused):
    assert "there is no GPU here" in refused("study", "tune", "gpu")
