"""What moves bytes between the memory of a device and that of the host, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

__all__ = ["NOTHING", "Copy", "Link", "Ordered"]

#: The target of a copy whose bytes are somebody's.
NOTHING = torch.empty(0, dtype=torch.uint8)


class Ordered(Protocol):
    """Work that ends at some time, which what comes after it must wait for."""

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        ...

    def synchronize(self) -> None:
        """Returns when it has ended; raises what went wrong in it."""
        ...


class Copy(Ordered, Protocol):
    """Bytes on their way.

    ``target``
        Where they arrive.
    ``nbytes``
        How many they are.
    ``begin``, ``end``
        Marks of the link's clock around the copy itself, without its time in the queue.
    """

    target: Tensor
    nbytes: int

    @property
    def begin(self) -> Any: ...

    @property
    def end(self) -> Any: ...

    def wait(self) -> None:
        """Has what this thread computes next wait for the bytes."""
        ...

    def take(self) -> Tensor:
        """Waits, and hands the target over: a copy that is kept for its times keeps no memory of the device."""
        ...


class Link(Protocol):
    """One queue of copies for each direction; both run beside each other and beside what computes.

    ``least_bytes``
        Tensors of fewer bytes are not worth a copy.
    """

    least_bytes: int

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> Copy:
        """Copies bytes of the device to memory of the host, once what was computed until now is there.

        There are one or more sources and targets, and the first are those of the tensor. Sources must be held until the
        copy has ended.
        """
        ...

    def back(self, source: Tensor, after: Ordered | None) -> Copy:
        """Copies bytes of the host to new memory of the device, once ``after`` has ended.

        Source and target must be held until the copy has ended, or until what is computed waits for it.
        """
        ...

    def memory(self, size: int) -> Tensor:
        """Bytes of the host that the link can reach."""
        ...

    def mark(self) -> Any:
        """A mark of now, among what is computed."""
        ...

    def passed(self, mark: Any) -> bool:
        """Whether what was computed before a mark has ended."""
        ...

    def seconds(self, begin: Any, end: Any) -> float:
        """The seconds between two marks, once both have been passed."""
        ...
