"""What the model of a codec can do; every codec has one, and its hardware agrees with it or is wrong."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.codecs import codec_of
from cdma.hdl.spec.stream_format import StreamFormat

from .results import PacketReport, PacketResult
from .words import Words, stream_dtype

__all__ = ["CodecModel", "model_of"]

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
