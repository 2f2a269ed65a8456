"""Weights that are away: they have their shape, type and device, and no elements. Reading one is an error that says so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import ParameterError

#: Methods that read no element, and attributes that are views of them.
_METHODS = frozenset(
    (
        *("size", "dim", "ndimension", "numel", "nelement", "element_size", "stride", "type", "data_ptr"),
        *("get_device", "is_contiguous", "is_floating_point", "is_complex", "is_signed", "untyped_storage"),
    )
)
_VIEWS = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))


class Away(nn.Parameter):
    """What a parameter is while it is away."""

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        name = function.__name__
        attribute = getattr(getattr(function, "__self__", None), "__name__", "")
        if name in _METHODS or (name == "__get__" and attribute not in _VIEWS):
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **(kwargs or {}))
        raise ParameterError(
            f"{attribute or name} reads a weight that is away: while a model is streamed, weights are there in calls of "
            "their modules alone"
        )


def without_elements(weight: Tensor, device: torch.device) -> Tensor:
    """Of the shape and type of a weight, in the memory of one element."""
    nothing = math.nan if weight.is_floating_point() or weight.is_complex() else 0
    return torch.full((), nothing, dtype=weight.dtype, device=device).expand(weight.shape)


def send(weight: nn.Parameter, nothing: Tensor) -> None:
    """Has a weight be away."""
    bring(weight, nothing)
    weight.__class__ = Away


def bring(weight: nn.Parameter, elements: Tensor) -> None:
    """Has a weight have elements."""
    weight.__class__ = nn.Parameter
    weight.data = elements
