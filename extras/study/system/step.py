"""One step of training: what is transferred in it, and how it runs."""

from __future__ import annotations

from dataclasses import dataclass

from .roofline import Cost
from .timeline import Span, Task

__all__ = ["Step", "Transfer"]


@dataclass(frozen=True)
class Transfer:
    """How one map goes to the host and comes back."""

    raw_bytes: float
    #: Bytes over the link, each way.
    link_bytes: float
    offload: Cost
    prefetch: Cost
    #: Kernels of the device that compress and decompress it, if its own engine does not.
    compress: Cost | None = None
    decompress: Cost | None = None
    #: Bytes that it takes in the host.
    host_bytes: float = 0.0


@dataclass(frozen=True)
class Step:
    """How a step runs."""

    tasks: tuple[Task, ...]
    spans: tuple[Span, ...]
    #: Device memory over time: bytes from each time on.
    memory: tuple[tuple[float, float], ...]
    raw_bytes: float
    link_bytes: float
    host_bytes: float

    @property
    def seconds(self) -> float:
        """Length of the step."""
        return max((span.end for span in self.spans), default=0.0)

    @property
    def peak_bytes(self) -> float:
        """The most device memory in use."""
        return max(used for _, used in self.memory)

    def busy(self, queue: str) -> float:
        """Seconds that a queue works."""
        return sum(
            span.end - span.start
            for task, span in zip(self.tasks, self.spans, strict=True)
            if task.queue == queue
        )
