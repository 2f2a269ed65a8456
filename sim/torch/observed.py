"""What backward passes are like at the convolutions and linear layers of a model: the statistics that policies need."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn

from .policies import Statistics

__all__ = ["CONVOLUTIONS", "LAYERS", "Observer"]

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
#: The layers whose inputs only the gradient of their weight reads.
LAYERS = (*CONVOLUTIONS, nn.Linear)


class Observer:
    """Takes the statistics of layers in the passes that are observed; between them they stay as they are."""

    def __init__(self) -> None:
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
            self.statistics[layer] = Statistics(loss, square, weight, squares, places, channels, uses)

        return see


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
