"""Compressed sparse rows as a golden model; ``docs/study/codecs.md`` defines the format.

Three arrays follow each other: where each row's literals begin, their columns, and the literals.
Nothing of a row is known before the whole packet is, so this is a format to compare with, not one to stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import CorruptStream
from cdma.sim.codec.words import Words, as_words, words_from_bytes, words_to_bytes

_POINTER_BYTES = 4


@dataclass(frozen=True)
class CsrFormat:
    """The format of a packet of compressed sparse rows.

    ``word_bits``: Bits of a word: 8, 16 or 32.
    ``columns``: Words of a row; the last row may be shorter.
    ``index_bits``: Bits of a column's number: 8, 16 or 32, enough for ``columns``.
    """

    word_bits: int = 32
    columns: int = 256
    index_bits: int = 8

    def __post_init__(self) -> None:
        Format(word_bits=self.word_bits, window=32)
        for name, value in (("word_bits", self.word_bits), ("index_bits", self.index_bits)):
            if value not in (8, 16, 32):
                raise ParameterError(
                    f"{name} is {value!r}; it must be one of 8, 16, 32: arrays hold whole bytes"
                )
        most = 1 << self.index_bits
        if (
            isinstance(self.columns, bool)
            or not isinstance(self.columns, int)
            or not 1 <= self.columns <= most
        ):
            raise ParameterError(
                f"columns is {self.columns!r}; with index_bits {self.index_bits} "
                f"a row has 1 to {most} columns"
            )

    @property
    def word_bytes(self) -> int:
        """Bytes of one word."""
        return self.word_bits // 8

    def rows(self, words: int) -> int:
        """Rows of a packet of ``words`` words."""
        if isinstance(words, bool) or not isinstance(words, int) or words < 0:
            raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
        return -(-words // self.columns)

    def pointer_words(self, words: int) -> int:
        """Words that the row pointers of a packet of ``words`` words take."""
        return (self.rows(words) + 1) * _POINTER_BYTES // self.word_bytes

    def index_words(self, literals: int) -> int:
        """Words that the column numbers of ``literals`` literals take, filled up to a whole word."""
        return -(-literals * self.index_bits // self.word_bits)

    def bound(self, words: int) -> int:
        """The most words that a packet of ``words`` words can become: all of them literals."""
        return self.pointer_words(words) + self.index_words(words) + words


#: Rows of 256 words of 32 bits, the format where none is given.
_DEFAULT = CsrFormat()


def compress_words(words: ArrayLike, format: CsrFormat = _DEFAULT) -> Words:
    """Compresses a word array to a packet, as a word array."""
    source = as_words(words, format)
    literals = np.flatnonzero(source)
    edges = np.arange(format.rows(len(source)) + 1) * format.columns
    pointers = np.searchsorted(literals, edges).astype("<u4")
    columns = (literals % format.columns).astype(f"<u{format.index_bits // 8}").tobytes()
    filling = bytes(format.index_words(len(literals)) * format.word_bytes - len(columns))
    data = pointers.tobytes() + columns + filling + words_to_bytes(source[literals])
    return words_from_bytes(data, format)


def decompress_words(stream: ArrayLike, words: int, format: CsrFormat = _DEFAULT) -> Words:
    """Decompresses a packet to ``words`` words, or raises :class:`~cdma.sim.codec.model.CorruptStream`.

    A literal may be zero, although no compressor writes one.
    """
    source = as_words(stream, format)
    pointer_words = format.pointer_words(words)
    if len(source) < pointer_words:
        raise CorruptStream(
            "truncated",
            len(source),
            f"the packet of {words} words begins with {pointer_words} words of row pointers, "
            f"but the stream has {len(source)} words",
        )
    data = words_to_bytes(source)
    pointers = np.frombuffer(data, "<u4", format.rows(words) + 1).astype(np.int64)
    _check_pointers(pointers, words, format)
    literals = int(pointers[-1])
    index_words = format.index_words(literals)
    total = pointer_words + index_words + literals
    if len(source) != total:
        short = len(source) < total
        raise CorruptStream(
            "truncated" if short else "trailing",
            min(len(source), total),
            f"the row pointers say {literals} literals, which make {total} words of stream, "
            f"but the stream has {len(source)} words",
        )
    columns = np.frombuffer(
        data, f"<u{format.index_bits // 8}", literals, pointer_words * format.word_bytes
    ).astype(np.int64)
    filling = data[
        pointer_words * format.word_bytes + literals * format.index_bits // 8 : (pointer_words + index_words)
        * format.word_bytes
    ]
    if any(filling):
        at = pointer_words + index_words - 1
        raise CorruptStream("code", at, f"stream word {at} is not filled up with zeros after the last column")
    rows = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    positions = rows * format.columns + columns
    wrong = (columns >= format.columns) | (positions >= words)
    wrong[1:] |= positions[1:] <= positions[:-1]
    if wrong.any():
        literal = int(wrong.argmax())
        at = pointer_words + literal * format.index_bits // format.word_bits
        available = min(format.columns, words - int(rows[literal]) * format.columns)
        raise CorruptStream(
            "code",
            at,
            f"stream word {at} says column {columns[literal]} for literal {literal}; "
            f"columns rise within a row of {available} words",
        )
    result = np.zeros(words, source.dtype)
    result[positions] = source[pointer_words + index_words :]
    return result


def _check_pointers(pointers: np.ndarray, words: int, format: CsrFormat) -> None:
    """Refuses row pointers that do not begin at 0, fall, or give a row more literals than it has words."""
    counts = np.diff(pointers)
    available = np.minimum(format.columns, words - np.arange(len(counts)) * format.columns)
    wrong = np.concatenate(([pointers[0] != 0], (counts < 0) | (counts > available)))
    if wrong.any():
        row = int(wrong.argmax())
        at = row * _POINTER_BYTES // format.word_bytes
        raise CorruptStream(
            "code",
            at,
            f"stream word {at} has the row pointer {pointers[row]}; "
            + (
                "the first is 0"
                if row == 0
                else f"after {pointers[row - 1]} it may be up to {available[row - 1]} more"
            ),
        )


def compressed_words(words: Words, format: CsrFormat = _DEFAULT) -> int:
    """Counts the words of the packet without making it: row pointers, column numbers and literals."""
    literals = int(np.count_nonzero(words))
    return format.pointer_words(len(words)) + format.index_words(literals) + literals
