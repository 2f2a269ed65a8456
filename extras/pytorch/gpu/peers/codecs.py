"""Formats whose tables of frequent values are learnt from the histogram of a tensor.

Every codec of the comparison with one interface: to compress a tensor, and to decompress it.

==========  =====================================================================================
``zv``      zero-value compression: one mask bit per word, :class:`~cdma.hdl.spec.format.Format`
``rl``      zero run-length coding, :mod:`cdma.gpu.peers.sparse`
``zl``      zlib at level 6, of all bytes at once
``fvc1``    frequent-value compression with codes of 1, 2 and 4 bits; the table, learnt from the
``fvc2``    tensor's histogram, is counted with the compressed bytes
``fvc4``
``csr``     compressed sparse rows of 256 words, :mod:`cdma.gpu.peers.sparse`
``lz4``     an LZ4 block (needs the ``bench`` extra)
==========  =====================================================================================
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

from cdma.base.errors import CdmaError, ParameterError, install_command
from cdma.hdl.spec.format import Format
from cdma.sim.codec import model
from cdma.sim.codec.fit import frequent_values
from cdma.sim.codec.model import CorruptStream, Kind
from cdma.sim.codec.words import Words, words_from_bytes, words_to_bytes

from . import sparse


def learn_format(words: Words, word_bits: int, code_bits: int, window: int = 32) -> Format:
    """Returns the frequent-value format whose table has the most frequent words of a tensor."""
    values = frequent_values(words, (1 << code_bits) - 1)
    return Format(word_bits=word_bits, window=window, code_bits=code_bits, values=values)


class MissingCodec(CdmaError, ImportError):
    """A codec was chosen whose library is not installed."""


@dataclass(frozen=True)
class Codec:
    """A codec of words.

    ``compress``, ``decompress``: To bytes; and from them and the number of words, or :class:`.CorruptStream`.
    ``count``: The bytes of a stream; where nothing else is known it is made.
    ``side_bytes``: Bytes that must travel beside the stream, such as a table.
    """

    name: str
    compress: Callable[[Words], bytes]
    decompress: Callable[[bytes, int], Words]
    count: Callable[[Words], int] | None = None
    side_bytes: int = 0

    def size(self, words: Words) -> int:
        """The bytes of a stream, and of what stands beside it."""
        return (len(self.compress(words)) if self.count is None else self.count(words)) + self.side_bytes


def _of_bytes(
    name: str, squeeze: Callable[[bytes], bytes], restore: Callable[[bytes, int], bytes], format: Format
) -> Codec:
    """A general-purpose compressor of bytes.

    ``restore``: From compressed bytes and the raw size. It may give one byte more, to show that there are more; what it
        cannot restore is a ValueError.
    """

    def decompress(data: bytes, words: int) -> Words:
        expected = words * format.word_bits // 8
        try:
            raw = restore(data, expected)
        except ValueError as error:
            raise CorruptStream("code", 0, f"{name} cannot decompress it: {error}") from None
        if len(raw) != expected:
            kind: Kind = "truncated" if len(raw) < expected else "trailing"
            raise CorruptStream(
                kind, 0, f"{name} makes {len(raw)} bytes of it, or more; {expected} are right"
            )
        return words_from_bytes(raw, format)

    return Codec(name, lambda words: squeeze(words_to_bytes(words)), decompress)


def _of_words(
    name: str, squeeze: Callable[[Words], Words], restore: Callable[[Words, int], Words], format: Format
) -> Codec:
    """A codec of words to words."""

    def decompress(data: bytes, words: int) -> Words:
        stream = words_from_bytes(data, format)
        if len(data) > stream.nbytes:
            raise CorruptStream(
                "trailing", len(stream), f"{len(data) - stream.nbytes} bytes after the last word"
            )
        return restore(stream, words)

    return Codec(name, lambda words: words_to_bytes(squeeze(words)), decompress)


def _frequent(name: str, format: Format, side_bytes: int = 0) -> Codec:
    """The golden model."""
    compress, decompress = partial(model.compress, format=format), partial(model.decompress, format=format)
    return Codec(
        name, compress, decompress, lambda words: model.analyse(words, format).compressed_bytes, side_bytes
    )


def _zlib_restore(data: bytes, expected: int) -> bytes:
    """Decompresses at most one byte more than expected, so that data which are no packet cannot fill the memory."""
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(data, expected + 1)
    except zlib.error as error:
        raise ValueError(error) from None
    if len(raw) <= expected and not stream.eof:
        raise ValueError("the zlib stream has no end")
    if stream.unused_data:
        raise ValueError("bytes follow the zlib stream")
    return raw


def _lz4() -> ModuleType:
    try:
        import lz4.block
    except ImportError:
        raise MissingCodec(f"the codec lz4 needs the package lz4: {install_command('bench')}") from None
    block: ModuleType = lz4.block
    return block


def _lz4_restore(data: bytes, expected: int) -> bytes:
    block = _lz4()
    try:
        return bytes(block.decompress(data, uncompressed_size=expected))
    except block.LZ4BlockError as error:
        raise ValueError(error) from None


#: The codecs, those with a table by the bits of their codes.
_TABLES = {"fvc1": 1, "fvc2": 2, "fvc4": 4}
CODECS = ("zv", "rl", "zl", *_TABLES, "csr", "lz4")


def make(name: str, word_bits: int, sample: Words) -> Codec:
    """Returns the codec ``name`` for words of 8, 16 or 32 bits; codecs with a table learn it from ``sample``."""
    if name not in CODECS:
        raise ParameterError(f"codec is {name!r}; it must be one of {', '.join(CODECS)}")
    if word_bits not in (8, 16, 32):
        raise ParameterError(f"word_bits is {word_bits!r}; codecs of bytes have words of 8, 16 or 32 bits")
    format = Format(word_bits=word_bits)
    if name in _TABLES:
        learnt = learn_format(sample, word_bits, _TABLES[name])
        return _frequent(name, learnt, len(learnt.values) * word_bits // 8)
    if name == "zv":
        return _frequent(name, format)
    if name == "rl":
        return _of_words(name, sparse.runs_of, sparse.words_of_runs, format)
    if name == "csr":
        return _of_words(name, sparse.rows_of, sparse.words_of_rows, format)
    if name == "zl":
        return _of_bytes(name, lambda raw: zlib.compress(raw, 6), _zlib_restore, format)
    block = _lz4()
    return _of_bytes(name, lambda raw: bytes(block.compress(raw, store_size=False)), _lz4_restore, format)


def available() -> tuple[str, ...]:
    """Returns the codecs whose libraries are installed."""
    try:
        _lz4()
    except MissingCodec:
        return tuple(name for name in CODECS if name != "lz4")
    return CODECS
