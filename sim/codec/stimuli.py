"""Seeded tensors for measurements and tests.

``activations`` resembles the output of a first convolution with ReLU, without a network: drawings are filtered with
random kernels, and a threshold per channel leaves the wanted density. Zeros cluster as they do in activations, and
some channels are much emptier than others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError

__all__ = ["activations"]

_SIDE = 64
_KERNELS = 32


def activations(size: int, density: float, seed: int = 0) -> NDArray[np.float32]:
    """Returns at least ``size`` numbers as (n, c, h, w); the fraction ``density`` is positive, the rest is 0."""
    if not 0 <= density <= 1:
        raise ParameterError(f"density is {density}; it is the fraction of words that are not 0, from 0 to 1")
    rng = np.random.default_rng(seed)
    images = max(1, -(-size // (_KERNELS * _SIDE * _SIDE)))
    drawings = np.stack([_drawing(rng) for _ in range(images)])
    kernels = rng.standard_normal((_KERNELS, 3, 3)).astype(np.float32)
    maps = np.zeros((images, _KERNELS, _SIDE, _SIDE), np.float32)
    for row in range(3):
        for column in range(3):
            shifted = drawings[:, None, row : row + _SIDE, column : column + _SIDE]
            maps += kernels[:, row, column][:, None, None] * shifted
    # The densities of the channels spread about the wanted one.
    spread = min(density, 1 - density)
    wanted = density + spread * np.linspace(-0.8, 0.8, _KERNELS)
    for channel, share in enumerate(rng.permutation(wanted)):
        values = maps[:, channel]
        lowest = np.quantile(values, 1 - share) if share < 1 else values.min() - 1
        values -= np.float32(lowest)
    if density == 0:
        return np.zeros_like(maps)
    return np.maximum(maps, 0, out=maps)


def _drawing(rng: np.random.Generator) -> NDArray[np.float32]:
    """Draws soft blobs and a few hard edges, with a little noise like that of a camera."""
    side = _SIDE + 2
    y, x = np.mgrid[:side, :side].astype(np.float32)
    image = rng.normal(0, 0.03, (side, side)).astype(np.float32)
    for _ in range(6):
        centre_x, centre_y = rng.uniform(0, side, 2)
        radius = rng.uniform(4, 20)
        image += rng.normal() * np.exp(-((x - centre_x) ** 2 + (y - centre_y) ** 2) / (2 * radius**2))
    for _ in range(3):
        a, b = rng.normal(size=2)
        image += rng.normal() * (a * (x - side / 2) + b * (y - side / 2) > rng.uniform(-10, 10))
    return image.astype(np.float32)
