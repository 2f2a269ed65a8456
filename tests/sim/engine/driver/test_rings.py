"""Rings by both drivers: order, room, wraps, and completions that are lost."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.engine.driver import DriverError, EngineError, Mode, Status
from cdma.sim.engine.memory import Descriptor
from tests.support.stream_bench import DEV, HOST, OUT, ModelBench


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from((2, 4, 16)),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=40),
)
def test_any_pace_keeps_order_round_the_ring(driver, entries, pace):
    """Submissions, engine and polling in any interleaving: every completion once, in order, rings
    wrapping."""
    bench = ModelBench(EngineConfig(ring_entries=16), driver)
    bench.start(entries)
    channel = bench.driver.offload
    next_tag, seen = 0, []

    def take(how):
        for done in channel.poll(how):
            assert (done.status, done.bytes_read) == (Status.OK, 4 * (1 + done.tag % 7))
            seen.append(done.tag)

    for wanted, steps, by_registers in pace:
        count = min(wanted, channel.room)
        tags = range(next_tag, next_tag + count)
        channel.submit(*(Descriptor(DEV, OUT, 4 * (1 + tag % 7), 4096, Mode.RAW, tag=tag) for tag in tags))
        next_tag += count
        for _ in range(steps):
            bench.model.step()
        take("registers" if by_registers else "memory")
    while len(seen) < next_tag:
        bench.model.run()
        take("memory")
    assert seen == list(range(next_tag))
    assert channel.room == entries


def test_a_full_ring_refuses_and_long_traffic_wraps_the_index_itself(driver):
    bench = ModelBench(EngineConfig(ring_entries=4), driver)
    bench.start(4)
    channel = bench.driver.offload
    for tag in range(50):
        assert channel.transfer(Descriptor(DEV, OUT, 4, 64, tag=tag)).tag == tag
    descriptors = [Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in range(5)]
    with pytest.raises(DriverError):
        channel.submit(*descriptors)
    channel.submit(*descriptors[:4])
    bench.model.run()
    assert channel.room == 0
    assert len(channel.wait(4)) == 4
    assert channel.room == 4


def test_a_lost_completion_does_not_come_back_in_the_next_pass(bench):
    """Its slot still holds what the pass before wrote there, with just the phase that is due next."""
    bench.start(4)
    channel = bench.driver.offload

    def submit(*tags: int) -> None:
        channel.submit(*(Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in tags))
        bench.model.run()

    submit(0, 1, 2, 3)
    assert [done.tag for done in channel.poll()] == [0, 1, 2, 3]
    bench.host.faults[HOST + 4 * 64] = "SLVERR"
    submit(4)
    with pytest.raises(DriverError):
        channel.poll("registers")
    bench.host.faults.clear()
    submit(5, 6, 7)
    assert [done.tag for done in channel.poll()] == [5, 6, 7]
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=8))
    assert channel.poll() == [], "nothing has been done yet"
    assert [done.tag for done in channel.wait()] == [8]


def test_rings_that_fail_are_told(bench):
    bench.start(4)
    channel = bench.driver.offload
    bench.host.faults[HOST + 64] = "SLVERR"
    channel.submit(*(Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in range(2)))
    bench.model.run()
    done = channel.poll("registers")
    assert [(c.tag, c.status, c.address) for c in done] == [
        (0, Status.OK, 0),
        (0, Status.FETCH_SLVERR, HOST + 64),
    ]
    assert channel.error() == EngineError(Status.FETCH_SLVERR, 0, HOST + 64)
    channel.clear_error()

    slot = HOST + 4 * 64 + 2 * 64
    bench.host.faults[slot] = "DECERR"
    channel.submit(*(Descriptor(DEV, OUT, 64, 4096, tag=tag) for tag in (8, 9)))
    bench.model.run()
    assert channel.poll() == []
    with pytest.raises(DriverError):
        channel.poll("registers")
    assert channel.error() == EngineError(Status.COMPLETION_DECERR, 8, slot)
    assert [done.tag for done in channel.wait(1)] == [9]
    assert channel.counters()["errors"] == 2
