"""What a context leaves behind: no hooks, nothing that could lose an interrupt, nothing on other threads."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from cdma.torch import AcGc, Comet, Policy, saved


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))


def in_thread(work: Callable[[], object]) -> None:
    """Does it on another thread, and waits for it."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def hooks_of(model: nn.Module) -> int:
    """Hooks of a model, of its modules and of its parameters."""
    return sum(len(one._backward_hooks or ()) for one in model.parameters()) + sum(
        len(one._forward_hooks) + len(one._forward_pre_hooks) + len(one._backward_hooks)
        for one in model.modules()
    )


@pytest.mark.parametrize("policy", [Comet(refresh=1), AcGc(refresh=1)], ids=["comet", "acgc"])
@pytest.mark.parametrize("passes", [1, 3])
def test_without_a_backward_pass_no_hooks_are_left(policy: Policy, passes: int) -> None:
    model, inputs = network(), torch.randn(8, 64)
    context = saved(model, policy)
    for _ in range(passes):
        with context:
            loss = model(inputs).sum()
        assert hooks_of(model) == 2
    del loss
    gc.collect()
    assert hooks_of(model) == 0
    assert context.now == (0, 0)


def test_a_backward_pass_takes_its_hooks_with_it_and_those_of_the_program_stay() -> None:
    model, inputs = network(), torch.randn(8, 64)
    seen: list[Any] = []
    model[0].weight.register_hook(seen.append)
    with saved(model, Comet(refresh=1)) as context:
        first = model(inputs).sum()
        second = model(inputs).sum()
    model[2].weight.register_hook(seen.append)
    assert hooks_of(model) == 4 + 2
    second.backward()
    assert hooks_of(model) == len(seen) == 2
    assert len(context._observer.statistics) == 2
    first.backward()
    assert (hooks_of(model), len(seen)) == (2, 4)


@pytest.mark.parametrize("policy", [None, Comet()], ids=["lossless", "comet"])
def test_letting_a_graph_go_calls_nothing_that_could_lose_an_interrupt(policy: Policy | None) -> None:
    """An exception in a finaliser is printed and lost, and so is that of a signal handler that runs there."""
    model, inputs = network(), torch.randn(64, 64)
    context = saved(model, policy)
    with context:
        loss = model(inputs).sum()
    called: list[str] = []

    def call(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    sys.setprofile(call)
    del loss
    sys.setprofile(None)
    assert called == []
    assert context.now == (0, 0)


def test_the_most_that_is_held_is_that_of_one_pass_where_passes_follow_each_other() -> None:
    model, inputs = network(), torch.randn(64, 64)
    with saved(model) as context:
        for _ in range(3):
            model(inputs).sum().backward()
    report = context.report
    assert (report.peak_raw, report.peak_held) == (report.raw // 3, report.held // 3)


def test_calls_on_other_threads_are_counted_and_compress_nothing() -> None:
    model, inputs = network(), torch.randn(64, 64)
    found: list[Any] = []

    def work() -> None:
        found.append(torch.autograd.grad(model(inputs).square().sum(), list(model.parameters())))

    with saved(model) as context:
        assert "other threads" not in str(context.report)
        for _ in range(3):
            in_thread(work)
        assert (context.report.elsewhere, context.report.passes, context.report.tensors) == (3, 0, 0)
        loss = model(inputs).square().sum()
    assert "3 calls on other threads, of which nothing is compressed" in str(context.report)
    assert context.report.as_dict()["elsewhere"] == 3
    assert (context.report.passes, "outside the model" in context.report.layers) == (1, True)
    expected = torch.autograd.grad(loss, list(model.parameters()))
    assert all(torch.equal(*pair) for other in found for pair in zip(expected, other, strict=True))


def test_a_block_on_another_thread_compresses_there() -> None:
    reports: list[Any] = []

    def work() -> None:
        model = network()
        with saved(model) as context:
            loss = model(torch.eye(64)).square().sum()
        loss.backward()
        reports.append(context.report)

    in_thread(work)
    (report,) = reports
    assert (report.passes, report.elsewhere) == (1, 0)
    assert report.ratio > 1.1


def test_names_stay_those_of_the_block_while_another_thread_runs_the_model() -> None:
    """A module that another thread is in is not the one that keeps a tensor here."""
    inside, done = threading.Event(), threading.Event()

    class Waiting(nn.Module):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            if threading.current_thread() is not threading.main_thread():
                inside.set()
                done.wait()
            return inputs

    model, inputs = nn.Sequential(nn.Linear(64, 64), Waiting()), torch.randn(64, 64)
    thread = threading.Thread(target=model, args=(inputs,))
    with saved(model) as context:
        thread.start()
        inside.wait()
        try:
            model(inputs)
        finally:
            done.set()
            thread.join()
    assert list(context.report.layers) == ["0"]
    assert (context.report.passes, context.report.elsewhere) == (1, 1)


def test_a_checkpoint_in_the_block_is_no_call_on_another_thread() -> None:
    """Nor when the backward pass is on another thread: it makes again what was made here."""
    model, inputs = network(), torch.randn(64, 64, requires_grad=True)
    with saved(model) as context:
        checkpoint(model, inputs, use_reentrant=False).sum().backward()
        loss = checkpoint(model, inputs, use_reentrant=False).sum()
        in_thread(loss.backward)
    assert context.report.elsewhere == 0


def test_calls_on_other_threads_are_not_observed() -> None:
    model, inputs = network(), torch.randn(64, 64)
    results = []
    with saved(model, Comet(refresh=1)) as context:
        results.append(model(inputs))
        hooks = hooks_of(model)
        in_thread(lambda: results.append(model(inputs)))
        assert (len(results), hooks_of(model)) == (2, hooks)
    assert context.report.elsewhere == 1
