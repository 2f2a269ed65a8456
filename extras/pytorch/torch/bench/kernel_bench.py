"""What a tensor takes to leave a device and come back, by codec: computing, ratio, and the copies of the stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from timeit import repeat
from typing import Any

import numpy as np

from cdma.base.errors import CdmaError
from cdma.gpu.peers.codecs import available, make
from cdma.sim.codec.words import Words

#: The codecs that are compared, by their names in :data:`.CODECS`.
KERNELS = ("zv", "rl", "csr", "lz4")


class WrongRoundTrip(CdmaError):
    """A codec did not restore the data that it compressed."""


@dataclass(frozen=True)
class KernelBench:
    """What is measured.

    ``link``: Bytes per second of the link each way; on a GPU its own is measured.
    """

    size: int
    rounds: int = 5
    link: float = 16e9
    seed: int = 1


@dataclass(frozen=True)
class Way:
    """Medians of seconds: of a codec, and of the copies of its stream out and back. Without a codec these are of the raw
    data."""

    codec: str
    stream: int
    compress: float
    decompress: float
    out: float
    back: float

    @property
    def swap(self) -> float:
        """The seconds of all, one after the other."""
        return self.compress + self.out + self.back + self.decompress


def drawn(count: int, density: float, seed: int) -> Words:
    """Numbers of 32 bits of a normal law, of which a ``density`` is not zero, as words."""
    source = np.random.default_rng(seed)
    numbers = source.standard_normal(count, np.float32)
    return np.where(source.random(count) < density, numbers, np.float32(0)).view("<u4")


def kernel_rows(density: float, bench: KernelBench) -> Iterator[dict[str, Any]]:
    """Rows of the codecs on the processor, with a link that takes what its rate says."""
    words = drawn(bench.size // 4, density, bench.seed)
    copied = words.nbytes / bench.link
    ways = [Way("raw", words.nbytes, 0.0, 0.0, copied, copied)]
    ways += [_timed(name, words, bench) for name in KERNELS if name in available()]
    yield from rows_of("cpu", density, words.nbytes, ways)


def rows_of(card: str, density: float, raw: int, ways: list[Way]) -> Iterator[dict[str, Any]]:
    """Rows of ways, the first of which is that of the raw data."""
    for way in ways:
        yield {
            "card": card,
            "density": density,
            "bytes": raw,
            "codec": way.codec,
            "ratio": raw / way.stream,
            **{
                f"{name}_ms": 1e3 * getattr(way, name)
                for name in ("compress", "decompress", "out", "back", "swap")
            },
            "speedup": ways[0].swap / way.swap,
        }


def _timed(name: str, words: Words, bench: KernelBench) -> Way:
    codec = make(name, 32, words)
    stream = codec.compress(words)
    if not np.array_equal(codec.decompress(stream, len(words)), words):
        raise WrongRoundTrip(f"{name} did not give back what it was given")
    there, back = (
        median(repeat(work, number=1, repeat=bench.rounds))
        for work in (lambda: codec.compress(words), lambda: codec.decompress(stream, len(words)))
    )
    copied = len(stream) / bench.link
    return Way(name, len(stream), there, back, copied, copied)
