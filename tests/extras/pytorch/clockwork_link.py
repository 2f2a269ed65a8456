"""Ways between a device and its host whose time is counted: marks are a tick apart, and copies arrive at once or when they
are awaited; and one whose copies are late."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from cdma.torch.transport import BACK, OUT, Copy, Instant, Transport

CPU = torch.device("cpu")
#: Seconds between two marks.
_TICK = 1e-6
Pairs = Sequence[tuple[Tensor, Tensor]]


class Delayed(Transport):
    """Before each copy ``delay`` is called, for the seconds that it waits besides."""

    def __init__(self, delay: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(CPU)
        self.delay = delay

    def _move(self, way: int, pairs: Pairs) -> None:
        time.sleep(self.delay())
        super()._move(way, pairs)


class Hasty(Delayed):
    """Who waits for a copy to the device goes on before it has arrived, which it never does."""

    def _begin(self, way: int, pairs: Pairs, after: Any) -> Copy:
        if way != BACK:
            return super()._begin(way, pairs, after)
        pairs[0][1].fill_(0x5A)
        return Copy(pairs, Instant(), Instant(), CPU)


class Awaited(Instant):
    """Comes when it is awaited, and not before."""

    def __init__(self, arrive: Callable[[], None]) -> None:
        super().__init__()
        self._arrive: Callable[[], None] | None = arrive

    def query(self) -> bool:
        return self._arrive is None

    def synchronize(self) -> None:
        if self._arrive is not None:
            self._arrive()
            self._arrive = None


class ClockworkLink(Transport):
    """Copies arrive at once, and take what their rates out and back say."""

    def __init__(self, out_rate: float = 1e9, back_rate: float | None = None) -> None:
        super().__init__(CPU)
        self._rates = out_rate, back_rate or out_rate
        self._now = 0.0

    def mark(self) -> Instant:
        return self._tick()

    def _tick(self) -> Instant:
        self._now += _TICK
        return self._at(self._now)

    def passes(self, seconds: float) -> None:
        """So much time passes."""
        self._now += seconds

    def _at(self, seconds: float) -> Instant:
        mark = Instant()
        mark.time = seconds
        return mark

    def _begin(self, way: int, pairs: Pairs, after: Any) -> Copy:
        if after is not None:
            after.synchronize()
        begin, end = self._tick(), self._tick()
        self._arrive(way, pairs, begin, end)
        return Copy(pairs, begin, end, CPU)

    def _arrive(self, way: int, pairs: Pairs, begin: Instant, end: Instant) -> None:
        self._move(way, pairs)
        end.time = begin.time + max(pairs[0][1].numel() / self._rates[way], 1e-12)


class HeldLink(ClockworkLink):
    """Copies to the host arrive when they are awaited."""

    def _begin(self, way: int, pairs: Pairs, after: Any) -> Copy:
        if way != OUT:
            return super()._begin(way, pairs, after)
        begin = self._tick()
        end = Awaited(lambda: self._arrive(way, pairs, begin, end))
        return Copy(pairs, begin, end, CPU)
