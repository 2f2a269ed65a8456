"""How a network is trained, and computing that gives the same numbers on the same kind of machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cdma.base.errors import ParameterError
from cdma.torch.networks.digits import TRAINING_IMAGES

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Schedule:
    """How a network is trained, and how often its activations are shown."""

    #: Passes over the training images.
    epochs: int = 24
    #: Images of a step.
    batch: int = 64
    #: The step size of AdamW. It falls to a tenth at each of ``drops``, which are parts of the training.
    learning_rate: float = 2e-3
    drops: tuple[float, ...] = (0.5, 0.8)
    weight_decay: float = 1e-2
    seed: int = 1
    #: The training images that there are.
    images: int = TRAINING_IMAGES
    #: Training images whose activations are shown.
    probe: int = 32
    #: How often they are shown: before the first step, after the last, and in between, more often early than late.
    points: int = 21

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "images", "probe", "points"):
            value = getattr(self, name)
            least = 2 if name == "points" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ParameterError(f"{name} is {value!r}; it must be a whole number, {least} or more")
        for name in ("batch", "probe"):
            if getattr(self, name) > self.images:
                raise ParameterError(
                    f"{name} is {getattr(self, name)}; there are {self.images} training images"
                )
        if not self.learning_rate > 0:
            raise ParameterError(f"learning_rate is {self.learning_rate!r}; it must be more than 0")

    @property
    def steps(self) -> int:
        """Steps of the whole training; images that do not fill a batch are left for the next epoch."""
        return self.epochs * (self.images // self.batch)

    def shown_after(self) -> tuple[int, ...]:
        """Numbers of steps after which activations are shown; they rise, quadratic in time."""
        steps = np.linspace(0, 1, self.points) ** 2 * self.steps
        return tuple(sorted({round(step) for step in steps.tolist()}))


class reproducible:
    """Makes torch compute deterministically, in one thread, from given random numbers, within a ``with`` block.

    Unless it is ``strict``, kernels of a card for which there is no deterministic one stay what they are.
    """

    def __init__(self, start: int | torch.Tensor, strict: bool = True) -> None:
        self._start, self._strict = start, strict

    def __enter__(self) -> None:
        import torch

        self._before = (
            torch.get_rng_state(),
            torch.get_num_threads(),
            torch.are_deterministic_algorithms_enabled(),
        )
        if isinstance(self._start, int):
            torch.manual_seed(self._start)
        else:
            torch.set_rng_state(self._start)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True, warn_only=not self._strict)

    def __exit__(self, *_: object) -> None:
        import torch

        state, threads, deterministic = self._before
        torch.set_rng_state(state)
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)
