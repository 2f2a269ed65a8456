"""A step's timeline in the trace event format, which Perfetto and chrome://tracing show."""

from __future__ import annotations

from typing import Any

from .step import Step
from .timeline import QUEUES

__all__ = ["trace_events"]


def trace_events(step: Step) -> dict[str, Any]:
    """Returns one track for each queue, and the device memory as a counter; times are in microseconds."""
    tracks: list[dict[str, Any]] = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": index, "args": {"name": queue}}
        for index, queue in enumerate(QUEUES)
    ]
    spans = [
        {
            "name": task.name,
            "ph": "X",
            "pid": 1,
            "tid": QUEUES.index(task.queue),
            "ts": 1e6 * span.start,
            "dur": 1e6 * (span.end - span.start),
            "args": {"dram_bytes": task.dram_bytes, "seconds_alone": task.seconds},
        }
        for task, span in zip(step.tasks, step.spans, strict=True)
    ]
    memory = [
        {"name": "device memory", "ph": "C", "pid": 1, "ts": 1e6 * time, "args": {"bytes": used}}
        for time, used in step.memory
    ]
    return {"traceEvents": [*tracks, *spans, *memory], "displayTimeUnit": "ms"}
