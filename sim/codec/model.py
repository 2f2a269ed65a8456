"""The golden model, as software calls it: tensors and packets to streams and back, by the codec of their format.

The RTL, the driver and the documents agree with this or are wrong. Each codec has a ``Model``; its answers are reports
of packets, figures of tensors, the windows of a stream, and why a stream is corrupt.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.base.errors import CdmaError
from cdma.hdl.spec.codec import codec_of
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.hdl.spec.settings import word_count

from .words import (
    Words,
    as_stream,
    as_words,
    require_byte_words,
    stream_dtype,
    stream_from_bytes,
    words_of,
    xored,
)

#: The error codes of a report, as in ``hdl/codec/parts/interface.py``, which needs Amaranth. There 4 is a malformed beat,
#: which no stream has.
NONE, TRUNCATED, TRAILING, CODE, PADDING = 0, 1, 2, 3, 5

Kind = Literal["truncated", "trailing", "code", "padding"]


class CorruptStream(CdmaError, ValueError):
    """A stream that no compressor writes.

    ``kind``: ``"truncated"``: it ended before the packet had all its words; ``"trailing"``: words were left over;
        ``"code"``: a code past the table, or a code other than 0 past the end of a partial window; ``"padding"``:
        padding that is not zero.
    ``word``: The stream word at fault: the first missing, the first left over, or the one that holds the code.
    """

    def __init__(self, kind: Kind, word: int, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.word = word


@dataclass(frozen=True)
class Analysis:
    """What compressing a tensor gives, without the compressed words."""

    format: StreamFormat
    #: Words of the tensor.
    words: int
    #: Words that are stored whole.
    literals: int
    #: Windows, the last of which may be partial.
    windows: int
    #: Stream words of the compressed stream.
    compressed_words: int

    @property
    def compressed_bytes(self) -> int:
        """Bytes of the compressed stream."""
        return self.compressed_words * self.format.stream_bits // 8

    @property
    def density(self) -> float:
        """Literals per word, 0 to 1; 0 for no words."""
        return self.literals / self.words if self.words else 0.0

    @property
    def ratio(self) -> float:
        """Bytes per compressed byte; 1 for no words."""
        return self.words * self.format.parts / self.compressed_words if self.words else 1.0


@dataclass(frozen=True)
class PacketReport:
    """The fields of the report of one packet. What is compressed is counted in stream words."""

    #: Words of the packet that came in, including those discarded after an error.
    words_in: int
    #: Words delivered.
    words_out: int
    #: Literals among the words compressed, or among those delivered.
    literals: int
    #: ``NONE``, ``TRUNCATED``, ``TRAILING``, ``CODE`` or ``PADDING``.
    error: int = NONE


@dataclass(frozen=True)
class PacketResult:
    """The words that a block delivers for one packet, and its report."""

    words: Words
    report: PacketReport


#: Zero-value compression of 32-bit words, the format where none is given.
ZVC = Format()


def compress_words(words: ArrayLike, format: StreamFormat = ZVC) -> Words:
    """The compressed stream of a word array, as an array of stream words."""
    return model_of(format).stream_of(as_words(words, format), format)


def compress(array: ArrayLike, format: StreamFormat = ZVC) -> bytes:
    """The compressed stream of a tensor of any shape, by bit pattern; see :func:`decompress`."""
    stream = BytesIO()
    for part in model_of(format).compressed(words_of(array, format), format):
        stream.write(part.astype(part.dtype.newbyteorder("<"), copy=False).data)
    return stream.getvalue()


def decompress(data: bytes | bytearray | memoryview, words: int, format: StreamFormat = ZVC) -> Words:
    """The ``words`` unsigned words that ``data`` stands for; ``.view(dtype).reshape(shape)`` undoes the rest.

    Raises :class:`CorruptStream` for every stream whose length or codes show that it is not whole.
    """
    require_byte_words(format)
    stream = stream_from_bytes(data, format)
    result = decompress_words(stream, words, format)
    if left := memoryview(data).nbytes - stream.nbytes:
        raise CorruptStream(
            "trailing",
            len(stream),
            f"{words} words are complete before stream word {len(stream)}, but {left} more bytes follow",
        )
    return result


def decompress_words(stream: ArrayLike, words: int, format: StreamFormat = ZVC) -> Words:
    """The ``words`` words that a compressed stream stands for; raises :class:`CorruptStream`."""
    return model_of(format).decompressed(as_stream(stream, format), word_count(words), format)


def analyse(array: ArrayLike, format: StreamFormat = ZVC, *, base: ArrayLike | None = None) -> Analysis:
    """Counts what :func:`compress` would store."""
    source = xored(words_of(array, format), base, format)
    model = model_of(format)
    literals = int(np.count_nonzero(model.stored(source, format)))
    windows = -(-len(source) // format.window)
    return Analysis(format, len(source), literals, windows, model.stream_words(source, format))


def encode_packet(words: ArrayLike, format: StreamFormat) -> PacketResult:
    """What the compressor delivers and reports for a packet of ``words``."""
    return model_of(format).encode_packet(as_words(words, format), format)


def decode_packet(stream: ArrayLike, words: int, format: StreamFormat, lanes: int) -> PacketResult:
    """What the decompressor with ``lanes`` lanes delivers and reports for any stream and any asked length.

    :func:`decompress_words` refuses a corrupt stream as a whole. The hardware has by then sent beats on: this says
    which.
    """
    return model_of(format).decode_packet(as_stream(stream, format), word_count(words), format, lanes)


AFormat = TypeVar("AFormat", bound=StreamFormat)


class CodecModel(ABC, Generic[AFormat]):
    """A codec in numpy. Words are arrays of unsigned integers in the machine's byte order."""

    @abstractmethod
    def stored(self, words: Words, format: AFormat) -> NDArray[np.bool_]:
        """Which words the stream stores as literals."""

    def stream_words_of_each(self, words: Words, format: AFormat) -> NDArray[np.integer[Any]]:
        """How many stream words the stream stores of each word."""
        return self.stored(words, format).view(np.uint8)

    def stored_after(self, header: Words, format: AFormat) -> int:
        """How many stream words of a whole window follow its header, without padding; for a format without headers nobody
        asks."""
        return 0

    @abstractmethod
    def compressed(self, words: Words, format: AFormat) -> Iterator[Words]:
        """The compressed stream of a packet, in parts."""

    def stream_of(self, words: Words, format: AFormat) -> Words:
        """The compressed stream of a packet in one piece."""
        return np.concatenate([np.empty(0, stream_dtype(format)), *self.compressed(words, format)])

    def stream_words(self, words: Words, format: AFormat) -> int:
        """How many stream words the compressed stream of a packet has."""
        return sum(len(part) for part in self.compressed(words, format))

    @abstractmethod
    def decompressed(self, stream: Words, words: int, format: AFormat) -> Words:
        """The ``words`` words that a stream stands for; raises :class:`.CorruptStream`."""

    @abstractmethod
    def decode_packet(self, stream: Words, words: int, format: AFormat, lanes: int) -> PacketResult:
        """What a decompressor with ``lanes`` lanes delivers and reports for any stream and any asked length."""

    def encode_packet(self, words: Words, format: AFormat) -> PacketResult:
        """What a compressor delivers and reports for a packet of ``words``."""
        stream = self.stream_of(words, format)
        literals = int(np.count_nonzero(self.stored(words, format)))
        return PacketResult(stream, PacketReport(len(words), len(stream), literals))


