"""CSWAP's question: is it worth compressing this tensor? (Chen et al., CLUSTER 2021, equations 1 to 4.)

Kernels that compress on a GPU cannot be timed without one. :class:`KernelTimes` replaces them: it returns what one
would measure, with a rate that grows with the size of the tensor, a part that depends on the density, and jitter. The
regression knows only such timings, and is linear in the size and in size times density, so it errs, as CSWAP's does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .assumptions import Kernels
from .roofline import Cost

__all__ = ["CostModel", "KernelTimes", "Predictor", "learn"]


@dataclass(frozen=True)
class KernelTimes:
    """Times of the kernels on a machine."""

    kernels: Kernels
    dram_bytes_per_s: float

    def cost(self, raw_bytes: float, density: float, link_bytes: float) -> Cost:
        """Returns the cost to compress or to decompress one tensor: both read one form of it and write the other."""
        moved = raw_bytes + link_bytes
        half = self.kernels.half_rate_MiB * 2**20
        rate = self.dram_bytes_per_s * self.kernels.dram_share * raw_bytes / (raw_bytes + half)
        seconds = moved * (1 + self.kernels.skew * density) / rate + self.kernels.launch_us * 1e-6
        return Cost(seconds, moved)

    def timing(
        self, raw_bytes: float, density: float, link_bytes: float, random: np.random.Generator
    ) -> float:
        """Returns one measurement of that cost, in seconds."""
        factor = 1 + self.kernels.jitter * float(random.standard_normal())
        return self.cost(raw_bytes, density, link_bytes).seconds * max(factor, 0.1)


@dataclass(frozen=True)
class Predictor:
    """Seconds of a kernel by linear regression: constant, per raw byte, per raw byte times density."""

    weights: NDArray[np.float64]

    def seconds(self, raw_bytes: float, density: float) -> float:
        """Returns the prediction, at least 0."""
        return max(float(self.weights @ (1.0, raw_bytes, raw_bytes * density)), 0.0)


def learn(
    times: KernelTimes, smallest: float, largest: float, fraction: Callable[[float], float], seed: int
) -> Predictor:
    """Returns the regression over timings of tensors from ``smallest`` to ``largest`` bytes, at random densities.

    ``fraction`` returns compressed bytes per raw byte at a density.
    """
    random = np.random.default_rng(seed)
    count = times.kernels.samples
    sizes = np.exp(random.uniform(np.log(smallest), np.log(max(largest, smallest * 2)), count))
    densities = random.uniform(0, 1, count)
    seconds = np.array(
        [
            times.timing(size, density, size * fraction(density), random)
            for size, density in zip(sizes.tolist(), densities.tolist(), strict=True)
        ]
    )
    features = np.stack([np.ones(count), sizes, sizes * densities], axis=1)
    # Relative errors count, because absolute ones would be those of the largest tensors alone.
    weights = np.linalg.lstsq(features / seconds[:, None], np.ones(count), rcond=None)[0]
    return Predictor(weights)


@dataclass(frozen=True)
class CostModel:
    """Equations 1 to 4 for one tensor."""

    size: float
    density: float
    d2h_bytes_per_s: float
    h2d_bytes_per_s: float
    hidden_forward: float
    hidden_backward: float

    @property
    def plain(self) -> float:
        """T', the exposed time to swap it without compression (equation 1)."""
        return self._exposed(self.size)

    def compressed(self, compress_s: float, decompress_s: float) -> float:
        """Returns T, the exposed time to swap it compressed (equations 2 to 4, which leave out the mask)."""
        return compress_s + decompress_s + self._exposed(self.size * self.density)

    def worth_it(self, compress_s: float, decompress_s: float) -> bool:
        """Returns whether to compress: T < T'."""
        return self.compressed(compress_s, decompress_s) < self.plain

    def _exposed(self, size: float) -> float:
        return max(size / self.d2h_bytes_per_s - self.hidden_forward, 0.0) + max(
            size / self.h2d_bytes_per_s - self.hidden_backward, 0.0
        )
