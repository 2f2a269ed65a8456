"""CSWAP's question: is it worth compressing this tensor? (Chen et al., CLUSTER 2021, equations 1 to 4.)

Kernels that compress on a GPU cannot be timed without one. :class:`KernelTimes` gives them the compiled codec's times on
a processor, measured by size and density, in copies of the tensor: how fast the card copies is what is left to assume. The
regression has a few weights for all sizes and densities, so it errs, as CSWAP's does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .assumptions import Kernels
from .kernel_law import KernelLaw, measured_laws
from .kernel_timings import Timings, measured_timings
from .roofline import Cost

__all__ = ["CostModel", "KernelTimes", "Predictor"]


@dataclass(frozen=True)
class KernelTimes:
    """Times of the kernels on a machine."""

    kernels: Kernels
    dram_bytes_per_s: float

    def cost(self, direction: str, raw_bytes: float, density: float, link_bytes: float) -> Cost:
        """Returns the cost to compress or to decompress one tensor: both read one form of it and write the other."""
        copies = measured_timings().copies(direction, density)
        return Cost(self.seconds(copies, raw_bytes), raw_bytes + link_bytes)

    def seconds(self, copies: float, raw_bytes: float) -> float:
        """Returns the seconds of a kernel that takes as long as some copies of its tensor, which read and write it."""
        copy_s_per_byte = 2 / (self.dram_bytes_per_s * self.kernels.dram_share)
        return copies * raw_bytes * copy_s_per_byte + self.kernels.launch_us * 1e-6

    def learnt(self) -> Predictor:
        """Returns the regression over the timings that come with the package, as this machine has them."""
        return Predictor(self, measured_timings(), measured_laws())


@dataclass(frozen=True)
class Predictor:
    """Seconds of the kernels on a machine by regression."""

    times: KernelTimes
    timings: Timings
    #: What was learnt from the timings, by direction.
    laws: Mapping[str, KernelLaw]

    def seconds(self, direction: str, raw_bytes: float, density: float) -> float:
        """Returns the prediction: the copies that the law has for the largest tensor that was timed."""
        seconds = self.laws[direction].seconds(self.timings.largest, density)
        return self.times.seconds(seconds / self.timings.largest_copy_s, raw_bytes)


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
