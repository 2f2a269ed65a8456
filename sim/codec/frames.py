"""Frames: a header and a whole window, side by side, for many windows at once.

A stream consists of the stored words of the frames, so one list of positions, made from one mask, serves both
directions. Headers and windows are moved as opaque items of their whole size: one move per window, not one per word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format

from .headers import Codes, codes_of, pack
from .words import Words, word_dtype

__all__ = ["FRAME_WORDS", "Frames"]

#: Words of a group of windows, few enough for their frames, masks and positions to stay in a cache.
FRAME_WORDS = 1 << 16


class Frames:
    """A buffer of ``capacity`` frames, used for one group of windows after the other."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self.capacity = FRAME_WORDS // format.window
        self._size = format.header_words + format.window
        self._words = np.zeros(self.capacity * self._size, word_dtype(format))
        self._headers, self._windows = self._fields(self._words)
        self._stored = np.ones(self.capacity * self._size, bool)
        _, self._stored_windows = self._fields(self._stored)
        self._table = np.zeros(1 << format.code_bits, word_dtype(format))
        self._table[: len(format.values)] = format.values
        self._zero_only = not self._table.any()

    def _fields(self, flat: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Returns the headers and the windows of the frames in ``flat``, as items."""
        header, window = self.format.header_words * flat.itemsize, self.format.window * flat.itemsize
        frames = flat.view([("header", f"V{header}"), ("window", f"V{window}")])
        return frames["header"], frames["window"]

    def compress(self, words: Words) -> Words:
        """Compresses whole windows, at most ``capacity`` of them, to a stream."""
        windows = len(words) // self.format.window
        codes = codes_of(words, self.format)
        headers = pack(codes.reshape(windows, self.format.window), self.format)
        self._headers[:windows] = headers.reshape(-1).view(self._headers.dtype)
        self._windows[:windows] = words.view(self._windows.dtype)
        return np.take(self._words, self._positions(codes), mode="clip")

    def decompress(self, stream: Words, codes: Codes, words: Words) -> None:
        """Fills ``words`` with whole windows from their ``codes``, a row per window, and their ``stream``."""
        windows = len(codes)
        self._words[: windows * self._size] = 0
        self._words[self._positions(codes.reshape(-1))] = stream
        words.view(self._windows.dtype)[:] = self._windows[:windows]
        if not self._zero_only:
            words += np.take(self._table, codes.reshape(-1))

    def _positions(self, codes: Codes) -> NDArray[np.intp]:
        """Returns the positions in the frames of the stored words: headers and literals."""
        windows = len(codes) // self.format.window
        is_literal = codes.view(bool) if self.format.code_bits == 1 else codes == self.format.literal_code
        self._stored_windows[:windows] = is_literal.view(self._stored_windows.dtype)
        return np.flatnonzero(self._stored[: windows * self._size])
