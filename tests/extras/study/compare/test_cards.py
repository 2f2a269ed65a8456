"""Plans of kernels, in the interpreter: which one is in force when it is timed and when its bytes are compared."""

from __future__ import annotations

import pytest

from cdma import CdmaError, Format
from cdma.gpu import plans
from cdma.gpu.plans import Plan
from cdma.study.compare import card_launches
from cdma.study.compare.card_launches import Workload
from tests.extras.pytorch.interpreted import torch

# isort: split

PLAN = Plan(1, 64)


@pytest.fixture(autouse=True)
def _the_interpreter_is_the_card(monkeypatch):
    def seconds_of(call, rounds):
        call()
        return [0.5] * rounds

    monkeypatch.setattr(card_launches, "require_cuda", lambda: None)
    words = (torch.arange(600, dtype=torch.int32) % 3).view(torch.uint32)
    monkeypatch.setattr(card_launches, "numbers", lambda *_: words)
    monkeypatch.setattr(card_launches, "seconds_of", seconds_of)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a card")


@pytest.mark.parametrize(("kernel", "call"), [("pack", "compress"), ("unpack", "restored")])
def test_bytes_are_those_of_the_plan_that_was_tried(kernel, call, monkeypatch):
    workload, made, tried = Workload(kernel, Format(), 1, 0.5), getattr(card_launches, call), []
    monkeypatch.setattr(
        card_launches, call, lambda *all, **named: tried.append(dict(plans._tried)) or made(*all, **named)
    )
    found = workload.timed(PLAN)
    assert found.seconds == 0.5
    assert found.took > 0
    assert tried == 2 * [{kernel: PLAN}]
    assert workload.expert == plans.DEFAULT

    def wrong(*arguments, **named):
        result = made(*arguments, **named)
        (result.stream if kernel == "pack" else result.view(torch.uint8))[-1] += 1
        return result

    monkeypatch.setattr(card_launches, call, wrong)
    with pytest.raises(CdmaError, match="did not give back what it was given"):
        workload.timed(PLAN)


def test_a_plan_without_room_took_its_time_too(monkeypatch):
    def fails(call, rounds):
        raise RuntimeError("out of resources")

    monkeypatch.setattr(card_launches, "seconds_of", fails)
    found = Workload("pack", Format(), 1, 0.5).timed(PLAN)
    assert found.seconds is None
    assert found.took > 0
