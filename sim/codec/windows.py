"""The windows of a stream one by one, for those who show them: where each header is and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.stream_format import StreamFormat

from .codec_model import model_of
from .words import Words

__all__ = ["Window", "places_of", "windows_of"]


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
        here = sizes[window.first : window.first + window.words]
        ends = window.start + window.header + np.cumsum(here) - 1
        places[window.first : window.first + window.words] = np.where(
            here > 0, ends, window.start + max(0, window.header - 1)
        )
    places[places >= len(stream)] = -1
    return places
