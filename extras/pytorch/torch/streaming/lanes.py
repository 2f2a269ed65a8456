"""The way from the host to memory of the device that is used again and again."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from cdma.torch.swapping.card import CardCopy, CardLink
from cdma.torch.swapping.link import Copy
from cdma.torch.swapping.paced import PacedLink

__all__ = ["CardLane", "Lane", "PacedLane", "Passed"]


class Passed(Protocol):
    """What was computed until now."""

    @property
    def there(self) -> bool:
        """Whether it has been computed."""
        ...

    def synchronize(self) -> None:
        """Returns when it has been computed."""
        ...

    def wait(self) -> None:
        """Has what is computed next come behind it, whatever stream of work that is in."""
        ...


class Lane(Protocol):
    """One queue of copies to the device, beside what computes."""

    def fetch(self, source: Tensor, target: Tensor, after: Any) -> Copy:
        """Copies bytes of the host to memory of the device, once ``after`` has passed there."""
        ...

    def now(self) -> Passed:
        """What is computed until now."""
        ...

    def memory(self, size: int) -> Tensor:
        """Bytes of the host that the lane can reach."""
        ...

    def mark(self) -> Any:
        """A mark of now, among what is computed."""
        ...

    def seconds(self, begin: Any, end: Any) -> float:
        """The seconds between two marks, once both have been passed."""
        ...


class _CardPassed:
    """An event in a stream of work."""

    def __init__(self) -> None:
        self.event = torch.cuda.Event()
        self.event.record()

    @property
    def there(self) -> bool:
        """Whether the event has passed."""
        return bool(self.event.query())

    def synchronize(self) -> None:
        """Returns when it has."""
        self.event.synchronize()

    def wait(self) -> None:
        """Has the current stream wait for it."""
        torch.cuda.current_stream().wait_event(self.event)


class CardLane(CardLink):
    """The link of a card; only events order it."""

    def fetch(self, source: Tensor, target: Tensor, after: _CardPassed) -> CardCopy:
        """Copies pinned memory to memory of the card that is the caller's."""
        self._back.wait_event(after.event)
        with torch.cuda.stream(self._back):
            begin = self.mark()
            target.copy_(source, non_blocking=True)
            end = self.mark()
        return CardCopy(target, begin, end, self._coming)

    def now(self) -> _CardPassed:
        """What is computed until now."""
        return _CardPassed()


class _PacedPassed:
    """The processor has computed what it was asked to."""

    there = True

    def synchronize(self) -> None:
        """Returns."""

    def wait(self) -> None:
        """Returns."""


class PacedLane(PacedLink):
    """The link in software."""

    def fetch(self, source: Tensor, target: Tensor, after: Any) -> Copy:
        """Copies bytes at the rate of the link."""
        return self._queue(1, [(source, target)], after)

    def now(self) -> _PacedPassed:
        """All is computed."""
        return _PacedPassed()
