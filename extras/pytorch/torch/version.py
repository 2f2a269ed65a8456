"""Whether a tensor was written to after autograd kept it. PyTorch asks no more once hooks have what it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

#: The name of what no module keeps.
OUTSIDE = "outside the model"


@dataclass(slots=True)
class Watch:
    """A tensor's count of writes, as it was.

    ``counter``: A tensor with the same count.
    ``shape``: The tensor's; that of a nested tensor is no one list.
    ``name``: What runs when the tensor is kept, for the message; ``OUTSIDE`` outside of it.
    """

    counter: Tensor
    version: int
    shape: tuple[int, ...] | None
    name: str

    @property
    def is_written(self) -> bool:
        """Whether the tensor was written to."""
        return bool(self.counter._version != self.version)

    def check(self) -> None:
        """Raises the error that PyTorch raises if the tensor was written to."""
        if self.is_written:
            now = self.counter._version
            shape = "nested" if self.shape is None else list(self.shape)
            where = OUTSIDE if self.name == OUTSIDE else f"in {self.name}"
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{self.counter.type()} {shape}], which was kept {where} and is at version {now}; expected "
                f"version {self.version} instead. Hint: enable anomaly detection to find the operation that failed to "
                "compute its gradient, with torch.autograd.set_detect_anomaly(True)."
            )


def watch(tensor: Tensor, name: str, memory: bool) -> Watch:
    """Watches a tensor; without ``memory`` its elements are not held."""
    # One tensor that was kept several times comes back as one.
    counter = tensor.detach() if tensor.requires_grad or not memory else tensor
    if not memory:
        # Other elements leave the count what it is.
        counter.data = _empty(tensor.dtype, tensor.device)
    return Watch(counter, tensor._version, None if tensor.is_nested else tensor.shape, name)


@cache
def _empty(dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.empty(0, dtype=dtype, device=device)
