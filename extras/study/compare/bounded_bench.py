"""Recorded activations within a bound on the error: this hardware's bits beside codecs that the papers have in software.

All make the same error: SZ's is within the same bound, and that of the cosines has the same mean square. Numbers that are
not zero may become zero, as for what a convolution reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import Quantisation
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.study.recorded import recorded_samples

from .entropy import predictive_bytes, predictive_differences, predictive_integers, transformed_within

#: Exponents of the bound, relative to the largest number.
RELATIVE = (-3, -5, -7)


@dataclass(frozen=True)
class Bounded:
    """One tensor within a bound of ``2**relative`` of its peak: bytes per compressed byte, and the error that all make.

    ``error``: The root of the mean square of the errors, relative to that of the numbers.
    """

    tensor: str
    relative: int
    density: float
    error: float
    cdma: float
    sz: float
    jpeg: float


def bounded_rows(relative: tuple[int, ...] = RELATIVE) -> Iterator[Bounded]:
    """Yields a row for each tensor of planes and bound, and for each bound one of all tensors."""
    samples = {name: each for name, each in recorded_samples().items() if each.ndim == 4}
    for exponent in relative:
        rows = [bounded(name, each, exponent) for name, each in samples.items()]
        yield from rows
        sizes = [samples[row.tensor].nbytes for row in rows]

        def together(name: str, rows: list[Bounded] = rows, sizes: list[int] = sizes) -> float:
            packed = sum(size / getattr(row, name) for row, size in zip(rows, sizes, strict=True))
            return sum(sizes) / packed

        density, error = fmean(row.density for row in rows), fmean(row.error for row in rows)
        yield Bounded("all", exponent, density, error, *map(together, ("cdma", "sz", "jpeg")))


def bounded(name: str, tensor: NDArray[np.float32], relative: int) -> Bounded:
    """A tensor of planes, which has a number that is not zero, within ``2**relative`` of its peak."""
    # The greatest power of two that is not above the peak, as a bound of a policy has it.
    bound_exponent = int(np.frexp(np.abs(tensor).max())[1]) - 1 + relative
    bound = 2.0**bound_exponent
    size, restored = _ours(tensor, bound_exponent + 1)
    error = float(np.sqrt(np.square(restored - tensor).mean()))
    differences = predictive_differences(predictive_integers(tensor, bound))
    return Bounded(
        name,
        relative,
        float(np.count_nonzero(tensor) / tensor.size),
        error / float(np.sqrt(np.square(tensor).mean())),
        tensor.nbytes / size,
        tensor.nbytes / predictive_bytes(differences),
        tensor.nbytes / transformed_within(tensor, error).size,
    )


def _ours(tensor: NDArray[np.float32], step: int) -> tuple[float, NDArray[np.float32]]:
    """The fewest bytes that an engine's stage and codec make of it, table and step included, and the numbers again."""
    words = tensor.view(np.uint32).ravel()
    for bits in (4, 8):
        form = Quantisation("fp32", bits)
        found = quantise(words, step, form)
        if not found.reported:
            break
    integers = found.integers.view(np.uint8) & np.uint8((1 << bits) - 1)
    counts = np.bincount(integers)
    sizes = []
    for code_bits in (1, 2):
        table = tuple(np.argsort(-counts, kind="stable")[: (1 << code_bits) - 1].tolist())
        format = Format(bits, 32, code_bits, (0,) if code_bits == 1 else table)
        packed = len(compress_words(integers, format)) * bits / 8
        sizes.append(packed + (0 if code_bits == 1 else len(table)) + 1)
    back = dequantise(found.integers, step, form).view(np.float32).reshape(tensor.shape)
    return min(sizes), back
