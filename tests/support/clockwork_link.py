"""A link whose time is counted: copies arrive at once, and marks are a tick apart, whatever else the machine does."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from cdma.sim.torch.offload.link import Ordered
from cdma.sim.torch.offload.paced import PacedCopy

__all__ = ["ClockworkLink"]

#: Seconds between two marks.
_TICK = 1e-6


class ClockworkLink:
    """Takes the place of a :class:`PacedLink` of the same rates."""

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

    def passed(self, mark: float) -> bool:
        return True

    def seconds(self, begin: float, end: float) -> float:
        return end - begin

    def _copy(self, pairs: Sequence[tuple[Tensor, Tensor]], rate: float) -> PacedCopy:
        copy = PacedCopy(pairs[0][1])
        for source, target in pairs:
            target.copy_(source)
        copy.begin = self.mark()
        copy.end = copy.begin + max(copy.nbytes / rate, 1e-12)
        copy.job.set_result(None)
        return copy
