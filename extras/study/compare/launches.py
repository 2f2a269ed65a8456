"""Threads and chunk of the compiled codec on this machine: CSWAP's own subject, its kernels' launch parameters."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from platform import machine

import numpy as np

from cdma.base.errors import CdmaError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.software import CHUNK_BYTES, installed
from cdma.study.tuner.search import Space


@dataclass(frozen=True, order=True)
class Launch:
    """How the codec is called: so many threads, each of which takes so many bytes of raw data at once."""

    threads: int
    chunk_KB: int

    def settings(self) -> dict[str, int]:
        """Returns the arguments of ``cdma.compress`` and ``cdma.decompress``."""
        return {"threads": self.threads, "chunk_bytes": 1024 * self.chunk_KB}


@dataclass(frozen=True)
class Timed:
    """Seconds of a tensor there and back."""

    seconds: float


def launch_space() -> Space[Launch]:
    """Returns all that may be tried here: up to twice as many threads as processors, and chunks of 32 KB to 16 MB."""
    most = 2 * (os.cpu_count() or 1)
    threads = {
        count for count in (1, 2, 3, 4, most // 2, *(2**power for power in range(12))) if count <= most
    }
    chunks = tuple(2**power for power in range(5, 15))
    return Space(_launch, {"threads": tuple(sorted(threads)), "chunk_KB": chunks})


def _launch(threads: int, chunk_KB: int) -> Launch:
    """One thread takes everything at once, whatever a chunk is: that is one launch, not one for each chunk."""
    return Launch(threads, chunk_KB if threads > 1 else CHUNK_BYTES // 1024)


def kernels_name() -> str:
    """Returns the name of the quickest kernels that this processor runs."""
    names = list(installed())
    if not names:
        raise CdmaError("the kernels in C are not built, so there is nothing to time")
    return names[-1]


class Workload:
    """One tensor of scattered zeros, compressed and decompressed."""

    def __init__(self, megabytes: float = 32, density: float = 0.4, seed: int = 1) -> None:
        name = kernels_name()
        self._kernels, self._format = installed()[name], Format()
        #: What is timed and where. Times of another processor are no answers to it.
        self.question = f"{megabytes:g} MB at density {density:g}, kernels {name}, {os.cpu_count()} processors ({machine()})"
        random, words = np.random.default_rng(seed), int(megabytes * 1e6 / 4)
        self._words = random.integers(1, 2**32, words, np.uint32) * (random.random(words) < density)
        self._there = np.ones(self._format.bound_bytes(words), np.uint8)
        self._back = np.ones_like(self._words)

    def timed(self, launch: Launch) -> Timed:
        """Times a launch."""
        return Timed(self.seconds(launch))

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
