"""The model of the toy codec."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cdma.sim.codec.model import (
    NONE,
    TRAILING,
    TRUNCATED,
    CodecModel,
    CorruptStream,
    PacketReport,
    PacketResult,
)
from cdma.sim.codec.words import Words

from .description import Verbatim


class VerbatimModel(CodecModel[Verbatim]):
    """Every word is a literal."""

    def stored(self, words: Words, format: Verbatim) -> NDArray[np.bool_]:
        return np.ones(len(words), bool)

    def compressed(self, words: Words, format: Verbatim) -> Iterator[Words]:
        yield words

    def decompressed(self, stream: Words, words: int, format: Verbatim) -> Words:
        if len(stream) < words:
            raise CorruptStream(
                "truncated", len(stream), f"the stream ends after {len(stream)} of {words} words"
            )
        if len(stream) > words:
            raise CorruptStream(
                "trailing", words, f"{len(stream) - words} words follow the {words} of the packet"
            )
        return stream

    def decode_packet(self, stream: Words, words: int, format: Verbatim, lanes: int) -> PacketResult:
        """Of a stream that is too short, the whole beats are delivered."""
        total = len(stream)
        delivered = words if total >= words else total // lanes * lanes
        error = TRUNCATED if total < words else TRAILING if total > words or not words else NONE
        return PacketResult(stream[:delivered].copy(), PacketReport(total, delivered, delivered, error))


MODEL = VerbatimModel()
