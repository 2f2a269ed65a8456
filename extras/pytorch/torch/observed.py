"""What backward passes are like at the convolutions and linear layers of a model: the statistics that policies need."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from .policies import Statistics

__all__ = ["CONVOLUTIONS", "LAYERS", "Observer"]

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
#: The layers whose inputs only the gradient of their weight reads.
LAYERS = (*CONVOLUTIONS, nn.Linear)


class Observer:
    """Takes the statistics of layers in the passes that are observed; between them they stay as they are.

    ``optimiser``
        Whose momentum is taken with them, if any.
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
