"""The golden model of the stream format (``docs/format.md``), fast enough to be used as a codec.

The RTL, the driver and the documents agree with this or are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..hdl.errors import CdmaError
from ..hdl.params import Format
from .headers import codes_of, pack, unpack
from .words import Words, as_words, require_byte_words, words_from_bytes, words_of, words_to_bytes

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
    count, window = len(source), format.window
    windows = -(-count // window)
    frames = np.zeros((windows, format.header_words + window), source.dtype)
    stored = np.ones(frames.shape, bool)
    codes = np.zeros(windows * window, np.uint8)
    codes[:count] = codes_of(source, format)
    padded = np.zeros(windows * window, source.dtype)
    padded[:count] = source
    rows = codes.reshape(windows, window)
    frames[:, : format.header_words] = pack(rows, format)
    frames[:, format.header_words :] = padded.reshape(windows, window)
    stored[:, format.header_words :] = rows == format.literal_code
    return frames[stored]


def _headers_at(stream: Words, words: int, format: Format) -> np.ndarray:
    """Where each window's header starts, and where the stream must end."""
    windows = -(-words // format.window)
    starts = np.zeros(windows + 1, np.int64)
    position = 0
    for index in range(windows):
        end = position + format.header_words
        if end > len(stream):
            raise _truncated(stream, words, index, format)
        codes = unpack(stream[None, position:end], format)[0]
        used = min(format.window, words - index * format.window)
        undefined = (codes >= len(format.values)) & (codes != format.literal_code)
        undefined[used:] = codes[used:] != 0
        if undefined.any():
            place = int(undefined.argmax())
            at = position + place * format.code_bits // format.word_bits
            what = (
                "past the packet's last word, where only 0 may be"
                if place >= used
                else f"past the table of {len(format.values)} values"
            )
            raise CorruptStream(
                "code",
                at,
                f"stream word {at} holds code {codes[place]} "
                f"for word {index * format.window + place}, {what}",
            )
        position = end + int(np.count_nonzero(codes == format.literal_code))
        if position > len(stream):
            raise _truncated(stream, words, index, format)
        starts[index + 1] = position
    return starts


def _truncated(stream: Words, words: int, window: int, format: Format) -> CorruptStream:
    return CorruptStream(
        "truncated",
        len(stream),
        f"the stream ends after {len(stream)} words, within window {window} of "
        f"{-(-words // format.window)} of a packet of {words} words",
    )


def decompress_words(stream: ArrayLike, words: int, format: Format = ZVC) -> Words:
    """The ``words`` words that a compressed stream stands for; raises :class:`CorruptStream`."""
    format.bound(words)
    source = as_words(stream, format)
    starts = _headers_at(source, words, format)
    if starts[-1] < len(source):
        raise CorruptStream(
            "trailing",
            int(starts[-1]),
            f"the packet of {words} words is complete at stream word {starts[-1]}, "
            f"but the stream has {len(source)} words",
        )
    headers = source[starts[:-1, None] + np.arange(format.header_words)]
    codes = unpack(headers, format).reshape(-1)
    table = np.zeros(1 << format.code_bits, source.dtype)
    table[: len(format.values)] = format.values
    result = table[codes]
    is_literal = np.ones(len(source), bool)
    is_literal[(starts[:-1, None] + np.arange(format.header_words)).reshape(-1)] = False
    result[codes == format.literal_code] = source[is_literal]
    return result[:words]


def compress(array: ArrayLike, format: Format = ZVC) -> bytes:
    """The compressed stream of a tensor of any shape, by bit pattern; see :func:`decompress`."""
    return words_to_bytes(compress_words(words_of(array, format), format))


def decompress(data: bytes | bytearray | memoryview, words: int, format: Format = ZVC) -> Words:
    """The ``words`` unsigned words that ``data`` stands for; ``.view(dtype).reshape(shape)`` undoes it.

    Raises :class:`CorruptStream` for every stream whose length or codes show that it is not whole.
    """
    require_byte_words(format)
    stream = words_from_bytes(data, format)
    result = decompress_words(stream, words, format)
    if len(data) > stream.nbytes:
        raise CorruptStream("trailing", len(stream), f"{len(data) - stream.nbytes} bytes after the last word")
    return result


def analyse(array: ArrayLike, format: Format = ZVC) -> Analysis:
    """Counts what :func:`compress` would store."""
    source = words_of(array, format)
    literals = int(np.count_nonzero(codes_of(source, format) == format.literal_code))
    return Analysis(format, len(source), literals, -(-len(source) // format.window))
