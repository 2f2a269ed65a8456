"""A link in software: one thread for each direction copies at a given rate. It computes no bit differently."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from .link import NOTHING, Ordered

__all__ = ["PacedCopy", "PacedLink"]


class PacedCopy:
    """Bytes on their way between two places in the same memory."""

    def __init__(self, target: Tensor) -> None:
        self.target, self.nbytes = target, target.numel()
        self.begin = self.end = 0.0
        self.job: Future[None] = Future()

    @property
    def finished(self) -> bool:
        """Whether the bytes have arrived."""
        return self.job.done()

    def synchronize(self) -> None:
        """Returns when the bytes have arrived; raises what went wrong on the way."""
        self.job.result()

    #: What computes is this thread.
    wait = synchronize

    def take(self) -> Tensor:
        """Returns the bytes, which have arrived and are the caller's alone."""
        self.wait()
        target, self.target = self.target, NOTHING
        return target


class PacedLink:
    """A link between two parts of the processor's memory.

    ``out_rate``, ``back_rate``
        Bytes per second.
    ``delay``
        Called before each copy, for the seconds that it waits besides.
    """

    least_bytes = 1024

    def __init__(self, out_rate: float, back_rate: float, delay: Callable[[], float] = lambda: 0.0) -> None:
        self._rates = out_rate, back_rate
        self._delay = delay
        self._threads = tuple(ThreadPoolExecutor(1, f"cdma-{way}") for way in ("out", "back"))

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> PacedCopy:
        """Copies bytes of the device to memory of the host."""
        return self._queue(0, pairs, None)

    def back(self, source: Tensor, after: Ordered | None) -> PacedCopy:
        """Copies bytes of the host to new memory of the device."""
        return self._queue(1, [(source, torch.empty_like(source))], after)

    def memory(self, size: int) -> Tensor:
        """Bytes of the host."""
        return torch.empty(size, dtype=torch.uint8)

    def mark(self) -> float:
        """A mark of now."""
        return time.perf_counter()

    def passed(self, mark: float) -> bool:
        """What was computed before a mark has ended."""
        return True

    def seconds(self, begin: float, end: float) -> float:
        """The seconds between two marks."""
        return end - begin

    def _queue(self, way: int, pairs: Sequence[tuple[Tensor, Tensor]], after: Ordered | None) -> PacedCopy:
        copy = PacedCopy(pairs[0][1])
        copy.job = self._threads[way].submit(self._copy, copy, pairs, after, self._rates[way])
        return copy

    def _copy(
        self, copy: PacedCopy, pairs: Sequence[tuple[Tensor, Tensor]], after: Ordered | None, rate: float
    ) -> None:
        if after is not None:
            after.synchronize()
        time.sleep(self._delay())
        copy.begin = time.perf_counter()
        for source, target in pairs:
            target.copy_(source)
        time.sleep(max(0.0, copy.begin + copy.nbytes / rate - time.perf_counter()))
        copy.end = time.perf_counter()
