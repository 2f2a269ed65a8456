"""How kernels are launched: by the table, by what was found on a card, or as it is tried."""

from __future__ import annotations

import pytest

import cdma
from cdma.base.errors import ToolError
from cdma.gpu import plans
from cdma.gpu.plans import Plan, keep_plan, plan_for, tried
from tests.extras.pytorch.interpreted import torch

CARD = torch.device("cuda")
ZVC, BF16 = cdma.Format(), cdma.Format.preset("bf16")


@pytest.fixture(autouse=True)
def _a_card_of_that_name(monkeypatch, tmp_path):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")
    plans._kept.cache_clear()
    yield
    plans._kept.cache_clear()


def test_a_plan_that_was_kept_is_that_of_its_kernel_and_format_alone():
    usual = plan_for("pack", BF16, CARD)
    keep_plan("pack", ZVC, CARD, Plan(8, 64))
    keep_plan("unpack", ZVC, CARD, Plan(2, 8, 4))
    assert plan_for("pack", ZVC, CARD) == Plan(8, 64)
    assert plan_for("unpack", cdma.Format(window=64), CARD) == Plan(2, 8, 4)
    assert plan_for("pack", BF16, CARD) == usual


def test_a_plan_of_another_card_is_not_taken(monkeypatch):
    usual = plan_for("pack", ZVC, CARD)
    keep_plan("pack", ZVC, CARD, Plan(8, 64))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "another card")
    assert plan_for("pack", ZVC, CARD) == usual


def test_a_plan_on_trial_goes_first_until_it_ends():
    usual = plan_for("pack", ZVC, CARD)
    with tried("pack", Plan(8, 64)):
        assert plan_for("pack", ZVC, CARD) == Plan(8, 64)
        assert plan_for("unpack", ZVC, CARD) != Plan(8, 64)
    assert plan_for("pack", ZVC, CARD) == usual


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"a card": {"colour": 3}}'])
def test_a_file_that_has_no_plans_is_one_clear_error(tmp_path, text):
    (tmp_path / "gpu-plans.json").write_text(text)
    with pytest.raises(ToolError, match="has no plans of kernels"):
        plan_for("pack", ZVC, CARD)


@pytest.mark.parametrize("format", [cdma.Format(8, window=8), cdma.Format(32, window=64), ZVC, BF16])
def test_steps_divide_a_block_and_have_a_window(format):
    windows = plans.windows_of_block(format)
    for chunks in (1, 16, 4096):
        assert windows % Plan(1, chunks).options(format)["ROWS"] == 0
