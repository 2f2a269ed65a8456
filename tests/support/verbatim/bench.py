"""What the regression knows of the toy codec."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.model import TRAILING, TRUNCATED
from cdma.sim.codec.words import Words, word_dtype
from cdma.verif.stream.codec.codec_bench import CodecBench, Limits


class VerbatimBench(CodecBench):
    """Any words at all; there are no codes that could be wrong."""

    errors = frozenset({TRUNCATED, TRAILING})

    def fill(self, rng: np.random.Generator, literal: NDArray[np.bool_], config: CodecConfig) -> Words:
        words = rng.integers(0, 1 << config.format.word_bits, len(literal), np.uint64)
        return np.where(literal, words, 0).astype(word_dtype(config.format))

    def limits(self, config: CodecConfig, block: str) -> Limits:
        return Limits(constant=2, latency=1, back_to_back=2)


BENCH = VerbatimBench()
