"""The speed of the codec in software, numpy and each set of kernels in C, beside codecs that one could use in its place.

All run on one thread, from one buffer in memory to another, and every result is compared with the input.
Rates are by the processor time of this process, which is the time on the clock where nothing else wants
the processor. Each round lets every codec have its turn, and the best round of each counts. Kernels, memcpy and
``cdma.compress(out=)`` write to the same two buffers, which are there before; the others make what they return, as
``cdma.compress`` and ``array.copy`` do.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.sim.codec import software

from .model import analyse, compress, decompress
from .software import Kernels, installed, is_supported
from .words import words_of


class WrongRoundTrip(CdmaError):
    """A codec did not restore the data that it compressed."""


@dataclass(frozen=True)
class Codec:
    """A pair of functions; both take and return anything with a buffer."""

    name: str
    compress: Callable[[NDArray[Any]], Any]
    decompress: Callable[[Any], Any]


@dataclass(frozen=True)
class Row:
    """The figures of one codec; rates are in bytes of raw data per second."""

    codec: str
    ratio: float
    compress_bytes_per_second: float
    decompress_bytes_per_second: float


def codecs(tensor: NDArray[Any], format: StreamFormat) -> tuple[list[Codec], list[str]]:
    """Returns the codecs to measure on ``tensor``, ours first, and the names of packages that are not installed."""
    words = analyse(tensor, format).words
    found = [
        Codec("cDMA numpy", partial(compress, format=format), partial(decompress, words=words, format=format))
    ]
    there, back = np.zeros(format.bound_bytes(words), np.uint8), np.zeros_like(tensor)
    if isinstance(format, Format) and is_supported(format):
        found += [_kernels(kernels, format, there, back) for kernels in installed().values()]
    found += [
        Codec(
            "cdma.compress",
            partial(software.compress, format=format),
            partial(software.decompress, words=words, format=format),
        ),
        Codec(
            "cdma.compress(out=)",
            partial(software.compress, format=format, out=there),
            partial(software.decompress, words=words, format=format, out=back),
        ),
        Codec("zlib 1", partial(zlib.compress, level=1), zlib.decompress),
    ]
    missing = []
    for package, make in (("lz4", _lz4), ("zstandard", _zstandard), ("blosc2", _blosc2)):
        try:
            found.append(make(tensor))
        except ImportError:
            missing.append(package)
    return [*found, Codec("array.copy", _copied, np.copy), _memcpy(tensor, there, back)], missing


def _kernels(kernels: Kernels, format: Format, there: NDArray[np.uint8], back: NDArray[Any]) -> Codec:
    words = words_of(back, format)

    def compressed(tensor: NDArray[Any]) -> NDArray[np.uint8]:
        return there[: kernels.compress(words_of(tensor, format), format, there)]

    def decompressed(stream: NDArray[np.uint8]) -> NDArray[Any]:
        kernels.decompress(stream, words, format)
        return back

    return Codec(f"cDMA {kernels.name}", compressed, decompressed)


def _memcpy(tensor: NDArray[Any], there: NDArray[np.uint8], back: NDArray[Any]) -> Codec:
    """Copies the tensor in both directions, because what has just been written is slower to read."""
    first = there[: tensor.nbytes].view(tensor.dtype).reshape(tensor.shape)

    def copied(target: NDArray[Any], source: object) -> NDArray[Any]:
        np.copyto(target, tensor)
        return target

    return Codec("memcpy", partial(copied, first), partial(copied, back))


def _copied(tensor: NDArray[Any]) -> NDArray[Any]:
    """Copies to new memory and gives it back: two copies at once may be more than the machine has at hand."""
    tensor.copy()
    return tensor


def _lz4(tensor: NDArray[Any]) -> Codec:
    block = import_module("lz4.block")
    return Codec("LZ4", block.compress, block.decompress)


def _zstandard(tensor: NDArray[Any]) -> Codec:
    zstandard = import_module("zstandard")
    return Codec(
        "zstd 1", zstandard.ZstdCompressor(level=1).compress, zstandard.ZstdDecompressor().decompress
    )


def _blosc2(tensor: NDArray[Any]) -> Codec:
    blosc2 = import_module("blosc2")
    blosc2.set_nthreads(1)
    settings = {"codec": blosc2.Codec.LZ4, "clevel": 1, "filter": blosc2.Filter.SHUFFLE}
    return Codec(
        "blosc2 LZ4 1",
        partial(blosc2.compress, typesize=tensor.dtype.itemsize, **settings),
        blosc2.decompress,
    )


def measure(tensor: NDArray[Any], contenders: list[Codec], rounds: int) -> Iterator[list[Row]]:
    """Yields the rows after each of the ``rounds``; ``tensor`` is contiguous and not empty."""
    best = {codec.name: [np.inf, np.inf] for codec in contenders}
    packed = {}
    flat = tensor.reshape(-1).view(np.uint8)
    for turn in range(rounds):
        for codec in contenders:
            began = time.process_time()
            compressed = codec.compress(tensor)
            between = time.process_time()
            restored = codec.decompress(compressed)
            ended = time.process_time()
            if turn == 0:
                packed[codec.name] = memoryview(compressed).nbytes
                if not np.array_equal(np.frombuffer(restored, np.uint8), flat):
                    raise WrongRoundTrip(f"{codec.name} did not give back what it was given")
            best[codec.name] = [
                min(best[codec.name][0], between - began),
                min(best[codec.name][1], ended - between),
            ]
            # Giving memory back takes about as long as copying it, and is not what the next codec is measured for.
            del compressed, restored
        yield [
            Row(name, tensor.nbytes / packed[name], tensor.nbytes / there, tensor.nbytes / back)
            for name, (there, back) in best.items()
        ]
