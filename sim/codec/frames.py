"""Frames: a header, a whole window and its padding, side by side, for many windows at once.

A stream consists of the stored stream words of the frames, so one list of positions, made from one mask, serves both
directions. Headers and windows are moved as opaque items of their whole size: one move per window, not one per word.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format

from .headers import Codes, codes_of, pack, parts_of_codes
from .words import Words, rotated, stream_dtype, word_dtype

__all__ = ["FRAME_WORDS", "Frames"]

#: Words of a group of windows, few enough for their frames, masks and positions to stay in a cache.
FRAME_WORDS = 1 << 16


class Frames:
    """A buffer of ``capacity`` frames, used for one group of windows after the other."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self.capacity = FRAME_WORDS // format.window
        self._padding = format.align_words - 1
        self._size = format.header_words + format.window * format.parts + self._padding
        self._words = np.zeros(self.capacity * self._size, stream_dtype(format))
        self._headers, self._windows = self._fields(self._words)[:2]
        self._stored = np.ones(self.capacity * self._size, bool)
        _, self._stored_windows, *self._stored_padding = self._fields(self._stored)
        word = word_dtype(format)
        self._table = np.zeros(1 << format.code_bits, word)
        self._table[int(format.zero) : format.zero + len(format.values)] = format.values
        # Under the frequent value of a field stand the bits that come from the stream.
        self._table = rotated(
            self._table << word.type(format.word_bits - (format.field_bits or format.word_bits)), format, -1
        )
        self._zero_only = not self._table.any()
        self._flags = np.arange(format.parts) < parts_of_codes(format)[:, None]
        self._sent = np.ascontiguousarray(self._flags).view(f"u{format.parts}")[:, 0]

    def _fields(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        """Returns the headers, the windows and the padding, if any, of the frames in ``flat``, as items."""
        lengths = (self.format.header_words, self.format.window * self.format.parts, self._padding)
        names = [
            (f"f{index}", f"V{length * flat.itemsize}") for index, length in enumerate(lengths) if length
        ]
        frames = flat.view(names)
        return [frames[name] for name, _ in names]

    def compress(self, words: Words) -> Words:
        """Compresses windows, at most ``capacity`` of them, the last of which may be partial, to a stream."""
        windows = -(-len(words) // self.format.window)
        places = windows * self.format.window
        codes = codes_of(words, self.format)
        all_codes, all_words = codes, words
        if places > len(words):
            all_codes, all_words = np.zeros(places, np.uint8), np.zeros(places, words.dtype)
            all_codes[: len(words)], all_words[: len(words)] = codes, words
        headers = pack(all_codes.reshape(windows, self.format.window), self.format)
        self._headers[:windows] = headers.reshape(-1).view(self._headers.dtype)
        self._windows[:windows] = rotated(all_words, self.format).view(self._windows.dtype)
        if self._padding:
            # Frames of an earlier group lie beneath.
            self._words.reshape(self.capacity, self._size)[:windows, -self._padding :] = 0
        return np.take(self._words, self._positions(all_codes, len(words)), mode="clip")

    def decompress(self, stream: Words, codes: Codes, words: Words) -> None:
        """Fills ``words`` from the ``codes`` of their windows, a row for each, and the ``stream`` of these."""
        windows, places = len(codes), codes.size
        flat = codes.reshape(-1)
        self._words[: windows * self._size] = 0
        self._words[self._positions(flat, len(words))] = stream
        result = words if len(words) == places else np.empty(places, words.dtype)
        result.view(self._windows.dtype)[:] = self._windows[:windows]
        if self.format.rotate:
            result[:] = rotated(result, self.format, -1)
        if not self._zero_only:
            result += np.take(self._table, flat)
        if result is not words:
            words[:] = result[: len(words)]

    def words_of(self, codes: Codes, stored: Words) -> Words:
        """The words of a few ``codes``, from what the stream has ``stored`` of them."""
        parts = np.zeros((len(codes), self.format.parts), stored.dtype)
        parts[self._flags[codes]] = stored
        words = parts.reshape(-1).view(self._table.dtype)
        return rotated(words, self.format, -1) + self._table[codes]

    def _positions(self, codes: Codes, words: int) -> NDArray[np.intp]:
        """Returns the positions in the frames of what is stored: headers, parts of the first ``words`` words, padding."""
        windows = len(codes) // self.format.window
        if self.format.code_bits == 1 and self.format.parts == 1:
            sent = codes.view(bool)
        else:
            sent = np.take(self._sent, codes)
            sent[words:] = 0
        self._stored_windows[:windows] = sent.view(self._stored_windows.dtype)
        if self._padding:
            flags = sent.view(np.uint8).reshape(windows, -1)
            used = np.count_nonzero(flags, axis=1) + self.format.header_words
            padded = np.arange(self._padding) < (-used % self.format.align_words)[:, None]
            self._stored_padding[0][:windows] = np.ascontiguousarray(padded).view(
                self._stored_padding[0].dtype
            )[:, 0]
        return np.flatnonzero(self._stored[: windows * self._size])
