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

from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.native import installed

__all__ = ["DENSITIES", "SIZES", "Timing", "kernels_name", "software_times"]

#: Bytes of a tensor: beyond the caches, as the maps of a batch are.
SIZES = tuple(int(size) for size in np.geomspace(2**22, 2**26, 7).round(-3))
DENSITIES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

#: Calls of a timing, and the seconds after which no further one is made.
_CALLS, _ENOUGH = 15, 0.06


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
    sizes: Sequence[int] = SIZES, densities: Sequence[float] = DENSITIES, repeats: int = 3, seed: int = 1
) -> Iterator[Timing]:
    """Yields ``repeats`` timings of each size at each density, with one tensor of words of 32 bits for each density."""
    kernels, format = installed()[kernels_name()], Format()
    random = np.random.default_rng(seed)
    longest = max(sizes) // 4
    there, back = np.ones(format.bound_bytes(longest), np.uint8), np.ones(longest, np.uint32)
    for density in densities:
        words = random.integers(1, 2**32, longest, np.uint32) * (random.random(longest) < density)
        for size in sizes:
            tensor = words[: size // 4]
            target = back[: tensor.size]

            def compress(tensor: np.ndarray = tensor) -> int:
                return kernels.compress(tensor, format, there)

            stream = there[: compress()]

            def decompress(stream: np.ndarray = stream, target: np.ndarray = target) -> None:
                kernels.decompress(stream, target, format)

            def copy(tensor: np.ndarray = tensor, target: np.ndarray = target) -> None:
                np.copyto(target, tensor)

            for _ in range(repeats):
                out, again = _least(compress), _least(decompress)
                if not np.array_equal(target, tensor):
                    raise CdmaError(f"{kernels.name} did not give back what it was given")
                yield Timing(tensor.nbytes, density, out, again, _least(copy))


def _least(call: Callable[[], object]) -> float:
    """Returns the least time of a few calls."""
    best, spent = np.inf, 0.0
    for _ in range(_CALLS):
        began = time.process_time()
        call()
        taken = time.process_time() - began
        best, spent = min(best, taken), spent + taken
        if spent > _ENOUGH:
            break
    return float(best)
