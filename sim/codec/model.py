"""The golden model of the stream format (``docs/format.md``), fast enough to be used as a codec.

The RTL, the driver and the documents agree with this or are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.spec.format import Format

from .frames import Frames
from .headers import Codes, codes_of, unpack
from .walk import find_headers
from .words import Words, as_words, require_byte_words, words_from_bytes, words_of

__all__ = [
    "ZVC",
    "Analysis",
    "CorruptStream",
    "analyse",
    "compress",
    "compress_words",
    "decompress",
    "decompress_words",
]

#: Zero-value compression of 32-bit words, the format where none is given.
ZVC = Format()

Kind = Literal["truncated", "trailing", "code"]


class CorruptStream(CdmaError, ValueError):
    """A stream that no compressor writes.

    ``kind``
        ``"truncated"``: it ended before the packet had all its words; ``"trailing"``: words were left over;
        ``"code"``: a code past the table, or a code other than 0 past the end of a partial window.
    ``word``
        The stream word at fault: the first missing, the first left over, or the one that holds the code.
    """

    def __init__(self, kind: Kind, word: int, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.word = word


@dataclass(frozen=True)
class Analysis:
    """What compressing a tensor gives, without the compressed words."""

    format: Format
    #: Words of the tensor.
    words: int
    #: Words that are stored.
    literals: int
    #: Windows, the last of which may be partial.
    windows: int

    @property
    def compressed_words(self) -> int:
        """Words of the compressed stream: headers and literals."""
        return self.windows * self.format.header_words + self.literals

    @property
    def density(self) -> float:
        """Literals per word, 0 to 1; 0 for no words."""
        return self.literals / self.words if self.words else 0.0

    @property
    def ratio(self) -> float:
        """Words per compressed word; 1 for no words."""
        return self.words / self.compressed_words if self.words else 1.0


def compress_words(words: ArrayLike, format: Format = ZVC) -> Words:
    """The compressed stream of a word array, as a word array."""
    source = as_words(words, format)
    return np.concatenate([source[:0], *_compressed(source, format)])


def compress(array: ArrayLike, format: Format = ZVC) -> bytes:
    """The compressed stream of a tensor of any shape, by bit pattern; see :func:`decompress`."""
    stream = BytesIO()
    for part in _compressed(words_of(array, format), format):
        stream.write(part.astype(part.dtype.newbyteorder("<"), copy=False).data)
    return stream.getvalue()


def _compressed(words: Words, format: Format) -> Iterator[Words]:
    """The compressed stream in parts."""
    frames = Frames(format)
    step = frames.capacity * format.window
    whole = len(words) - len(words) % format.window
    for begin in range(0, whole, step):
        yield frames.compress(words[begin : min(begin + step, whole)])
    if whole < len(words):
        # The word of code 0 fills the last window: the places past the end have code 0 and no literals.
        last = np.full(format.window, format.values[0], words.dtype)
        last[: len(words) - whole] = words[whole:]
        yield frames.compress(last)


def decompress(data: bytes | bytearray | memoryview, words: int, format: Format = ZVC) -> Words:
    """The ``words`` unsigned words that ``data`` stands for; ``.view(dtype).reshape(shape)`` undoes the rest.

    Raises :class:`CorruptStream` for every stream whose length or codes show that it is not whole.
    """
    require_byte_words(format)
    stream = words_from_bytes(data, format)
    result = decompress_words(stream, words, format)
    if left := memoryview(data).nbytes - stream.nbytes:
        raise CorruptStream(
            "trailing",
            len(stream),
            f"{words} words are complete before stream word {len(stream)}, but {left} more bytes follow",
        )
    return result


def decompress_words(stream: ArrayLike, words: int, format: Format = ZVC) -> Words:
    """The ``words`` words that a compressed stream stands for; raises :class:`CorruptStream`."""
    format.bound(words)
    source = as_words(stream, format)
    windows = -(-words // format.window)
    starts, end = find_headers(source, windows, format)
    if len(starts) < windows or end > len(source):
        _checked_codes(source, starts, 0, words, format)
        window = len(starts) - (end > len(source))
        raise CorruptStream(
            "truncated",
            len(source),
            f"the stream ends after {len(source)} words, in window {window} of {windows}",
        )
    result = np.empty(windows * format.window, source.dtype)
    frames = Frames(format)
    bounds = np.append(starts, end)
    for first in range(0, windows, frames.capacity):
        group = starts[first : first + frames.capacity]
        codes = _checked_codes(source, group, first, words, format)
        part = source[group[0] : bounds[first + len(group)]]
        frames.decompress(part, codes, result[first * format.window :][: len(group) * format.window])
    if end < len(source):
        raise CorruptStream(
            "trailing",
            end,
            f"{words} words are complete before stream word {end}, but {len(source) - end} more follow",
        )
    return result[:words]


def _checked_codes(stream: Words, starts: NDArray[np.intp], first: int, words: int, format: Format) -> Codes:
    """The codes of the windows from ``first`` on, whose headers are at ``starts``, if all are defined."""
    codes = unpack(stream[starts[:, None] + np.arange(format.header_words)], format)
    undefined = np.zeros(codes.shape, bool)
    if len(format.values) < format.literal_code:
        undefined = (codes >= len(format.values)) & (codes != format.literal_code)
    past_end = (first + len(codes)) * format.window - words
    if past_end > 0:
        undefined[-1, -past_end:] = codes[-1, -past_end:] != 0
    if undefined.any():
        window, place = divmod(int(undefined.argmax()), format.window)
        at = int(starts[window]) + place * format.code_bits // format.word_bits
        word = (first + window) * format.window + place
        why = (
            f"past the packet's end at word {words}, where only code 0 may be"
            if word >= words
            else f"past the table of {len(format.values)} values"
        )
        raise CorruptStream(
            "code", at, f"stream word {at} holds code {codes[window, place]} for word {word}, {why}"
        )
    return codes


def analyse(array: ArrayLike, format: Format = ZVC) -> Analysis:
    """Counts what :func:`compress` would store."""
    source = words_of(array, format)
    literals = int(np.count_nonzero(codes_of(source, format) == format.literal_code))
    return Analysis(format, len(source), literals, -(-len(source) // format.window))
