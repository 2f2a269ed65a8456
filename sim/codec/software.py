"""The software codec: kernels in C where they are built and the format has them, else the golden model.

Streams and errors are those of the golden model, byte for byte, whichever runs. Kernels never say what is wrong with a
stream: the golden model does. Large results are in new memory, whose pages the system zeroes on first write.
"""

from __future__ import annotations

import os
import struct
from concurrent.futures import ThreadPoolExecutor
from ctypes import memmove
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.hdl.spec.settings import check_range, word_count

from . import model
from .headers import from_memory, to_memory
from .model import ZVC, CorruptStream, compress_words, decompress_words
from .words import Words, as_words, base_of, require_byte_words, word_dtype, words_of

_HUGE_PAGE = 1 << 21
#: Bytes from which on every array has new memory; smaller ones may have what was freed before.
_ALWAYS_NEW = 1 << 25


def new_array(count: int, dtype: np.dtype[Any], written_by: int = 1) -> NDArray[Any]:
    """An array of ``count`` elements that hold anything; a large one begins with a huge page and is made of those.

    ``written_by``: How many threads write to it. For a single one the pages are there at once: Linux sets a huge page
        to zero in nearly half the time if the first byte that is written to is one of its last.
    """
    size = count * dtype.itemsize
    if size < _ALWAYS_NEW:
        return np.empty(count, dtype)
    pages = -(-size // _HUGE_PAGE)
    memory = np.empty((pages + 1) * _HUGE_PAGE, np.uint8)
    begin = -memory.ctypes.data % _HUGE_PAGE
    if written_by == 1:
        memory[begin + _HUGE_PAGE - 1 :: _HUGE_PAGE][:pages] = 0
    return memory[begin : begin + size].view(dtype)


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
        base: Words | None = None,
    ) -> int:
        """Compresses to ``target``, which has at least the bytes of the bound; returns how many were written.

        A thread works on ``chunk_bytes`` of raw data at once. With a ``base`` words are XORed with those of it.
        """
        return self._compress(words, format, threads, chunk_bytes, base, target.ctypes.data)

    def stream(
        self,
        words: Words,
        format: Format,
        threads: int = 1,
        chunk_bytes: int = CHUNK_BYTES,
        base: Words | None = None,
    ) -> bytes:
        """The stream of words, written where it stays."""
        fill = partial(self._compress, words, format, threads, chunk_bytes, base)
        made: bytes = self._module.filled(format.bound_bytes(len(words)), fill)
        return made

    def _compress(
        self, words: Words, format: Format, threads: int, chunk_bytes: int, base: Words | None, target: int
    ) -> int:
        """The same to an address."""
        parameters, share = _parameters(format), _share(format, chunk_bytes)
        source, other = words.ctypes.data, _address(base)
        if threads == 1 or len(words) <= share:
            return int(self._module.compress(self._level, parameters, source, other, len(words), target))
        begins = range(0, len(words), share)
        places = [target + format.bound_bytes(begin) for begin in begins]

        def compress(index: int) -> int:
            skip = begins[index] * words.itemsize
            before, count = other and other + skip, min(share, len(words) - begins[index])
            made = self._module.compress(self._level, parameters, source + skip, before, count, places[index])
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
        base: Words | None = None,
    ) -> int | None:
        """Fills ``words``; returns how many bytes of ``stream`` they took, or None if these are no such words.

        With a ``base``, which may be ``words``, they are XORed with those of it.
        """
        share = _share(format, chunk_bytes)
        if threads == 1 or len(words) <= share:
            return self._decompress(stream, 0, words, format, base)
        begins = self._begins(stream, len(words), format, share)
        parts = [slice(first, first + share) for first in range(0, len(words), share)]
        with ThreadPoolExecutor(threads) as pool:
            ends = list(
                pool.map(
                    lambda begin, part: self._decompress(
                        stream, begin, words[part], format, None if base is None else base[part]
                    ),
                    begins,
                    parts,
                )
            )
        for end, begin in zip(ends, [*begins[1:], ends[-1]], strict=True):
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

    def _decompress(
        self, stream: NDArray[np.uint8], begin: int, words: Words, format: Format, base: Words | None
    ) -> int | None:
        """The same from a position of the stream on; returns the position after the words."""
        if begin > len(stream):
            return None
        took = self._module.decompress(
            self._level,
            _parameters(format),
            stream.ctypes.data + begin,
            len(stream) - begin,
            _address(base),
            words.ctypes.data,
            len(words),
        )
        return None if took < 0 else begin + int(took)

    def _begins(self, stream: NDArray[np.uint8], words: int, format: Format, share: int) -> list[int]:
        """Where the stream of every share of so many words begins."""
        windows, stride = words // format.window, share // format.window
        positions = np.full(windows // stride + 2, len(stream) + 1, np.int64)
        address = positions.ctypes.data
        self._module.walk(_parameters(format), stream.ctypes.data, len(stream), windows, stride, address)
        return [int(position) for position in positions[: -(-words // share)]]


def is_supported(format: StreamFormat) -> bool:
    """Whether the kernels are for this format."""
    return type(format) is Format and format.word_bits >= 8


def takes_nibbles(format: Format) -> bool:
    """Whether the kernels for words of 4 bits are for this format."""
    return format.word_bits == 4 and format.window >= 8 and format.align == format.levels == 1


#: What the functions of the module take, as ``native.c`` says: one that was built from older sources is left alone.
_INTERFACE = 3


@cache
def native() -> ModuleType | None:
    """The module in C, if it is built, from these sources."""
    try:
        module = import_module("cdma.sim.codec._native")
    except ImportError:
        return None
    return module if getattr(module, "interface", 1) == _INTERFACE else None


@cache
def installed() -> dict[str, Kernels]:
    """The kernels that are built and that this machine can run, by name, the fastest last."""
    module = native()
    if module is None:
        return {}
    return {level: Kernels(module, level) for level in module.levels()}


def _share(format: Format, chunk_bytes: int) -> int:
    """Words that a thread works on at once: whole windows, or groups of them."""
    words = chunk_bytes * 8 // format.word_bits
    return max(1, words // format.group_words) * format.group_words


def _address(base: Words | None) -> int:
    """Where the words of a base are; 0 where there is none."""
    return 0 if base is None else base.ctypes.data


@cache
def _parameters(format: Format) -> bytes:
    """The parameters as ``native_format.h`` has them."""
    values: Any = [*format.values, *(0,) * (16 - len(format.values))]
    return struct.pack(
        "<26I",
        format.word_bits // 8,
        format.window,
        format.code_bits,
        len(format.values),
        format.field_bits // 8,
        format.rotate,
        format.zero,
        format.align,
        format.levels,
        format.group,
        *values,
    )


#: Chooses what runs: ``numpy``, or the kernels of an instruction set.
VARIABLE = "CDMA_BACKEND"

_MOST_THREADS = 1024
#: Bytes of the least chunk, which is many windows of any format, and of the greatest.
_LEAST_CHUNK, _MOST_CHUNK = 1 << 12, 1 << 40


def backend() -> str:
    """What compresses and decompresses here: ``numpy``, or kernels in C: ``scalar``, ``avx2``, ``avx512`` or ``neon``.

    The environment variable CDMA_BACKEND chooses one of those that there are.
    """
    names = ["numpy", *installed()]
    name = os.environ.get(VARIABLE) or names[-1]
    if name not in names:
        raise ParameterError(f"{VARIABLE} is {name!r}; here it can be one of {', '.join(names)}")
    return name


@overload
def compress(
    array: ArrayLike,
    format: StreamFormat = ZVC,
    *,
    base: ArrayLike | None = None,
    out: None = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> bytes: ...


@overload
def compress(
    array: ArrayLike,
    format: StreamFormat = ZVC,
    *,
    base: ArrayLike | None = None,
    out: Any,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> memoryview: ...


def compress(
    array: ArrayLike,
    format: StreamFormat = ZVC,
    *,
    base: ArrayLike | None = None,
    out: Any = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> bytes | memoryview:
    """The stream of a tensor that lies on the host; the parameters are those of :func:`cdma.door.compress`."""
    source = words_of(array, format)
    other = base_of(base, len(source), format)
    _check_sharing(threads, chunk_bytes)
    kernels = _kernels(format)
    bound = format.bound_bytes(len(source))
    target = None if out is None else _writable(out, bound, f"the stream of {len(source)} words can have")
    if target is not None and np.may_share_memory(target, source):
        raise ParameterError("out is a part of the array; it must be another buffer")
    if target is not None and other is not None and np.may_share_memory(target, other):
        raise ParameterError("out is a part of the base; it must be another buffer")
    if kernels is None:
        stream = model.compress(source if other is None else source ^ other, format)
        if target is None:
            return stream
        target[: len(stream)] = np.frombuffer(stream, np.uint8)
        return target[: len(stream)].data
    assert isinstance(format, Format)
    if target is None:
        return kernels.stream(source, format, threads, chunk_bytes, other)
    return target[: kernels.compress(source, format, target, threads, chunk_bytes, other)].data


def decompress(
    data: bytes | bytearray | memoryview,
    words: int,
    format: StreamFormat = ZVC,
    *,
    base: ArrayLike | None = None,
    out: Any = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> Words:
    """The words of a stream that lies on the host; the parameters are those of :func:`cdma.door.decompress`."""
    require_byte_words(format)
    words = word_count(words)
    _check_sharing(threads, chunk_bytes)
    word = word_dtype(format)
    stream = np.frombuffer(data, np.uint8)
    target = None
    if out is not None:
        size = words * word.itemsize
        target = _writable(out, size, f"{words} words have")[:size].view(word)
        if np.may_share_memory(target, stream):
            raise ParameterError("out is a part of the data; it must be another buffer")
    other = base_of(base, words, format)
    if target is not None and other is not None and _overlap(target, other):
        raise ParameterError("out is a part of the base; it must be all of it, or another buffer")
    kernels = _kernels(format)
    # A stream that is too short for its headers is refused before there is memory for its words.
    if kernels is not None and format.least(words) * format.stream_bits <= 8 * len(stream):
        assert isinstance(format, Format)
        result = new_array(words, word, written_by=threads) if target is None else target
        if kernels.decompress(stream, result, format, threads, chunk_bytes, other) == len(stream):
            return result
    # The golden model is what there is, or it says what is wrong with the stream.
    result = model.decompress(data, words, format)
    if other is not None:
        result ^= other
    if target is None:
        return result
    target[:] = result
    return target


def _overlap(target: Words, base: Words) -> bool:
    """Whether some of their memory is the same, but not all of it."""
    return np.may_share_memory(target, base) and target.ctypes.data != base.ctypes.data


def _check_sharing(threads: int, chunk_bytes: int) -> None:
    check_range("threads", threads, 1, _MOST_THREADS, "threads that work at once")
    check_range("chunk_bytes", chunk_bytes, _LEAST_CHUNK, _MOST_CHUNK, "bytes that a thread takes at once")


def _kernels(format: StreamFormat) -> Kernels | None:
    return installed().get(backend()) if is_supported(format) else None


def _writable(out: Any, size: int, what: str) -> NDArray[np.uint8]:
    """The bytes of a buffer that has at least ``size`` of them."""
    try:
        array = np.frombuffer(out, np.uint8)
    except (TypeError, ValueError, BufferError):
        raise ParameterError("out must be a contiguous buffer, such as an array or a bytearray") from None
    if _holds_objects(out):
        raise ParameterError("out holds Python objects; it must hold bytes or numbers")
    if not array.flags.writeable:
        raise ParameterError("out can only be read; it must be a buffer that can be written")
    if len(array) < size:
        raise ParameterError(f"out has {len(array)} bytes; {what} {size}")
    return array


def _holds_objects(out: Any) -> bool:
    if isinstance(out, np.ndarray):
        return bool(out.dtype.hasobject)
    return "O" in memoryview(out).format


def compress_nibbles(words: ArrayLike, format: Format) -> bytes:
    """The stream of a word array of 4-bit words; where it has an odd number of words, a zero fills the last byte."""
    source = _words(words, format)
    kernels = installed().get(backend()) if takes_nibbles(format) else None
    if kernels is not None:
        return kernels.compress_nibbles(source, format).tobytes()
    return to_memory(compress_words(source, format), format.stream_bits)


def decompress_nibbles(data: bytes | bytearray | memoryview, words: int, format: Format) -> Words:
    """The ``words`` words, a byte each, that ``data`` stands for; raises :class:`.CorruptStream`."""
    _check(format)
    count = word_count(words)
    stream = np.frombuffer(data, np.uint8)
    kernels = installed().get(backend()) if takes_nibbles(format) else None
    # A stream that is too short for its headers is refused before there is memory for its words.
    if kernels is not None and -(-count // format.window) * format.header_words <= 2 * len(stream):
        result = np.empty(count, np.uint8)
        if kernels.decompress_nibbles(stream, result, format):
            return result
    # The golden model is what there is, or it says what is wrong with the stream.
    nibbles = from_memory(data, format.stream_bits)
    try:
        return decompress_words(nibbles, count, format)
    except CorruptStream as error:
        # The last nibble of all may only fill a byte.
        if error.kind != "trailing" or not len(nibbles) or nibbles[-1]:
            raise
        return decompress_words(nibbles[:-1], count, format)


def _words(words: ArrayLike, format: Format) -> Words:
    _check(format)
    return as_words(words, format)


def _check(format: Format) -> None:
    if format.word_bits != 4:
        raise ParameterError(f"word_bits is {format.word_bits}; these are words of 4 bits")
