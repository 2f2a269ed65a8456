"""Threads and chunk of the compiled codec on this machine: CSWAP's own subject, its kernels' launch parameters."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.native import installed

__all__ = ["Launch", "Workload", "launches"]


@dataclass(frozen=True)
class Launch:
    """How the codec is called: so many threads, each of which takes so many bytes of raw data at once."""

    threads: int
    chunk_KB: int


def launches() -> Iterator[Launch]:
    """Yields all that may be tried here."""
    most = os.cpu_count() or 1
    threads = sorted({1, 2, 3, 4, most, 2 * most} & set(range(1, 2 * most + 1)))
    for count, chunk in product(threads, (2**power for power in range(5, 15))):
        yield Launch(count, chunk)


class Workload:
    """One tensor of scattered zeros, compressed and decompressed."""

    def __init__(self, megabytes: float = 32, density: float = 0.4, seed: int = 1) -> None:
        if not (kernels := installed()):
            raise CdmaError("the kernels in C are not built, so there is nothing to tune")
        self._kernels, self._format = list(kernels.values())[-1], Format()
        random, words = np.random.default_rng(seed), int(megabytes * 1e6 / 4)
        self._words = random.integers(1, 2**32, words, np.uint32) * (random.random(words) < density)
        self._there = np.ones(self._format.bound_bytes(words), np.uint8)
        self._back = np.ones_like(self._words)

    def seconds(self, launch: Launch, calls: int = 5) -> float:
        """Returns the least time on the clock, there and back."""
        best = np.inf
        for _ in range(calls):
            began = time.perf_counter()
            size = self._kernels.compress(
                self._words, self._format, self._there, launch.threads, launch.chunk_KB * 1024
            )
            self._kernels.decompress(
                self._there[:size], self._back, self._format, launch.threads, launch.chunk_KB * 1024
            )
            best = min(best, time.perf_counter() - began)
        if not np.array_equal(self._back, self._words):
            raise CdmaError("the codec did not give back what it was given")
        return float(best)
