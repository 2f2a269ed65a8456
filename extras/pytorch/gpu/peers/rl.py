"""Zero run-length coding as a golden model; ``docs/study/codecs.md`` defines the format.

A word other than zero is a literal and stands for itself. A run of zeros becomes two words: zero, then its
length. Lengths are never zero, so a zero word in a stream always begins a run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import CorruptStream
from cdma.sim.codec.words import Words, as_words


@dataclass(frozen=True)
class RunFormat:
    """The format of a run-length stream: the bits of its words, as in :class:`~cdma.hdl.spec.format.Format`."""

    word_bits: int = 32

    def __post_init__(self) -> None:
        Format(word_bits=self.word_bits, window=32)

    @property
    def longest_run(self) -> int:
        """The most zeros that two words can encode; a longer run takes several pairs."""
        return (1 << self.word_bits) - 1

    def bound(self, words: int) -> int:
        """Returns the most words that a packet of ``words`` words can become: every other word is a lone zero."""
        if isinstance(words, bool) or not isinstance(words, int) or words < 0:
            raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
        return words + -(-words // 2)


#: Run-length coding of 32-bit words, the format where none is given.
_DEFAULT = RunFormat()


def _runs(source: Words) -> tuple[np.ndarray, np.ndarray]:
    """Returns where the runs of zeros begin, and their lengths."""
    edges = np.diff(np.concatenate(([0], (source == 0).view(np.int8), [0])))
    starts = np.flatnonzero(edges == 1)
    return starts, np.flatnonzero(edges == -1) - starts


def compress_words(words: ArrayLike, format: RunFormat = _DEFAULT) -> Words:
    """Compresses a word array to a stream, as a word array."""
    source = as_words(words, format)
    starts, lengths = _runs(source)
    pairs = -(-lengths // format.longest_run)
    # Every run begins at its first zero, cut runs at the first zero of each piece.
    first = np.repeat(np.cumsum(pairs) - pairs, pairs)
    piece = np.arange(len(first)) - first
    piece_start = np.repeat(starts, pairs) + piece * format.longest_run
    piece_length = np.minimum(np.repeat(lengths, pairs) - piece * format.longest_run, format.longest_run)

    taken = np.zeros(len(source), np.int64)
    taken[source != 0] = 1
    taken[piece_start] = 2
    position = np.cumsum(taken) - taken
    stream = np.zeros(int(taken.sum()), source.dtype)
    literal = source != 0
    stream[position[literal]] = source[literal]
    stream[position[piece_start] + 1] = piece_length
    return stream


def decompress_words(stream: ArrayLike, words: int, format: RunFormat = _DEFAULT) -> Words:
    """Decompresses a stream to ``words`` words, or raises :class:`~cdma.sim.codec.model.CorruptStream`.

    Runs must fill the packet exactly; neighbouring runs need not be one.
    """
    format.bound(words)
    source = as_words(stream, format)
    if words == 0:
        return _require_end(source, words, 0)

    # A zero begins a run. Tokens are sound up to a zero whose length is 0 or missing.
    zeros = np.flatnonzero(source == 0)
    without_length = np.flatnonzero(np.append(zeros[1:], len(source)) == zeros + 1)
    sound = int(zeros[without_length[0]]) if len(without_length) else len(source)
    is_token = np.ones(sound, bool)
    begins = zeros[zeros < sound]
    is_token[begins + 1] = False
    lengths = np.ones(sound, np.int64)
    lengths[begins] = source[begins + 1]
    tokens = np.flatnonzero(is_token)
    lengths = lengths[tokens]
    reached = np.cumsum(lengths)

    last = int(np.searchsorted(reached, words))
    if last == len(tokens):
        if sound + 1 < len(source):
            raise CorruptStream(
                "code", sound + 1, f"stream word {sound + 1} says a run of 0 zeros; a run has at least 1"
            )
        raise CorruptStream(
            "truncated",
            len(source),
            f"the stream ends after {len(source)} words, which stand for "
            f"{reached[-1] if len(reached) else 0} words of a packet of {words} words",
        )
    if reached[last] > words:
        raise CorruptStream(
            "code",
            int(tokens[last]) + 1,
            f"stream word {tokens[last] + 1} says a run of {lengths[last]} zeros, but only "
            f"{words - reached[last] + lengths[last]} words are left of the packet of {words} words",
        )
    _require_end(source, words, int(tokens[last]) + (1 if source[tokens[last]] else 2))
    return np.repeat(source[tokens[: last + 1]], lengths[: last + 1])


def _require_end(source: Words, words: int, end: int) -> Words:
    """Refuses a stream with words from ``end`` on; returns the empty rest."""
    if end < len(source):
        raise CorruptStream(
            "trailing",
            end,
            f"the packet of {words} words is complete at stream word {end}, "
            f"but the stream has {len(source)} words",
        )
    return source[end:]


def compressed_words(words: Words, format: RunFormat = _DEFAULT) -> int:
    """Counts the words of the stream without making it: literals, and two for each run."""
    _, lengths = _runs(words)
    return int(np.count_nonzero(words)) + 2 * int((-(-lengths // format.longest_run)).sum())
