"""What backward passes are like at the convolutions and linear layers of a model: the statistics that policies need.
Tensors as they lie in memory: which bytes a tensor has, whether they are another one's, and the tensor again.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from .policies import Statistics

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
#: The layers whose inputs only the gradient of their weight reads.
LAYERS = (*CONVOLUTIONS, nn.Linear)


class Observer:
    """Takes the statistics of layers in the passes that are observed; between them they stay as they are.

    ``optimiser``: Whose momentum is taken with them, if any.
    """

    def __init__(self, optimiser: Optimizer | None = None) -> None:
        self._optimiser = optimiser
        self.statistics: dict[nn.Module, Statistics] = {}
        self._output: dict[nn.Module, tuple[float, float, float, float]] = {}

    def watch(self, layer: nn.Module, output: Tensor) -> None:
        """Observes the backward pass of a layer that has just made ``output``."""
        weight: Any = layer.weight
        if not (output.requires_grad and weight.requires_grad):
            return
        arriving = self._arriving(layer)
        output.register_hook(arriving)
        _register_while(arriving, weight, self._leaving(layer))

    def _arriving(self, layer: nn.Module) -> Callable[[Tensor], None]:
        def see(gradient: Tensor) -> None:
            values = gradient.detach().float()
            channels = gradient.shape[1] if isinstance(layer, CONVOLUTIONS) else gradient.shape[-1]
            places = gradient.numel() / channels
            square = float(values.square().mean())
            self._output[layer] = (float(values.abs().mean()), square, places, float(channels))

        return see

    def _leaving(self, layer: nn.Module) -> Callable[[Tensor], None]:
        def see(gradient: Tensor) -> None:
            arrived = self._output.pop(layer, None)
            if arrived is None:
                return
            loss, square, places, channels = arrived
            values = gradient.detach().float()
            weight, squares = float(values.abs().mean()), float(values.square().sum())
            uses = 1.0
            if isinstance(layer, CONVOLUTIONS):
                channels /= layer.groups
                for size, stride in zip(layer.kernel_size, layer.stride, strict=True):
                    uses *= size / stride
            momentum = self._momentum(layer.weight)
            self.statistics[layer] = Statistics(
                loss,
                square,
                weight,
                squares,
                weight if momentum is None else momentum,
                places,
                channels,
                uses,
            )

        return see

    def _momentum(self, weight: object) -> float | None:
        """The mean of the absolute values of a weight's momentum, if there is one: a sum of gradients, as SGD has it."""
        if self._optimiser is None or weight not in self._optimiser.state:
            return None
        state, scale = self._optimiser.state[weight], 1.0
        found = state.get("momentum_buffer")
        if found is None and (found := state.get("exp_avg")) is not None:
            # Adam and its kin have the mean of gradients in the place of their sum.
            groups = self._optimiser.param_groups
            group = next(group for group in groups if any(each is weight for each in group["params"]))
            scale = 1 / (1 - float(group["betas"][0]))
        return None if found is None else float(found.float().abs().mean()) * scale


def _register_while(alive: object, weight: Tensor, see: Callable[[Tensor], None]) -> None:
    """Has ``see`` called with the next gradient of ``weight``, if that comes while ``alive`` is there."""
    reference: weakref.ref[Any]

    def once(gradient: Tensor) -> None:
        handle.remove()
        if reference() is not None:
            see(gradient)

    handle = weight.register_hook(once)
    hooks: Any = weight._backward_hooks
    # In C: in a callback in Python, the exception of a signal handler would be lost.
    reference = weakref.ref(alive, partial(hooks.pop, handle.id))


#: The types whose bytes the codec takes; an older torch has not all of them.
_TYPES = frozenset(
    getattr(torch, name)
    for name in (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *(
            "float8_e4m3fn",
            "float8_e5m2",
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        ),
    )
    if hasattr(torch, name)
)


