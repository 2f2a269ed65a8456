"""Words packed into the beats of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .words import Words

__all__ = ["PackedBeat", "packed_beats"]


class PackedBeat(NamedTuple):
    """What a transfer of a stream carries. ``keep`` has a bit for each byte, or for each word that is less than a byte."""

    data: int
    keep: int
    last: bool


def packed_beats(words: Words | Sequence[int], bits: int, lanes: int) -> Iterator[PackedBeat]:
    """Words of so many bits, ``lanes`` of them in a beat; no words are one empty last beat."""
    keeps = max(1, bits // 8)
    # Words below a byte take one each here, and only their bits in a beat.
    raw = np.asarray(words, f"<u{keeps}").tobytes()
    for start in range(0, max(len(raw), 1), lanes * keeps):
        part = raw[start : start + lanes * keeps]
        if bits < 8:
            data = sum(word << bits * lane for lane, word in enumerate(part))
        else:
            data = int.from_bytes(part, "little")
        yield PackedBeat(data, (1 << len(part)) - 1, start + lanes * keeps >= len(raw))
