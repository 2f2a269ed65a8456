"""What the models of codecs answer: reports of packets, figures of tensors, and why a stream is corrupt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cdma.base.errors import CdmaError
from cdma.hdl.spec.stream_format import StreamFormat

from .words import Words

__all__ = [
    "CODE",
    "NONE",
    "PADDING",
    "TRAILING",
    "TRUNCATED",
    "Analysis",
    "CorruptStream",
    "PacketReport",
    "PacketResult",
]

#: The error codes of a report, as in ``hdl/codec/parts/streams.py``, which needs Amaranth. There 4 is a malformed beat,
#: which no stream has.
NONE, TRUNCATED, TRAILING, CODE, PADDING = 0, 1, 2, 3, 5

Kind = Literal["truncated", "trailing", "code", "padding"]


class CorruptStream(CdmaError, ValueError):
    """A stream that no compressor writes.

    ``kind``
        ``"truncated"``: it ended before the packet had all its words; ``"trailing"``: words were left over;
        ``"code"``: a code past the table, or a code other than 0 past the end of a partial window; ``"padding"``:
        padding that is not zero.
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