def model_of(format: StreamFormat) -> CodecModel[StreamFormat]:
    """The model of the codec that a format belongs to."""
    model: CodecModel[StreamFormat] = codec_of(format).load("model")
    return model


@dataclass(frozen=True)
class Window:
    """One window, in words: its header at ``start`` of the stream, what is stored behind it, padding, and its raw words."""

    start: int
    header: int
    stored: int
    padding: int
    first: int
    words: int

    @property
    def end(self) -> int:
        """Where the next window starts in the stream."""
        return self.start + self.header + self.stored + self.padding


def windows_of(stream: Words, words: int, format: StreamFormat) -> Iterator[Window]:
    """The windows of a stream of ``words`` raw words, as far as it goes. A format without headers has one."""
    header = format.header_words
    if not header:
        yield Window(0, 0, len(stream), 0, 0, words)
        return
    position = first = 0
    while first < words and position + header <= len(stream):
        said = model_of(format).stored_after(stream[position : position + header], format)
        stored = min(said, len(stream) - position - header)
        padding = min(-(header + said) % format.align_words, len(stream) - position - header - stored)
        window = Window(position, header, stored, padding, first, min(format.window, words - first))
        yield window
        position, first = window.end, first + window.words


def places_of(raw: Words, stream: Words, format: StreamFormat) -> NDArray[np.int64]:
    """The stream word that each raw word is in: the last word of its literal, or the last one of its window's header.

    A stream that ends too early has none, -1, for the words that it lacks.
    """
    sizes = model_of(format).stream_words_of_each(raw, format).astype(np.int64)
    places = np.full(len(raw), -1, np.int64)
    for window in windows_of(stream, len(raw), format):
        window_sizes = sizes[window.first : window.first + window.words]
        ends = window.start + window.header + np.cumsum(window_sizes) - 1
        places[window.first : window.first + window.words] = np.where(
            window_sizes > 0, ends, window.start + max(0, window.header - 1)
        )
    places[places >= len(stream)] = -1
    return places
