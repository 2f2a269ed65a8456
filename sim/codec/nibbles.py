"""Words of 4 bits in bytes, two to a byte, the low one first: what the integers of an error-bounded stage can be.

Kernels in C do the work where they are built, else the golden model; the bytes are the same either way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cdma.base.errors import ParameterError
from cdma.hdl.spec.checks import word_count
from cdma.hdl.spec.format import Format

from .headers import from_memory, to_memory
from .model import CorruptStream, compress_words, decompress_words
from .software import backend, installed, takes_nibbles
from .words import Words, as_words

__all__ = ["compress_nibbles", "decompress_nibbles"]


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
