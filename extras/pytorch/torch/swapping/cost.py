"""CSWAP's question: is it worth compressing this tensor? (Chen et al., CLUSTER 2021, equations 1 to 4.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq
from statistics import mean

import numpy as np

__all__ = ["CostModel", "KernelFit", "KernelSample", "octave"]

#: Samples that a fit needs, one for each of its terms.
_LEAST = 3


@dataclass(frozen=True)
class CostModel:
    """Equations 1 to 4 for one tensor, in seconds and bytes.

    ``mask``
        Bytes that a stream has beside what is not zero. The paper leaves them out.
    """

    size: float
    density: float
    d2h_bytes_per_s: float
    h2d_bytes_per_s: float
    hidden_forward: float
    hidden_backward: float
    mask: float = 0.0

    @property
    def plain(self) -> float:
        """T', the exposed time to swap it without compression (equation 1)."""
        return self._exposed(self.size)

    def compressed(self, compress_s: float, decompress_s: float) -> float:
        """Returns T, the exposed time to swap it compressed (equations 2 to 4)."""
        return compress_s + decompress_s + self._exposed(self.size * self.density + self.mask)

    def _exposed(self, size: float) -> float:
        return max(size / self.d2h_bytes_per_s - self.hidden_forward, 0.0) + max(
            size / self.h2d_bytes_per_s - self.hidden_backward, 0.0
        )


@dataclass(frozen=True)
class KernelSample:
    """The seconds that a kernel took for a tensor."""

    size: float
    density: float
    seconds: float


@dataclass(frozen=True)
class KernelFit:
    """Seconds of a kernel by size and density: a start, so much a byte, and so much a byte that is not zero.

    ``error``
        The mean relative error for tensors of octaves of sizes and tenths of densities that were not learnt from; None where
        there is too little else.
    ``noise``
        The mean relative error for what was learnt from.
    """

    coefficients: tuple[float, ...]
    error: float | None
    noise: float = 0.0

    @classmethod
    def of(cls, samples: Sequence[KernelSample]) -> KernelFit:
        """Learns from measured times, by least squares of the relative error."""
        errors: list[float] = []
        for block in sorted({_block(sample) for sample in samples}):
            rest = [one for one in samples if not any(map(eq, _block(one), block))]
            if len(rest) >= _LEAST:
                errors += _errors(_least_squares(rest), [one for one in samples if _block(one) == block])
        found = _least_squares(samples)
        return cls(found, mean(errors) if errors else None, mean(_errors(found, samples)))

    def seconds(self, size: float, density: float) -> float:
        """The seconds for a tensor."""
        return max(0.0, _value(self.coefficients, size, density))


def octave(size: float) -> int:
    """The block of sizes that a size is in: from a power of two to the next."""
    return int(size).bit_length()


def _block(sample: KernelSample) -> tuple[int, int]:
    """The blocks of sizes and of densities that a sample is in."""
    return octave(sample.size), int(10 * sample.density)


def _errors(coefficients: Sequence[float], samples: Sequence[KernelSample]) -> list[float]:
    """The relative error for each."""
    return [abs(_value(coefficients, one.size, one.density) / one.seconds - 1) for one in samples]


def _terms(size: float, density: float) -> tuple[float, ...]:
    return 1.0, size, size * density


def _value(coefficients: Sequence[float], size: float, density: float) -> float:
    return sum(one * term for one, term in zip(coefficients, _terms(size, density), strict=True))


def _least_squares(samples: Sequence[KernelSample]) -> tuple[float, ...]:
    rows = np.array([_terms(one.size, one.density) for one in samples]) / np.array(
        [[one.seconds] for one in samples]
    )
    found = np.linalg.lstsq(rows, np.ones(len(samples)), rcond=None)[0]
    return tuple(float(each) for each in found)
