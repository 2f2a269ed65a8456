"""Words that pass a port, and what they are: the windows of a compressed stream, and a tensor on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import StreamFormat
from cdma.sim.codec.model import CorruptStream, Window, model_of, places_of, windows_of
from cdma.sim.codec.words import Words

from .page import Box, Tensor

__all__ = ["Passage", "compressed_tensor", "copied_tensor", "corruption", "window_boxes"]

#: Words of a line of the details of a window.
_ACROSS = 4


@dataclass(frozen=True)
class Passage:
    """Words, each with the cycle in which it passed; -1 for one that did not."""

    words: Words
    cycles: NDArray[np.int64]

    def size(self, bits: int) -> int:
        """Its bytes, where a word has so many bits."""
        return -(-len(self.words) * bits // 8)


def corruption(stream: Words, words: int, format: StreamFormat) -> CorruptStream | None:
    """What is wrong with a stream that stands for so many words."""
    try:
        model_of(format).decompressed(stream, words, format)
    except CorruptStream as error:
        return error
    return None


def window_boxes(
    stream: Passage, raw: Words, words: int, format: StreamFormat, error: CorruptStream | None = None
) -> list[Box]:
    """A box for each window of a stream, from the first to the last of its words: with its header and its words.

    ``raw`` are those of the ``words`` words of the packet that are known.
    """
    stored = model_of(format).stored(raw, format)
    boxes = []
    for number, window in enumerate(windows_of(stream.words, words, format)):
        passed = stream.cycles[window.start : window.end]
        passed = passed[passed >= 0]
        if not len(passed):
            continue
        # What is missing at the end is the last window's fault.
        end = window.end if window.end < len(stream.words) else len(stream.words) + 1
        wrong = error is not None and window.start <= error.word < end
        here = slice(window.first, window.first + window.words)
        known = _words(window.first, raw[here], stored[here], format.word_bits)
        details = [
            f"words {window.first} to {window.first + window.words - 1}, {window.stored} stored",
            f"header {_header(stream.words, window, format)}",
            *([f"CORRUPT: {error}"] if wrong else []),
            *(
                known
                or [" ".join(_hex(word, format.stream_bits) for word in _literals(stream.words, window))]
            ),
        ]
        text = f"window {number}: " + (
            f"corrupt, {error.kind}" if error and wrong else f"{window.stored}/{window.words}"
        )
        boxes.append(Box(int(passed.min()), int(passed.max()), text, "\n".join(details), error=wrong))
    if error is not None and boxes and not any(box.error for box in boxes):
        at = int(stream.cycles[min(error.word, len(stream.cycles) - 1)])
        boxes.append(Box(at, at, f"corrupt: {error.kind}", str(error), error=True))
    return boxes


def _header(stream: Words, window: Window, format: StreamFormat) -> str:
    words = stream[window.start : window.start + window.header]
    return " ".join(_hex(word, format.stream_bits) for word in words) or "none"


def _literals(stream: Words, window: Window) -> Words:
    start = window.start + window.header
    return stream[start : start + window.stored]


def _words(first: int, raw: Words, stored: NDArray[np.bool_], bits: int) -> list[str]:
    """Lines of words: those that are stored in full, and what the header says of the others in brackets."""
    spelt = [_hex(word, bits) if kept else f"({int(word):x})" for word, kept in zip(raw, stored, strict=True)]
    width = max(map(len, spelt), default=0)
    return [
        f"{first + at:>5}  " + " ".join(word.rjust(width) for word in spelt[at : at + _ACROSS])
        for at in range(0, len(spelt), _ACROSS)
    ]


def _hex(word: int, bits: int) -> str:
    return f"{int(word):0{-(-bits // 4)}x}"


def compressed_tensor(
    title: str,
    places: tuple[str, str, str],
    raw: Passage,
    stream: Passage,
    format: StreamFormat,
    *,
    compresses: bool,
) -> Tensor:
    """A tensor that is compressed or decompressed on its way. A word that is not stored moves with its window's header."""
    at = places_of(raw.words, stream.words, format)
    moved = np.where(at >= 0, stream.cycles[at] if len(stream.cycles) else -1, -1)
    entered, left = (raw.cycles, moved) if compresses else (moved, raw.cycles)
    plain, coded = raw.size(format.word_bits), stream.size(format.stream_bits)
    return Tensor(
        title,
        places,
        [_hex(word, format.word_bits) for word in raw.words],
        entered.tolist(),
        left.tolist(),
        model_of(format).stored(raw.words, format).tolist(),
        (plain, coded) if compresses else (coded, plain),
    )


def copied_tensor(
    title: str, places: tuple[str, str, str], taken: Passage, given: Sequence[int], bits: tuple[int, int]
) -> Tensor:
    """A tensor whose words each go out in some cycle as they came in, or as another number, of so many ``bits`` each."""
    spelt = [_hex(word, bits[0]) for word in taken.words]
    sizes = taken.size(bits[0]), taken.size(bits[1])
    return Tensor(title, places, spelt, taken.cycles.tolist(), list(given), [True] * len(spelt), sizes)
