"""What backward passes are like at the convolutions and linear layers of a model: the statistics that policies need."""

from __future__ import annotations

from collections.abc import Callable
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
        output.register_hook(self._arriving(layer))
        handle: list[Any] = []
        handle.append(weight.register_hook(self._leaving(layer, handle)))

    def _arriving(self, layer: nn.Module) -> Callable[[Tensor], None]:
        def see(gradient: Tensor) -> None:
            values = gradient.detach().float()
            channels = gradient.shape[1] if isinstance(layer, CONVOLUTIONS) else gradient.shape[-1]
            places = gradient.numel() / channels
            square = float(values.square().mean())
            self._output[layer] = (float(values.abs().mean()), square, places, float(channels))

        return see

    def _leaving(self, layer: nn.Module, handle: list[Any]) -> Callable[[Tensor], None]:
        def see(gradient: Tensor) -> None:
            handle[0].remove()
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
