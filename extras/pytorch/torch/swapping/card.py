"""The link between a card and its host: a stream of copies for each direction, from and to pinned memory.

Events order what each stream does; the host waits for nothing but where it must know. All memory of the card is of the
stream that computes: what comes back is written once that stream has reached the place where its memory was taken. So the
allocator uses memory again in the order of that stream, and no tensor is recorded for another one, which would keep its
memory until the copies queued behind it have ended, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch
from torch import Tensor

from .link import NOTHING, Ordered

__all__ = ["CardCopy", "CardLink"]


class CardCopy:
    """Bytes on their way in a stream of copies.

    ``coming``
        Copies back that nothing has waited for yet.
    """

    def __init__(
        self, target: Tensor, begin: torch.cuda.Event, end: torch.cuda.Event, coming: set[CardCopy]
    ) -> None:
        self.target, self.nbytes = target, target.numel()
        self.begin, self.end = begin, end
        self._device, self._coming = target.device, coming

    @property
    def finished(self) -> bool:
        """Whether the bytes have arrived."""
        return bool(self.end.query())

    def synchronize(self) -> None:
        """Returns when the bytes have arrived."""
        self.end.synchronize()

    def wait(self) -> None:
        """Has what is computed next wait for the bytes."""
        torch.cuda.current_stream(self._device).wait_event(self.end)
        self._coming.discard(self)

    def take(self) -> Tensor:
        """Has what is computed next wait for the bytes, which are the caller's alone."""
        self.wait()
        target, self.target = self.target, NOTHING
        return target


class CardLink:
    """The link of a card."""

    #: Launching a copy and two kernels takes as long as these bytes.
    least_bytes = 1 << 16

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._out, self._back = torch.cuda.Stream(device), torch.cuda.Stream(device)
        # Memory that is being read or written, whoever lets go of it.
        self._leaving: deque[tuple[torch.cuda.Event, list[Tensor]]] = deque()
        self._coming: set[CardCopy] = set()

    def __del__(self) -> None:
        for copy in self._coming:
            copy.synchronize()
        for event, _ in self._leaving:
            event.synchronize()

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> CardCopy:
        """Copies bytes of the card to pinned memory."""
        self._out.wait_stream(torch.cuda.current_stream(self._device))
        begin = self._mark(self._out)
        with torch.cuda.stream(self._out):
            for source, target in pairs:
                target.copy_(source, non_blocking=True)
        end = self._mark(self._out)
        self._let_go()
        self._leaving.append((end, [source for source, _ in pairs]))
        return CardCopy(pairs[0][1], begin, end, self._coming)

    def back(self, source: Tensor, after: Ordered | None) -> CardCopy:
        """Copies bytes of pinned memory to new memory of the card."""
        # A backward pass has no copies out that would do it.
        self._let_go()
        with torch.cuda.device(self._device):
            target = torch.empty(source.numel(), dtype=torch.uint8, device=self._device)
        self._back.wait_stream(torch.cuda.current_stream(self._device))
        if isinstance(after, CardCopy):
            self._back.wait_event(after.end)
        elif after is not None:
            after.synchronize()
        begin = self._mark(self._back)
        with torch.cuda.stream(self._back):
            target.copy_(source, non_blocking=True)
        end = self._mark(self._back)
        copy = CardCopy(target, begin, end, self._coming)
        self._coming.add(copy)
        return copy

    def memory(self, size: int) -> Tensor:
        """Pinned bytes of the host."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def mark(self) -> torch.cuda.Event:
        """An event in the stream that computes."""
        return self._mark(torch.cuda.current_stream(self._device))

    def passed(self, mark: torch.cuda.Event) -> bool:
        """Whether the card has come to an event."""
        return bool(mark.query())

    def seconds(self, begin: torch.cuda.Event, end: torch.cuda.Event) -> float:
        """The seconds between two events; waits for the later one."""
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3

    def _let_go(self) -> None:
        """Has the allocator have memory again that has been read."""
        while self._leaving and self._leaving[0][0].query():
            self._leaving.popleft()

    @staticmethod
    def _mark(stream: torch.cuda.Stream) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record(stream)
        return event
