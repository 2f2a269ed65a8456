"""The arithmetic of the bench, which needs no GPU. How kernels are launched: by the table, by what was found on a GPU,
or as it is tried.
"""

from __future__ import annotations

import pytest

from tests.extras.pytorch.interpreted import torch

# isort: split
import cdma
from cdma.base.errors import ToolError
from cdma.gpu import plans
from cdma.gpu.measure import Timing, copy_row, row
from cdma.gpu.plans import Plan, keep_plan, plan_for, tried


def test_shares_are_of_the_least_time_at_the_rate_of_the_copy():
    # The copy moves 2 * 1000 bytes in a second; raw data and stream are 1500, which take 0.75 seconds.
    made = row("card", "data", 1000, Timing("cDMA", 500, [9, 1.5, 1.4], [1, 0.75, 0.1]), [1, 1, 5])
    assert made["ratio"] == 2
    assert made["compress"] == pytest.approx(1000 / 1.5)
    assert made["decompress"] == pytest.approx(1000 / 0.75)
    assert made["share"] == {"compress": pytest.approx(0.5), "decompress": pytest.approx(1)}


def test_the_copy_is_all_that_is_possible():
    made = copy_row("card", "data", 1 << 20, [0.2, 0.1, 0.3])
    assert made["share"] == {"compress": 1, "decompress": 1}
    assert made["ratio"] == 1
    assert made["compress"] == made["decompress"] == (1 << 20) / 0.2


CARD = torch.device("cuda")
ZVC, BF16 = cdma.Format(), cdma.Format.preset("bf16")


@pytest.fixture(autouse=True)
def _a_card_of_that_name(monkeypatch, tmp_path):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
    plans._kept.cache_clear()
    yield
    plans._kept.cache_clear()


def test_a_plan_that_was_kept_is_that_of_its_kernel_and_format_alone():
    usual = plan_for("pack", BF16, CARD)
    keep_plan("pack", ZVC, CARD, Plan(8, 64))
    keep_plan("unpack", ZVC, CARD, Plan(2, 48))
    assert plan_for("pack", ZVC, CARD) == Plan(8, 64)
    assert plan_for("unpack", cdma.Format(window=64), CARD) == Plan(2, 48)
    assert plan_for("pack", BF16, CARD) == usual


def test_a_plan_of_another_card_is_not_taken(monkeypatch):
    usual = plan_for("pack", ZVC, CARD)
    keep_plan("pack", ZVC, CARD, Plan(8, 64))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "another GPU")
    assert plan_for("pack", ZVC, CARD) == usual


def test_a_plan_on_trial_goes_first_until_it_ends():
    usual = plan_for("pack", ZVC, CARD)
    with tried("pack", Plan(8, 64)):
        assert plan_for("pack", ZVC, CARD) == Plan(8, 64)
        assert plan_for("unpack", ZVC, CARD) != Plan(8, 64)
    assert plan_for("pack", ZVC, CARD) == usual


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"a GPU": {"colour": 3}}'])
def test_a_file_that_has_no_plans_is_one_clear_error(tmp_path, text):
    (tmp_path / "gpu-plans.json").write_text(text)
    with pytest.raises(ToolError, match="has no plans of kernels"):
        plan_for("pack", ZVC, CARD)
