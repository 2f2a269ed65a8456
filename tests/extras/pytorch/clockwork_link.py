"""Links whose time is counted: marks are a tick apart, and copies arrive at once or when they are awaited."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from cdma.torch.swapping.link import Ordered, PacedCopy

#: Seconds between two marks.
_TICK = 1e-6


class ClockworkLink:
    """Takes the place of a :class:`PacedLink` of the same rates; copies arrive at once."""

    least_bytes = 1024

    def __init__(self, out_rate: float, back_rate: float) -> None:
        self._out, self._back = out_rate, back_rate
        self._now = 0.0

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> PacedCopy:
        return self._copy(pairs, self._out)

    def back(self, source: Tensor, after: Ordered | None) -> PacedCopy:
        if after is not None:
            after.synchronize()
        return self._copy([(source, torch.empty_like(source))], self._back)

    def memory(self, size: int) -> Tensor:
        return torch.empty(size, dtype=torch.uint8)

    def mark(self) -> float:
        self._now += _TICK
        return self._now

    def passes(self, seconds: float) -> None:
        """So much time passes."""
        self._now += seconds

    def passed(self, mark: float) -> bool:
        return True

    def seconds(self, begin: float, end: float) -> float:
        return end - begin

    def _copy(self, pairs: Sequence[tuple[Tensor, Tensor]], rate: float) -> PacedCopy:
        copy = PacedCopy(pairs[0][1])
        self._arrive(copy, pairs, rate)
        return copy

    def _arrive(self, copy: PacedCopy, pairs: Sequence[tuple[Tensor, Tensor]], rate: float) -> None:
        for source, target in pairs:
            target.copy_(source)
        copy.begin = self.mark()
        copy.end = copy.begin + max(copy.nbytes / rate, 1e-12)
        copy.job.set_result(None)


class HeldCopy(PacedCopy):
    """A copy that is made when it is awaited, and not before."""

    def __init__(self, target: Tensor, arrive: Callable[[PacedCopy], None]) -> None:
        super().__init__(target)
        self._arrive = arrive

    def synchronize(self) -> None:
        if not self.job.done():
            self._arrive(self)

    wait = synchronize


class HeldLink(ClockworkLink):
    """Copies to the host arrive when they are awaited."""

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> PacedCopy:
        return HeldCopy(pairs[0][1], lambda copy: self._arrive(copy, pairs, self._out))
