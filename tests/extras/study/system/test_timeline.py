"""The timeline: queues in order, dependencies, and memory bandwidth that is shared."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.study.system.step import QUEUES, Span, Task, simulate, simulate_devices


def test_a_circle_is_told() -> None:
    tasks = [Task("a", "compute", 1, after=(1,)), Task("b", "offload", 1, after=(0,))]
    with pytest.raises(ValueError, match="tasks wait for each other in a circle: a, b"):
        simulate(tasks, 1)


def test_devices_share_the_links_but_not_their_memories() -> None:
    """Two offloads of 10 bytes each at 10 per second of 10, and a prefetch, which has the other direction for itself."""
    offload, prefetch = Task("a", "offload", 1, 10, link_bytes=10), Task("b", "prefetch", 1, link_bytes=10)
    first, second = simulate_devices([[offload, prefetch], [offload]], 10, (10, 10))
    assert first == [Span(0, 2), Span(0, 1)]
    assert second == [Span(0, 2)]
    (_, back), _ = simulate_devices([[offload, prefetch], [offload]], 10, (10, 5))
    assert back == Span(0, 2), "the way back has half the rate"


def test_bandwidth_that_one_device_cannot_use_goes_to_the_others() -> None:
    """The first device's memory lets its offload use a fifth of the link; the other one gets the rest."""
    slow = [Task("a", "offload", 1, 50, link_bytes=10), Task("c", "compute", 1, 50)]
    quick = [Task("b", "offload", 1, link_bytes=10)]
    (first, _), (second,) = simulate_devices([slow, quick], 20, (12, 12))
    assert second.end == pytest.approx(1.0)
    assert first.end == pytest.approx(5.0)


_SIZES = st.integers(0, 10)


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(QUEUES), _SIZES, _SIZES, _SIZES, st.sets(st.integers(0, 4), max_size=2)
            ),
            max_size=5,
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 20),
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
)
def test_no_task_is_early_no_queue_runs_two_and_nothing_gives_more_than_it_has(
    devices: list[list[tuple[str, int, int, int, set[int]]]], memory: int, rates: tuple[int, int]
) -> None:
    tasks = [
        [
            Task(
                str(at), queue, seconds, dram, tuple(other for other in after if other < at), link_bytes=moved
            )
            for at, (queue, seconds, dram, moved, after) in enumerate(listed)
        ]
        for listed in devices
    ]
    spans = simulate_devices(tasks, memory, rates)
    link = {"compute": inf, "offload": rates[0], "prefetch": rates[1]}
    end = max((span.end for listed in spans for span in listed), default=0.0) * (1 + 1e-6)
    work = [task for listed in tasks for task in listed]
    alone = [task.seconds + task.dram_bytes / memory + task.link_bytes / link[task.queue] for task in work]
    assert end <= sum(alone) * (1 + 1e-5) + 1e-6
    for listed, times in zip(tasks, spans, strict=True):
        assert sum(task.dram_bytes for task in listed) <= memory * end
        for task, span in zip(listed, times, strict=True):
            least = max(task.seconds, task.dram_bytes / memory, task.link_bytes / link[task.queue])
            assert span.end - span.start >= least * (1 - 1e-6)
            assert all(times[other].end <= span.start for other in task.after)
        for queue in QUEUES:
            mine = [span for task, span in zip(listed, times, strict=True) if task.queue == queue]
            assert all(first.end <= second.start for first, second in pairwise(mine))
    for queue in QUEUES:
        moved = sum(task.link_bytes for listed in tasks for task in listed if task.queue == queue)
        assert moved / link[queue] <= end
