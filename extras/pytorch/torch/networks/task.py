"""What networks learn: images with classes, and the networks that fit them (needs the ``torch`` extra)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from .digits import CLASSES, TRAINING_IMAGES, digits
from .fractals import Fractals
from .full_size import FULL_SIZE, FULL_SIZE_SHAPE
from .networks import BUILDERS

#: One of so many fractals is kept from training.
_KEPT_OF = 10
#: Images whose shades are those of all.
_SHADES = 1000


@dataclass(frozen=True)
class Task:
    """Images, the classes of these, and what builds a network by its name.

    ``about``: What the images are, for a record.
    ``training``: How many images are for training; the others measure the accuracy.
    ``mean``, ``deviation``: Of the images. What a network gets has the mean 0 and the deviation 1.
    ``channels``: How often a network gets the grey values.
    """

    about: str
    images: Tensor
    classes: Tensor
    training: int
    networks: Mapping[str, Callable[[], nn.Module]]
    mean: float = 0.0
    deviation: float = 1.0
    channels: int = 1

    def inputs(self, which: Tensor | slice) -> Tensor:
        """The images as a network gets them."""
        grey = self.images[which].float().sub_(self.mean).div_(self.deviation)
        return grey.expand(-1, self.channels, -1, -1)


def digits_task() -> Task:
    """Digits of 32 x 32 pixels, for the small networks."""
    images, classes = (torch.from_numpy(array) for array in digits())
    about = f"scikit-learn's digits, {TRAINING_IMAGES} training images of 32 x 32"
    networks = _small(CLASSES)
    return Task(about, images, classes, TRAINING_IMAGES, networks)


def fractals_task(fractals: Fractals) -> Task:
    """Fractals: for the networks in their own size where they are large enough, and else for the small ones."""
    images, classes = fractals.draw()
    training = len(images) - len(images) // _KEPT_OF
    about = (
        f"fractals of {fractals.categories} kinds, {training} training images of {fractals.side} x {fractals.side}, "
        f"seed {fractals.seed}"
    )
    full = fractals.side == FULL_SIZE_SHAPE[-1]
    shades = images[:_SHADES].float()
    mean, deviation = float(shades.mean()), float(shades.std())
    networks = FULL_SIZE if full else _small(fractals.categories)
    return Task(
        about, images, classes, training, networks, mean, deviation, FULL_SIZE_SHAPE[0] if full else 1
    )


def _small(classes: int) -> Mapping[str, Callable[[], nn.Module]]:
    return {name: partial(build, classes) for name, build in BUILDERS.items()}
