"""CSWAP's question: is it worth compressing this tensor? (Chen et al., CLUSTER 2021, equations 1 to 4.)

Kernels that compress on a GPU cannot be timed without one. :class:`KernelTimes` gives them the compiled codec's times on
a processor, measured by size and density, in copies of the tensor: how fast the card copies is what is left to assume. The
regression knows single timings only, and is linear in the size and in size times density, so it errs, as CSWAP's does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .assumptions import Kernels
from .kernel_law import DIRECTIONS, Timings, fitted, measured_timings
from .roofline import Cost

__all__ = ["CostModel", "KernelTimes", "Predictor"]


@dataclass(frozen=True)
class Predictor:
    """Seconds of the kernels by linear regression: constant, per raw byte, per raw byte times density."""

    weights: Mapping[str, NDArray[np.float64]]

    def seconds(self, direction: str, raw_bytes: float, density: float) -> float:
        """Returns the prediction, at least 0."""
        return max(float(self.weights[direction] @ (1.0, raw_bytes, raw_bytes * density)), 0.0)


@dataclass(frozen=True)
class KernelTimes:
    """Times of the kernels on a machine."""

    kernels: Kernels
    dram_bytes_per_s: float

    def cost(self, direction: str, raw_bytes: float, density: float, link_bytes: float) -> Cost:
        """Returns the cost to compress or to decompress one tensor: both read one form of it and write the other."""
        copies = measured_timings().copies(direction, density)
        seconds = copies * raw_bytes * self._copy_s_per_byte + self._launch_s
        return Cost(seconds, raw_bytes + link_bytes)

    def learnt(self, timings: Timings | None = None) -> Predictor:
        """Returns the regression over timings, by default those that come with the package, as this machine has them."""
        known = timings or measured_timings()
        weights = {
            direction: fitted(
                known.bytes,
                known.density,
                known.seconds[direction] / known.copy_s * known.bytes * self._copy_s_per_byte
                + self._launch_s,
            )
            for direction in DIRECTIONS
        }
        return Predictor(weights)

    @property
    def _copy_s_per_byte(self) -> float:
        """Seconds of a copy, which reads and writes each byte."""
        return 2 / (self.dram_bytes_per_s * self.kernels.dram_share)

    @property
    def _launch_s(self) -> float:
        return self.kernels.launch_us * 1e-6


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
