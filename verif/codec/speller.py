"""Spells the beats of a codec's streams, for timing diagrams."""

from __future__ import annotations

from cdma.sim.codec.codec_model import model_of
from cdma.sim.codec.words import Words, as_words, words_from_bytes

from .design import CodecDesign

__all__ = ["Speller"]

#: Lanes up to which each word of a beat is spelt; beyond them words of a kind are counted.
_SPELT_LANES = 8


class Speller:
    """Spells the words of beats: ``H`` header word, ``L`` literal, ``.`` frequent value, ``-`` invalid."""

    def __init__(self, design: CodecDesign, raw: bool) -> None:
        self._config = design.config
        self._raw = raw
        self._header: list[int] = []
        self._literals = 0

    def beat(self, data: int, keep: int, last: bool) -> str:
        """The label of one transfer."""
        form, lanes = self._config.format, self._config.lanes
        size = form.word_bits // 8
        words = words_from_bytes(data.to_bytes(lanes * size, "little"), form)[: keep.bit_length() // size]
        letters = self._raw_letters(words) if self._raw else self._stream_letters(words)
        if last:
            self._header, self._literals = [], 0
        if lanes <= _SPELT_LANES:
            return letters.ljust(lanes, "-")
        counts = [(letter, letters.count(letter)) for letter in "HL."]
        return " ".join(f"{count}{letter}" for letter, count in counts if count) or "-"

    def _raw_letters(self, words: Words) -> str:
        form = self._config.format
        return "".join("L" if stored else "." for stored in model_of(form).stored(words, form))

    def _stream_letters(self, words: Words) -> str:
        return "".join(map(self._stream_letter, words.tolist()))

    def _stream_letter(self, word: int) -> str:
        form = self._config.format
        if self._literals or not form.header_words:
            self._literals -= 1
            return "L"
        self._header.append(word)
        if len(self._header) == form.header_words:
            self._literals = model_of(form).literals_after(as_words(self._header, form), form)
            self._header = []
        return "H"
