"""The codec that software uses: kernels in C where they are built and the format has them, and else the golden model.

Whatever runs, streams and errors are those of the golden model, byte for byte and word for word.
"""

from __future__ import annotations

import os
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.base.errors import ParameterError
from cdma.hdl.spec.checks import check_range, word_count
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stream_format import StreamFormat

from . import model
from .huge_pages import new_array
from .model import ZVC
from .native import CHUNK_BYTES, Kernels, installed, is_supported
from .words import Words, require_byte_words, word_dtype, words_of

__all__ = ["backend", "compress", "decompress"]

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
    out: None = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> bytes: ...


@overload
def compress(
    array: ArrayLike,
    format: StreamFormat = ZVC,
    *,
    out: Any,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> memoryview: ...


def compress(
    array: ArrayLike,
    format: StreamFormat = ZVC,
    *,
    out: Any = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> bytes | memoryview:
    """The compressed stream of a tensor of any shape, by bit pattern; see :func:`decompress`.

    ``array``
        An array or any buffer of numbers, those of ``ml_dtypes`` and of PyTorch among them. What is contiguous and
        little-endian is not copied.
    ``out``
        A buffer for the stream with at least ``format.bound_bytes(words)`` bytes, none of ``array``; the part of it that
        the stream takes is returned. Without it the stream comes as ``bytes``.
    ``threads``
        How many threads compress at once, where there are kernels in C.
    ``chunk_bytes``
        How many bytes of raw data each of several threads takes at once; ``cdma study tune software`` times what is best.
    """
    source = words_of(array, format)
    _check_sharing(threads, chunk_bytes)
    kernels = _kernels(format)
    bound = format.bound_bytes(len(source))
    target = None if out is None else _writable(out, bound, f"the stream of {len(source)} words can have")
    if target is not None and np.may_share_memory(target, source):
        raise ParameterError("out is a part of the array; it must be another buffer")
    if kernels is None:
        stream = model.compress(source, format)
        if target is None:
            return stream
        target[: len(stream)] = np.frombuffer(stream, np.uint8)
        return target[: len(stream)].data
    assert isinstance(format, Format)
    if target is None:
        return kernels.stream(source, format, threads, chunk_bytes)
    return target[: kernels.compress(source, format, target, threads, chunk_bytes)].data


def decompress(
    data: bytes | bytearray | memoryview,
    words: int,
    format: StreamFormat = ZVC,
    *,
    out: Any = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> Words:
    """The ``words`` unsigned words that ``data`` stands for; ``.view(dtype).reshape(shape)`` undoes the rest.

    Raises :class:`.CorruptStream` for every stream whose length or codes show that it is not whole.

    ``out``
        A buffer for the words, none of ``data``; the array is a view of it. After an error it holds anything.
    ``threads``
        How many threads decompress at once, where there are kernels in C.
    ``chunk_bytes``
        How many bytes of words each of several threads makes at once.
    """
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
    kernels = _kernels(format)
    # A stream that is too short for its headers is refused before there is memory for its words.
    windows = -(-words // format.window)
    if kernels is not None and windows * format.header_words * format.stream_bits <= 8 * len(stream):
        assert isinstance(format, Format)
        result = new_array(words, word, written_by=threads) if target is None else target
        if kernels.decompress(stream, result, format, threads, chunk_bytes) == len(stream):
            return result
    # The golden model is what there is, or it says what is wrong with the stream.
    result = model.decompress(data, words, format)
    if target is None:
        return result
    target[:] = result
    return target


def _check_sharing(threads: int, chunk_bytes: int) -> None:
    check_range("threads", threads, 1, _MOST_THREADS, "threads that work at once")
    check_range("chunk_bytes", chunk_bytes, _LEAST_CHUNK, _MOST_CHUNK, "bytes that a thread takes at once")


def _kernels(format: StreamFormat) -> Kernels | None:
    """The kernels for a format, if there are any."""
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
