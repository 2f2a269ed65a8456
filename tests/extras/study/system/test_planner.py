"""Steps of training: computation, transfers, and the memory that they take."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.study.system.networks import load_network
from cdma.study.system.policies import plan
from tests.extras.study.small_networks import BASE, CHAIN, situation


def test_offloaded_memory_is_freed_and_taken_again() -> None:
    network = load_network("vgg16")
    here = situation(network)
    free, vdnn = here.planner.run({}), here.planner.run(plan("vdnn_all", here))
    assert vdnn.peak_bytes < free.peak_bytes
    always = network.parameters * 4 * 3 + 256 * 2**20
    for step in (free, vdnn):
        levels = [used for _, used in step.memory]
        assert levels[-1] == always, "what is taken is given back"
        assert min(levels) == always


def test_peak_without_offload_by_hand() -> None:
    """All kept maps at once, and no more gradients than there are maps."""
    planner = situation(CHAIN).planner
    sizes = {item.name: planner.bytes_of(item) for item in planner.maps}
    always = CHAIN.parameters * 4 * 3 + 256 * 2**20
    kept = sizes["input"] + sizes["a"] + sizes["b"] + sizes["p"] + sizes["c"]
    step = planner.run({})
    computed = sum(cost.seconds for cost in (*planner.forward, *planner.backward, planner.update))
    assert (step.seconds, step.link_bytes) == (pytest.approx(computed), 0), "computation without a wait"
    assert step.peak_bytes >= always + kept
    assert step.peak_bytes <= always + kept + sizes["a"] + sizes["b"] + sizes["c"] + sizes["f"]


def test_prefetched_maps_take_memory_until_they_are_used() -> None:
    here = situation(CHAIN)
    step = here.planner.run(plan("vdnn_all", here))
    spans = {task.name: span for task, span in zip(step.tasks, step.spans, strict=True)}
    sizes = {item.name: here.planner.bytes_of(item) for item in here.planner.maps}
    always = CHAIN.parameters * 4 * 3 + 256 * 2**20 + sizes["input"]

    def used(task: str) -> float:
        middle = (spans[task].start + spans[task].end) / 2
        return [level for time, level in step.memory if time <= middle][-1]

    # The map of a is fetched from when p needs those of b and p; a gradient lives from reader to writer.
    assert used("backward b/relu") == always + sizes["a"] + sizes["b"] + sizes["b"]
    assert used("backward b") == always + 2 * sizes["a"] + sizes["b"]
    # The map of a has left beside b, before which it was alone with the images.
    assert used("forward a") == always + sizes["a"]
    assert used("forward p") == always + sizes["b"] + sizes["p"]


def test_one_offload_at_a_time_by_default() -> None:
    here = situation(load_network("alexnet"))
    step = here.planner.run(plan("vdnn_all", here))
    spans = {task.name: span for task, span in zip(step.tasks, step.spans, strict=True)}
    # norm0 offloads conv0, pool0 offloads norm0: the second waits for the first.
    assert spans["forward pool0"].start >= spans["offload conv0"].end
    assert spans["offload conv0"].start == spans["forward norm0"].start
    assert spans["backward norm0"].start >= spans["prefetch conv0"].end
    deeper = situation(load_network("alexnet"), training=replace(BASE.training, lookahead=3))
    assert deeper.planner.run(plan("vdnn_all", deeper)).seconds < step.seconds


def test_hidden_time_is_the_computation_beside_a_transfer() -> None:
    """With offloads alone on a link, a step's wait is what the equations say is exposed."""
    here = situation(load_network("alexnet"))
    planner = here.planner
    hidden = planner.hidden({item.name for item in planner.offloadable})
    exposed = 0.0
    for item in planner.offloadable:
        transfer, (forward, backward) = here.plain(item), hidden[item.name]
        exposed += max(transfer.offload.seconds - forward, 0) + max(transfer.prefetch.seconds - backward, 0)
    computed = planner.run({}).seconds
    waiting = planner.run(plan("vdnn_all", here)).seconds - computed
    assert waiting == pytest.approx(exposed, rel=0.05)
