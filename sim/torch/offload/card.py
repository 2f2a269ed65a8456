"""The link between a card and its host: a stream of copies for each direction, from and to pinned memory.

Events order what each stream does; the host waits for nothing but where it must know.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .link import Ordered

__all__ = ["CardCopy", "CardLink"]


class CardCopy:
    """Bytes on their way in a stream of copies."""

    def __init__(self, target: Tensor, begin: torch.cuda.Event, end: torch.cuda.Event) -> None:
        self.target, self.nbytes = target, target.numel()
        self.begin, self.end = begin, end

    @property
    def finished(self) -> bool:
        """Whether the bytes have arrived."""
        return bool(self.end.query())

    def synchronize(self) -> None:
        """Returns when the bytes have arrived."""
        self.end.synchronize()

    def wait(self) -> None:
        """Has what is computed next wait for the bytes."""
        current = torch.cuda.current_stream()
        current.wait_event(self.end)
        if self.target.is_cuda:
            self.target.record_stream(current)


class CardLink:
    """The link of a card."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._out, self._back = torch.cuda.Stream(device), torch.cuda.Stream(device)

    def out(self, source: Tensor, target: Tensor, after: Ordered | None) -> CardCopy:
        """Copies bytes of the card to pinned memory. The allocator has the source again when they have left."""
        self._out.wait_stream(torch.cuda.current_stream(self._device))
        self._order(self._out, after)
        with torch.cuda.stream(self._out):
            begin = self.mark()
            target.copy_(source, non_blocking=True)
            end = self.mark()
        source.record_stream(self._out)
        return CardCopy(target, begin, end)

    def back(self, source: Tensor, after: Ordered | None) -> CardCopy:
        """Copies bytes of pinned memory to new memory of the card, which belongs to the stream of the copy."""
        self._order(self._back, after)
        with torch.cuda.stream(self._back):
            begin = self.mark()
            target = torch.empty(source.numel(), dtype=torch.uint8, device=self._device)
            target.copy_(source, non_blocking=True)
            end = self.mark()
        return CardCopy(target, begin, end)

    def memory(self, size: int) -> Tensor:
        """Pinned bytes of the host."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def mark(self) -> torch.cuda.Event:
        """An event in the current stream."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, begin: torch.cuda.Event, end: torch.cuda.Event) -> float:
        """The seconds between two events; waits for the later one."""
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3

    @staticmethod
    def _order(stream: torch.cuda.Stream, after: Ordered | None) -> None:
        if isinstance(after, CardCopy):
            stream.wait_event(after.end)
        elif after is not None:
            after.synchronize()
