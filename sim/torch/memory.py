"""Tensors as they lie in memory: which bytes a tensor has, whether they are another one's, and the tensor again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

__all__ = ["Layout", "Place", "layout_of", "place_of"]


@dataclass(frozen=True)
class Layout:
    """How a tensor lies over elements in one dimension.

    ``size``, ``stride``
        Of the tensor. A dimension with stride 0 has its elements once.
    """

    size: torch.Size
    stride: tuple[int, ...]

    def tensor(self, flat: Tensor) -> Tensor:
        """The tensor with these elements."""
        return flat.as_strided(self.size, self.stride)


#: The bytes of a tensor: what storage, where in it, how many, of what type, and how often written to.
Place = tuple[Any, ...]


def place_of(tensor: Tensor) -> tuple[Place, StorageWeakRef]:
    """Where a tensor lies, and a reference that knows whether the memory is still what it was."""
    storage = tensor.untyped_storage()
    extent = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    dense = _is_dense(tensor)
    shape = () if dense else (tuple(tensor.shape), tensor.stride())
    # A weak reference keeps the address of the storage from being used again.
    reference = StorageWeakRef(storage)
    place = (reference.cdata, tensor.storage_offset(), extent, tensor.numel(), tensor.dtype, *shape)
    return (*place, tensor._version), reference


def layout_of(tensor: Tensor) -> tuple[Callable[[], Tensor], Layout]:
    """How to get the elements of a tensor in one dimension, in the order of memory, and how the tensor lies over them."""
    if _is_dense(tensor):
        return (
            lambda: tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset()),
            Layout(tensor.shape, tensor.stride()),
        )
    once = tensor[tuple(slice(0, 1) if not step else slice(None) for step in tensor.stride())]
    strides, step = [], 1
    for size in reversed(once.shape):
        strides.append(step)
        step *= size
    kept = tuple(
        0 if not stride else new for stride, new in zip(tensor.stride(), reversed(strides), strict=True)
    )
    return lambda: once.contiguous().reshape(-1), Layout(tensor.shape, kept)


def _is_dense(tensor: Tensor) -> bool:
    """Whether the elements lie side by side, each once, in whatever order of the dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True