@dataclass(slots=True)
class Layout:
    """How a tensor lies over elements in one dimension.

    ``size``, ``stride``: Of the tensor. Elements may be in several places of it.
    ``negated``, ``conjugated``: Whether the tensor has the negated, or the conjugate, values of the elements.
    ``given``: The tensor that was made last, and its version.
    """

    size: torch.Size
    stride: tuple[int, ...]
    negated: bool = False
    conjugated: bool = False
    given: tuple[weakref.ref[Tensor], int] | None = field(default=None, compare=False)

    def tensor(self, restored: Callable[[], Tensor]) -> Tensor:
        """The tensor with these elements: one as long as somebody has it, and nobody wrote to it."""
        tensor = None if self.given is None else self.given[0]()
        if tensor is None or self.given is None or tensor._version != self.given[1]:
            tensor = restored().as_strided(self.size, self.stride)
            tensor = torch._neg_view(tensor) if self.negated else tensor
            tensor = tensor.conj() if self.conjugated else tensor
            self.given = weakref.ref(tensor), tensor._version
        return tensor


#: The bytes of a tensor: what storage, where in it, how many, of what type, and how often written to.
Place = tuple[Any, ...]


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor has elements in memory, which strides say and whose bytes the codec takes.

    Subclasses, sparse, nested, quantised and meta tensors, zeros without memory and the wrappers of ``torch.func`` and of
    ``torch.compile`` have not.
    """
    return (
        type(tensor) in (Tensor, nn.Parameter)
        and tensor.layout == torch.strided
        and tensor.dtype in _TYPES
        and not (tensor.is_meta or tensor.is_nested or tensor._is_zerotensor())
        and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        and not torch._is_functional_tensor(tensor)
        and tensor.numel() > 0
    )


def in_memory(tensor: Tensor) -> Tensor:
    """The elements as they lie in memory, where a view has their negated or conjugate values."""
    tensor = tensor.detach()
    tensor = tensor.conj() if tensor.is_conj() else tensor
    return torch._neg_view(tensor) if tensor.is_neg() else tensor


def place_of(tensor: Tensor) -> tuple[Place, Any]:
    """Where a tensor lies, and its storage, which says whether that is still the same memory."""
    storage = tensor.untyped_storage()
    if _is_dense(tensor):
        return (
            storage._cdata,
            tensor.storage_offset(),
            tensor.numel(),
            tensor.dtype,
            tensor._version,
        ), storage
    span = _span(tensor)
    shape = () if span <= _once(tensor) else (tuple(tensor.shape), tensor.stride())
    return (storage._cdata, tensor.storage_offset(), span, tensor.dtype, tensor._version, *shape), storage


def layout_of(tensor: Tensor) -> tuple[Callable[[], Tensor], torch.Size, tuple[int, ...]]:
    """How to get the elements of a tensor in one dimension, in the order of memory, and its size and strides over them."""
    span = tensor.numel() if (dense := _is_dense(tensor)) else _span(tensor)
    if dense or span <= _once(tensor):
        # Nothing lies between the elements; windows that overlap have theirs several times.
        return (
            lambda: tensor.as_strided((span,), (1,), tensor.storage_offset()),
            tensor.shape,
            tensor.stride(),
        )
    once = tensor[tuple(slice(0, 1) if not step else slice(None) for step in tensor.stride())]
    # In the order of strides, as a clone: other orders of the same numbers have products of other last bits.
    strides = torch.empty_like(once, device="meta").stride()
    kept = tuple(new if step else 0 for step, new in zip(tensor.stride(), strides, strict=True))
    return lambda: once.clone().as_strided((once.numel(),), (1,)), tensor.shape, kept


def _is_dense(tensor: Tensor) -> bool:
    """Whether a tensor has every element of its memory once, in one of the usual orders: most have."""
    return tensor.is_contiguous() or tensor.is_contiguous(memory_format=torch.channels_last)


def _span(tensor: Tensor) -> int:
    """Elements of memory from the first to the last."""
    return 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))


def _once(tensor: Tensor) -> int:
    """Elements of a tensor without the repetitions of dimensions with stride 0."""
    return math.prod(size for size, step in zip(tensor.shape, tensor.stride(), strict=True) if step)


def cuda_stream(device: torch.device) -> Any:
    """The current CUDA stream of a GPU; None of a processor."""
    return torch.cuda.current_stream(device) if device.type == "cuda" else None


def on_stream(stream: Any) -> AbstractContextManager[object]:
    """Has a CUDA stream, if it is one, be the current one."""
    return nullcontext() if stream is None else torch.cuda.stream(stream)
