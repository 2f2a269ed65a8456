"""What the times of a codec on a GPU say: medians, rates, and shares of what the GPU's memory allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Timing:
    """The seconds of each round of a codec, and the bytes of its stream."""

    codec: str
    stream: int
    compress: Sequence[float]
    decompress: Sequence[float]


def row(card: str, data: str, raw: int, timing: Timing, copy: Sequence[float]) -> dict[str, Any]:
    """A row of the table, from times of ``raw`` bytes; rates are in bytes of raw data per second.

    A ``copy`` of the raw data reads and writes all of them, and so says how many bytes the memory moves in a second. The
    codec must read or write the raw data and the stream at least once: the share is the time that these take at that rate,
    of the time that the codec takes.
    """
    moved = 2 * raw / median(copy)
    there, back = median(timing.compress), median(timing.decompress)
    limit = (raw + timing.stream) / moved
    return {
        "card": card,
        "data": data,
        "codec": timing.codec,
        "ratio": raw / timing.stream,
        "compress": raw / there,
        "decompress": raw / back,
        "share": {"compress": limit / there, "decompress": limit / back},
    }


def copy_row(card: str, data: str, raw: int, copy: Sequence[float]) -> dict[str, Any]:
    """The row of the copy itself, which is all of what is possible."""
    return row(card, data, raw, Timing("copy", raw, copy, copy), copy)
