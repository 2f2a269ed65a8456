"""Zero run-length coding and compressed sparse rows as golden models; ``docs/study/codecs.md`` defines the formats.

Nothing of a row is known before the whole packet is, so sparse rows are a format to compare with, not one to stream.
"""

from __future__ import annotations

import numpy as np

from cdma.hdl.spec.format import Format
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
