"""A tensor within a bound on the error: this hardware's bits beside codecs that the papers have in software.

All make the same error: SZ's is within the same bound, and that of the cosines has the same mean square. Numbers that are
not zero may become zero, as for what a convolution reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import Quantisation
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.quantise import dequantise, quantise

from .entropy import predictive_bytes, predictive_differences, predictive_integers, transformed_within


@dataclass(frozen=True)
class Bounded:
    """Bytes of a tensor per compressed byte, and the error that all make.

    ``error``: The root of the mean square of the errors, relative to that of the numbers.
    """

    error: float
    cdma: float
    sz: float
    jpeg: float


def bounded(tensor: NDArray[np.float32], relative: int) -> Bounded:
    """A tensor of planes, which has a number that is not zero, within ``2**relative`` of its peak."""
    # The greatest power of two that is not above the peak, as a bound of a policy has it.
    bound_exponent = int(np.frexp(np.abs(tensor).max())[1]) - 1 + relative
    bound = 2.0**bound_exponent
    size, restored = _ours(tensor, bound_exponent + 1)
    error = float(np.sqrt(np.square(restored - tensor).mean()))
    differences = predictive_differences(predictive_integers(tensor, bound))
    return Bounded(
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
