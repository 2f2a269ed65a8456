"""``cdma tune gpu``: the plans that were timed, the one that is kept, and one sentence where there is no card."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from cdma.sim.gpu.plans import Plan  # noqa: E402
from cdma.sim.study.compare import card_launches  # noqa: E402
from cdma.sim.study.compare.card_launches import Timed, plan_space  # noqa: E402


class _Workload:
    """Stands for a card, on which plans with 8 warps have no room."""

    question, kept = "a tensor", None

    def __init__(self, *arguments):
        self.arguments = arguments

    def timed(self, plan):
        return None if plan.warps == 8 else Timed(1 / (plan.warps + plan.chunks))

    def keep(self, plan):
        _Workload.kept = plan
        return "a file"


@pytest.fixture
def _with_a_card(monkeypatch):
    monkeypatch.setattr(card_launches, "Workload", _Workload)


@pytest.mark.usefixtures("_with_a_card")
def test_all_plans_and_the_best_is_kept(printed):
    rows = printed("tune", "gpu", "--sampler", "grid", "--keep")
    assert len(rows) == len(list(plan_space("pack")))
    assert rows[0]["chosen"]
    assert (rows[0]["warps"], rows[0]["chunks"]) == (4, 128)
    assert Plan(*(rows[0][name] for name in ("warps", "chunks", "unroll", "registers"))) == _Workload.kept
    assert {row["warps"] for row in rows if row["seconds"] is None} == {8}


@pytest.mark.usefixtures("_with_a_card")
def test_the_table_says_what_was_searched(shown):
    assert "sampler random: the best of" in shown(
        "tune", "gpu", "--kernel", "unpack", "--sampler", "random", "--trials", "9"
    )


@pytest.mark.usefixtures("_with_a_card")
def test_a_search_may_be_one_trial(printed):
    assert len(printed("tune", "gpu", "--sampler", "random", "--trials", "1")) == 1


def test_a_thread_has_no_more_words_than_registers():
    assert max(plan.chunks // plan.warps for plan in plan_space("unpack")) == 32


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--density", "2"], "density is 2"),
        (["--size", "0"], "size is 0"),
        (["--trials", "0"], "trials is 0"),
    ],
)
@pytest.mark.usefixtures("_with_a_card")
def test_refusals(options, says, refused):
    assert says in refused("tune", "gpu", *options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_without_a_card_it_says_so(refused):
    assert "there is no card here" in refused("tune", "gpu")
