"""Descriptors and completions through registers."""

from __future__ import annotations

import pytest

from cdma.hdl.spec.registers.map import register_map
from cdma.sim.engine.descriptors import Descriptor
from tests.support.model_bench import (
    CONFIGS,
    DEV,
    OUT,
    ModelBench,
)


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def bench(request) -> ModelBench:
    return ModelBench(request.param)


def test_a_push_waits_for_the_one_before_and_goes_ahead_of_the_ring(bench):
    bench.start(8)
    channel = bench.driver.offload
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=1))
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=2))
    bench.model.write32(register_map(bench.config)["push.tag"].address, 99)
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=3))
    assert [done.tag for done in channel.wait(3)] == [2, 3, 1]
    assert bench.driver.prefetch.counters()["descriptors"] == 0


def test_direct_completions_are_taken_one_by_one(bench):
    channel = bench.driver.offload
    channel.start_direct()
    for tag in range(5):
        assert channel.transfer(Descriptor(DEV, OUT, 64, 4096, tag=tag)).tag == tag
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=8))
    channel.push(Descriptor(DEV, OUT, 64, 4096, tag=9))
    assert [done.tag for done in channel.wait(2)] == [8, 9]
