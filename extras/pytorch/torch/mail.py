"""Numbers on their way from a card, which nothing waits for until they are asked for."""

from __future__ import annotations

import torch
from torch import Tensor

from cdma.gpu.tensors import current

__all__ = ["MOST", "Arriving", "Mail"]

#: The most numbers that come together.
MOST = 64


class Mail:
    """Memory of the host for numbers of a card, and the event that says that they have come."""

    def __init__(self, device: torch.device) -> None:
        card = device.type == "cuda"
        self.numbers = torch.empty(MOST, dtype=torch.int64, pin_memory=card)
        self.event = torch.cuda.Event() if card else None


class Arriving:
    """Numbers on their way from the card. Their mail is spare once they were read."""

    def __init__(self, numbers: Tensor, spare: list[Mail]) -> None:
        self._spare = spare
        self._mail: Mail | None = spare.pop() if spare else Mail(numbers.device)
        self._count = numbers.numel()
        self._numbers: list[int] = []
        with current(numbers.device):
            self._mail.numbers[: self._count].copy_(numbers.view(-1), non_blocking=True)
            if self._mail.event is not None:
                self._mail.event.record()

    @property
    def there(self) -> bool:
        """Whether they have come."""
        return self._mail is None or self._mail.event is None or bool(self._mail.event.query())

    def wait(self) -> list[int]:
        """The numbers, once they have come."""
        if self._mail is not None:
            if self._mail.event is not None:
                self._mail.event.synchronize()
            self._numbers = self._mail.numbers[: self._count].tolist()
            self._spare.append(self._mail)
            self._mail = None
        return self._numbers
