"""A step's timeline as a trace."""

from __future__ import annotations

import pytest

from cdma.sim.study.system.trace import trace_events
from tests.support.small_networks import model


def test_trace_has_every_task_and_the_memory() -> None:
    step = model().step("cdma", "zv", 0.5)
    events = trace_events(step)["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(step.tasks)
    assert max(event["ts"] + event["dur"] for event in spans) == pytest.approx(1e6 * step.seconds)
    assert max(event["args"]["bytes"] for event in events if event["ph"] == "C") == step.peak_bytes
