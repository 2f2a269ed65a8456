"""The door: a tensor goes to the library that takes it, such as the kernels on a card; all else to the codec of the host.

Distributions name such libraries by an entry point of the group ``cdma.tensors``. Its name is the package whose tensors it
is about, without which it is not loaded; its value is a module with :func:`compress`, :func:`decompress`, :func:`analyse`
and :func:`fit` of the arguments here but those of the host, and ``takes(array)``, which says whether it takes an array.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from cdma.hdl.spec.format import Format, StreamFormat, require_stream_format
from cdma.sim.codec import model, software
from cdma.sim.codec.fit import fit as fit_on_host
from cdma.sim.codec.model import ZVC, Analysis
from cdma.sim.codec.software import CHUNK_BYTES


def compress(
    array: Any,
    format: StreamFormat = ZVC,
    *,
    base: Any = None,
    out: Any = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> Any:
    """The compressed stream of a tensor of any shape, by bit pattern; see :func:`decompress`.

    ``array``: An array or any buffer of numbers, those of ``ml_dtypes`` and of PyTorch among them. What is contiguous
        and little-endian is not copied. The stream of a tensor on a card is a tensor of bytes there, and else
        ``bytes``.
    ``base``: What words are XORed with before they are compressed, a tensor of as many words: then the stream is what
        changed. It must be where the tensor is.
    ``out``: A buffer for the stream, for a tensor on a card a tensor of bytes there, with at least
        ``format.bound_bytes(words)`` bytes, none of ``array``; the part of it that the stream takes is returned.
    ``threads``, ``chunk_bytes``: How many threads of the host compress at once, where there are kernels in C, and how
        many bytes of raw data each of them takes at once.
    """
    require_stream_format(format)
    if library := _library_of(array, base):
        return library.compress(array, format, base=base, out=out)
    return software.compress(array, format, base=base, out=out, threads=threads, chunk_bytes=chunk_bytes)


def decompress(
    data: Any,
    words: int,
    format: StreamFormat = ZVC,
    *,
    base: Any = None,
    out: Any = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> Any:
    """The ``words`` unsigned words that ``data`` stands for; ``.view(dtype).reshape(shape)`` undoes the rest.

    Those of a stream on a card are a tensor there. Raises :class:`.CorruptStream` for every stream whose length or codes
    show that it is not whole.

    ``base``: What the words are XORed with after they are decompressed, the base that they were compressed with.
    ``out``: A buffer for the words, for a stream on a card a tensor there, none of ``data``; it may be the base. The
        result is a view of it. After an error it holds anything.
    ``threads``, ``chunk_bytes``: How many threads of the host decompress at once, and how many bytes of words each of
        them makes at once.
    """
    require_stream_format(format)
    if library := _library_of(data, base):
        return library.decompress(data, words, format, base=base, out=out)
    return software.decompress(
        data, words, format, base=base, out=out, threads=threads, chunk_bytes=chunk_bytes
    )


def analyse(array: Any, format: StreamFormat = ZVC, *, base: Any = None) -> Analysis:
    """Counts what :func:`compress` would store, of a tensor on a card there."""
    require_stream_format(format)
    if library := _library_of(array, base):
        analysis: Analysis = library.analyse(array, format, base=base)
        return analysis
    return model.analyse(array, format, base=base)


def fit(array: Any, format: Format, *, base: Any = None, whole: bool = False) -> Format:
    """The format with the table that makes the stream of a tensor shortest; of two levels, with two or with one.

    Of a tensor of more than a million words evenly spaced runs of words decide, a million in all, or with ``whole`` all
    of them. Where there is nothing to learn from, the table stays as it is. Words of a tensor on a card are counted there.
    """
    require_stream_format(format)
    if library := _library_of(array, base):
        fitted: Format = library.fit(array, format, base=base, whole=whole)
        return fitted
    return fit_on_host(array, format, base=base, whole=whole)


def _library_of(array: Any, base: Any) -> Any:
    """The library that takes an array or its base; None if the host does."""
    loaded = (_loaded(entry) for entry in _entries() if entry.name in sys.modules)
    return next((library for library in loaded if library.takes(array) or library.takes(base)), None)


@cache
def _entries() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group="cdma.tensors"))


@cache
def _loaded(entry: EntryPoint) -> Any:
    return entry.load()
