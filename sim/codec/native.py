"""The kernels in C, where they were built: words into streams and back, for every format whose words are bytes.

They take what the golden model takes and give what it gives, byte for byte. They never say what is wrong with a stream:
the golden model does.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from ctypes import memmove
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stream_format import StreamFormat

from .words import Words

__all__ = ["CHUNK_BYTES", "Kernels", "installed", "is_supported", "takes_nibbles"]

#: Bytes of raw data that a thread works on at once, about what a cache of its own holds.
CHUNK_BYTES = 1 << 20


class Kernels:
    """The kernels of one instruction set of a built module."""

    def __init__(self, module: ModuleType, level: str) -> None:
        self.name = level
        self._module = module
        self._level = module.levels().index(level)

    def compress(
        self,
        words: Words,
        format: Format,
        target: NDArray[np.uint8],
        threads: int = 1,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> int:
        """Compresses to ``target``, which has at least the bytes of the bound; returns how many were written.

        A thread works on ``chunk_bytes`` of raw data at once.
        """
        return self._compress(words, format, threads, chunk_bytes, target.ctypes.data)

    def stream(self, words: Words, format: Format, threads: int = 1, chunk_bytes: int = CHUNK_BYTES) -> bytes:
        """The stream of words, written where it stays."""
        fill = partial(self._compress, words, format, threads, chunk_bytes)
        made: bytes = self._module.filled(format.bound_bytes(len(words)), fill)
        return made

    def _compress(self, words: Words, format: Format, threads: int, chunk_bytes: int, target: int) -> int:
        """The same to an address."""
        parameters, share = _parameters(format), _share(format, chunk_bytes)
        if threads == 1 or len(words) <= share:
            return int(self._module.compress(self._level, parameters, words.ctypes.data, len(words), target))
        begins = range(0, len(words), share)
        places = [target + format.bound_bytes(begin) for begin in begins]

        def compress(index: int) -> int:
            part = words[begins[index] : begins[index] + share]
            made = self._module.compress(self._level, parameters, part.ctypes.data, len(part), places[index])
            return int(made)

        end = target
        with ThreadPoolExecutor(threads) as pool:
            # A part is moved up to the one before it while later ones are being compressed.
            for place, size in zip(places, pool.map(compress, range(len(begins))), strict=True):
                memmove(end, place, size)
                end += size
        return end - target

    def decompress(
        self,
        stream: NDArray[np.uint8],
        words: Words,
        format: Format,
        threads: int = 1,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> int | None:
        """Fills ``words``; returns how many bytes of ``stream`` they took, or None if these are no such words."""
        share = _share(format, chunk_bytes)
        if threads == 1 or len(words) <= share:
            return self._decompress(stream, 0, words, format)
        parts = list(self._parts(stream, words, format, share))
        with ThreadPoolExecutor(threads) as pool:
            ends = list(pool.map(lambda part: self._decompress(stream, part[0], part[1], format), parts))
        for end, (begin, _) in zip(ends, [*parts[1:], (ends[-1], words)], strict=True):
            if end is None or end != begin:
                return None
        return ends[-1]

    def compress_nibbles(self, words: Words, format: Format) -> NDArray[np.uint8]:
        """The stream of words of 4 bits, two to a byte."""
        parameters = _parameters(format)
        # Every store is of eight bytes.
        target = np.empty(-(-format.bound(len(words)) // 2) + 8, np.uint8)
        size = self._module.compress_nibbles(parameters, words.ctypes.data, len(words), target.ctypes.data)
        return target[:size]

    def decompress_nibbles(self, stream: NDArray[np.uint8], words: Words, format: Format) -> bool:
        """Fills ``words``, of 4 bits each; returns whether the stream is such words."""
        parameters, source = _parameters(format), stream.ctypes.data
        return bool(
            self._module.decompress_nibbles(parameters, source, len(stream), words.ctypes.data, len(words))
        )

    def _decompress(self, stream: NDArray[np.uint8], begin: int, words: Words, format: Format) -> int | None:
        """The same from a position of the stream on; returns the position after the words."""
        if begin > len(stream):
            return None
        took = self._module.decompress(
            self._level,
            _parameters(format),
            stream.ctypes.data + begin,
            len(stream) - begin,
            words.ctypes.data,
            len(words),
        )
        return None if took < 0 else begin + int(took)

    def _parts(
        self, stream: NDArray[np.uint8], words: Words, format: Format, share: int
    ) -> Iterator[tuple[int, Words]]:
        """Where the stream of every share of the words begins, and these words."""
        windows, stride = len(words) // format.window, share // format.window
        positions = np.full(windows // stride + 2, len(stream) + 1, np.int64)
        address = positions.ctypes.data
        self._module.walk(_parameters(format), stream.ctypes.data, len(stream), windows, stride, address)
        for index, begin in enumerate(range(0, len(words), share)):
            yield int(positions[index]), words[begin : begin + share]


def is_supported(format: StreamFormat) -> bool:
    """Whether the kernels are for this format."""
    return type(format) is Format and format.word_bits >= 8


def takes_nibbles(format: Format) -> bool:
    """Whether the kernels for words of 4 bits are for this format."""
    return format.word_bits == 4 and format.window >= 8 and format.align == 1


@cache
def installed() -> dict[str, Kernels]:
    """The kernels that are built and that this machine can run, by name, the fastest last."""
    try:
        module = import_module("cdma.sim.codec._native")
    except ImportError:
        return {}
    return {level: Kernels(module, level) for level in module.levels()}


def _share(format: Format, chunk_bytes: int) -> int:
    """Words that a thread works on at once: whole windows."""
    words = chunk_bytes * 8 // format.word_bits
    return words - words % format.window


@cache
def _parameters(format: Format) -> bytes:
    """The parameters as ``native_format.h`` has them."""
    values: Any = [*format.values, *(0,) * (16 - len(format.values))]
    return struct.pack(
        "<24I",
        format.word_bits // 8,
        format.window,
        format.code_bits,
        len(format.values),
        format.field_bits // 8,
        format.rotate,
        format.zero,
        format.align,
        *values,
    )
