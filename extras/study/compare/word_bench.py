"""The compressed size of recorded activations by word, window and bits of a code: what the choice of a codec is worth.

The tensors are those of ``data/samples.npz``, in each type of numbers. The table of frequent words is the one that suits all
tensors of a type together, as an engine has one table for a run. Compressed bytes per raw byte lie on a line over the
density of the numbers, which is exact where a word is a number and only zero has a code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format
from cdma.sim.codec.fit import fit
from cdma.sim.codec.model import analyse
from cdma.sim.codec.number_types import convert
from cdma.study.recorded import recorded_samples

#: The types of numbers as networks name them, and as tensors do.
TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}
_WORDS, _WINDOWS, _CODES = (8, 16, 32), (32, 64), (1, 2, 3, 4)


@dataclass(frozen=True)
class WordLaw:
    """Compressed bytes per raw byte are ``base + slope * density``; ``error`` is the largest distance of a tensor from that
    line, and ``ratio`` that of all tensors together."""

    number_type: str
    word_bits: int
    window: int
    code_bits: int
    base: float
    slope: float
    error: float
    ratio: float


def word_laws() -> Iterator[WordLaw]:
    """Yields the law of each format whose words are as wide as a number, or a part of one."""
    samples = recorded_samples().values()
    for number_type, kind in TYPES.items():
        tensors = [convert(sample, kind).ravel() for sample in samples]
        for word_bits, window, code_bits in product(_WORDS, _WINDOWS, _CODES):
            if word_bits <= 8 * tensors[0].itemsize:
                yield _law(number_type, tensors, Format(word_bits, window, code_bits))


def _law(number_type: str, tensors: list[NDArray[Any]], format: Format) -> WordLaw:
    table = fit(np.concatenate(tensors), format) if format.code_bits > 1 else format
    density = np.array([_density(tensor) for tensor in tensors])
    fraction = np.array([1 / analyse(tensor, table).ratio for tensor in tensors])
    design = np.stack([np.ones_like(density), density], axis=1)
    base, slope = np.linalg.lstsq(design, fraction, rcond=None)[0].tolist()
    return WordLaw(
        number_type,
        format.word_bits,
        format.window,
        format.code_bits,
        base,
        slope,
        float(np.abs(design @ (base, slope) - fraction).max()),
        analyse(np.concatenate(tensors), table).ratio,
    )


def _density(tensor: NDArray[Any]) -> float:
    """Part of the numbers that have any bit set."""
    return float(np.count_nonzero(tensor.view(f"u{tensor.itemsize}"))) / len(tensor)
