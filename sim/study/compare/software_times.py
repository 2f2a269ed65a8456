"""How long the compiled codec takes on this machine, by size and density of a tensor: what CSWAP's regression learns from.

Zeros are scattered evenly; the codec looks at every word whether or not its neighbours are zero. Each timing is the least
processor time of a few calls, on one thread, into a buffer that is there before. Beside it stands that of a copy of the
same tensor, by which the times of different memories can be compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cdma.base.errors import CdmaError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.native import installed

__all__ = ["DENSITIES", "SIZES", "Timing", "kernels_name", "software_times"]

#: Bytes of a tensor, from what caches hold to what they do not, as the maps of a batch.
SIZES = tuple(int(size) for size in np.geomspace(2**22, 2**27, 11).round(-3))
#: A tensor without zeros is one of its own, so there are two levels close to it.
DENSITIES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)

#: Seconds of calls after which no further one is made, unless there was but one.
_ENOUGH = 0.02


@dataclass(frozen=True)
class Timing:
    """Seconds for one tensor."""

    bytes: int
    density: float
    compress_s: float
    decompress_s: float
    copy_s: float


def kernels_name() -> str:
    """Returns the name of the quickest kernels that this processor runs."""
    names = list(installed())
    if not names:
        raise CdmaError("the kernels in C are not built, so there is nothing to time")
    return names[-1]


def software_times(
    sizes: Sequence[int] = SIZES,
    densities: Sequence[float] = DENSITIES,
    rounds: int = 5,
    calls: int = 5,
    seed: int = 1,
) -> Iterator[Timing]:
    """Yields a timing of each size at each density, of words of 32 bits, ``rounds`` times; each is the least of ``calls``.

    Every round has an order of its own. What another process does to the caches for a while then falls on timings of
    different sizes and densities, and not on all those of one, whose median would show it.
    """
    kernels, format = installed()[kernels_name()], Format()
    random = np.random.default_rng(seed)
    longest = max(sizes) // 4
    there, back = np.ones(format.bound_bytes(longest), np.uint8), np.ones(longest, np.uint32)
    values, levels = random.integers(1, 2**32, longest, np.uint32), random.random(longest, np.float32)
    words = np.empty_like(values)
    for _ in range(rounds):
        for density in random.permutation(densities):
            np.multiply(values, levels < density, out=words)
            for size in random.permutation(sizes):
                tensor, target = words[: size // 4], back[: size // 4]

                def compress(tensor: np.ndarray = tensor) -> int:
                    return kernels.compress(tensor, format, there)

                stream = there[: compress()]

                def decompress(stream: np.ndarray = stream, target: np.ndarray = target) -> None:
                    kernels.decompress(stream, target, format)

                def copy(tensor: np.ndarray = tensor, target: np.ndarray = target) -> None:
                    np.copyto(target, tensor)

                out, again = _least(compress, calls), _least(decompress, calls)
                if not np.array_equal(target, tensor):
                    raise CdmaError(f"{kernels.name} did not give back what it was given")
                yield Timing(tensor.nbytes, float(density), out, again, _least(copy, calls))


def _least(call: Callable[[], object], calls: int) -> float:
    """Returns the least time of a few calls."""
    best, spent = np.inf, 0.0
    for index in range(calls):
        if index > 1 and spent > _ENOUGH:
            break
        # Of this thread: the one that draws the progress has no part in it, nor has waiting for a processor.
        began = time.thread_time()
        call()
        taken = time.thread_time() - began
        best, spent = min(best, taken), spent + taken
    return float(best)
