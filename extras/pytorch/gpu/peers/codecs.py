"""Formats whose tables of frequent values are learnt from the histogram of a tensor.

Every codec of the comparison with one interface: to compress a tensor, and to decompress it.

==========  =====================================================================================
``zv``      zero-value compression: one mask bit per word, :class:`~cdma.hdl.spec.format.Format`
``rl``      zero run-length coding
``zl``      zlib at level 6, of all bytes at once
``fvc1``    frequent-value compression with codes of 1, 2 and 4 bits; the table, learnt from the
``fvc2``    tensor's histogram, is counted with the compressed bytes
``fvc4``
``csr``     compressed sparse rows of 256 words
``lz4``     an LZ4 block (needs the ``bench`` extra)
==========  =====================================================================================

``docs/study/codecs.md`` defines ``rl`` and ``csr``, whose golden models these are. Nothing of a row is known before the
whole packet is, so sparse rows are a format to compare with, not one to stream.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType

import numpy as np

from cdma.base.errors import CdmaError, ParameterError, install_command
from cdma.hdl.spec.format import Format
from cdma.sim.codec import model
from cdma.sim.codec.fit import frequent_values
from cdma.sim.codec.model import CorruptStream, Kind
from cdma.sim.codec.words import Words, word_dtype, words_from_bytes, words_to_bytes

#: Words of a row, whose numbers have a byte.
COLUMNS = 256


def runs_of(words: Words) -> Words:
    """The stream of run-length coding."""
    longest = int(np.iinfo(words.dtype).max)
    edges = np.diff(np.concatenate(([0], (words == 0).view(np.int8), [0])))
    starts = np.flatnonzero(edges == 1)
    lengths = np.flatnonzero(edges == -1) - starts
    # A run that a word cannot count is cut at the first zero of each piece.
    pieces = -(-lengths // longest)
    number = np.arange(pieces.sum()) - np.repeat(pieces.cumsum() - pieces, pieces)
    starts = np.repeat(starts, pieces) + number * longest
    taken = (words != 0).astype(np.int64)
    taken[starts] = 2
    places = taken.cumsum() - taken
    stream = np.zeros(taken.sum(), words.dtype)
    stream[places[words != 0]] = words[words != 0]
    stream[places[starts] + 1] = np.minimum(np.repeat(lengths, pieces) - number * longest, longest)
    return stream


def words_of_runs(stream: Words, words: int) -> Words:
    """The words of a stream of run-length coding; neighbouring runs need not be one."""
    zero = stream == 0
    # No length is zero, so the word behind a zero is one.
    token = np.concatenate(([True], ~zero))[:-1]
    lengths = np.where(zero, np.append(stream, 0)[1:], 1).astype(np.int64)
    if not lengths.all():
        place = int(np.flatnonzero(lengths == 0)[0]) + 1
        kind: Kind = "truncated" if place == len(stream) else "code"
        raise CorruptStream(
            kind, place, f"stream word {place} is the length of a run; it must be there, and 1 or more"
        )
    _check_count("run-length coding makes", int(lengths[token].sum()), words, len(stream))
    return np.repeat(stream[token], lengths[token])


def rows_of(words: Words) -> Words:
    """The stream of compressed sparse rows."""
    literals = np.flatnonzero(words)
    edges = np.arange(-(-len(words) // COLUMNS) + 1) * COLUMNS
    pointers = np.searchsorted(literals, edges).astype("<u4")
    columns = (literals % COLUMNS).astype("u1").tobytes()
    filled = columns + bytes(-len(columns) % words.itemsize)
    format = Format(word_bits=8 * words.itemsize)
    return words_from_bytes(pointers.tobytes() + filled + words_to_bytes(words[literals]), format)


def words_of_rows(stream: Words, words: int) -> Words:
    """The words of a stream of compressed sparse rows. A literal may be zero, although no compressor writes one."""
    word, rows = stream.itemsize, -(-words // COLUMNS)
    begin = 4 * (rows + 1)
    data = words_to_bytes(stream)
    if len(data) < begin:
        raise CorruptStream(
            "truncated", len(stream), f"the stream has {len(data)} bytes, of {begin} of row pointers"
        )
    pointers = np.frombuffer(data, "<u4", rows + 1).astype(np.int64)
    counts = np.diff(pointers)
    wrong = np.append(counts < 0, False) | (pointers > words)
    wrong[0] |= pointers[0] != 0
    if wrong.any():
        at = 4 * int(wrong.argmax()) // word
        raise CorruptStream(
            "code", at, f"stream word {at} has a row pointer that does not begin at 0, or falls"
        )
    literals = int(pointers[-1])
    end = begin + -(-literals // word) * word
    _check_count("compressed sparse rows have", end // word + literals, len(stream), len(stream))
    columns = np.frombuffer(data, "u1", end - begin, begin)
    places = np.repeat(np.arange(rows), counts) * COLUMNS + columns[:literals]
    if (np.diff(places) <= 0).any() or (places >= words).any() or columns[literals:].any():
        raise CorruptStream(
            "code", begin // word, "column numbers rise within a row, and zeros fill up the last word"
        )
    made = np.zeros(words, word_dtype(Format(word_bits=8 * word)))
    made[places] = stream[end // word :]
    return made


def _check_count(what: str, found: int, expected: int, length: int) -> None:
    if found != expected:
        kind: Kind = "truncated" if found < expected else "trailing"
        raise CorruptStream(kind, length, f"{what} {found} words of a stream of {length}, not {expected}")


def learn_format(words: Words, word_bits: int, code_bits: int) -> Format:
    """Returns the frequent-value format whose table has the most frequent words of a tensor."""
    values = frequent_values(words, (1 << code_bits) - 1)
    return Format(word_bits=word_bits, code_bits=code_bits, values=values)


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
        return _of_words(name, runs_of, words_of_runs, format)
    if name == "csr":
        return _of_words(name, rows_of, words_of_rows, format)
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
