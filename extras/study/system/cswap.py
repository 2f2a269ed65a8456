"""The times of kernels that compress on a GPU, for CSWAP's equations, where there is no GPU to time them.

:class:`KernelTimes` gives them the compiled codec's times on a processor, in copies of the tensor: how fast the card copies
is what is left to assume.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .assumptions import Kernels
from .roofline import Cost

__all__ = ["KernelTimes"]

#: Copies of a tensor that the compiled codec takes on one thread of a processor, by density: medians for tensors of 128 MiB,
#: which no cache holds. Without any zero to skip, decompression takes twice as long as with a few.
_DENSITIES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
_COPIES = {
    "compress": (0.875, 0.901, 0.928, 0.923, 0.909, 0.94, 0.993, 1.101, 1.138, 1.211, 1.293, 1.358, 1.318),
    "decompress": (0.543, 0.547, 0.58, 0.623, 0.683, 0.722, 0.797, 0.833, 0.926, 0.93, 1.014, 1.114, 2.021),
}


@dataclass(frozen=True)
class KernelTimes:
    """Times of the kernels on a machine."""

    kernels: Kernels
    dram_bytes_per_s: float

    def cost(self, direction: str, raw_bytes: float, density: float, link_bytes: float) -> Cost:
        """Returns the cost to compress or to decompress one tensor: both read one form of it and write the other."""
        return Cost(self.seconds(direction, raw_bytes, density), raw_bytes + link_bytes)

    def seconds(self, direction: str, raw_bytes: float, density: float) -> float:
        """Returns the seconds of a kernel: some copies of its tensor, each of which reads and writes it, and the launch."""
        copies = float(np.interp(density, _DENSITIES, _COPIES[direction]))
        copy_s_per_byte = 2 / (self.dram_bytes_per_s * self.kernels.dram_share)
        return copies * raw_bytes * copy_s_per_byte + self.kernels.launch_us * 1e-6
