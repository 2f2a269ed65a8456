"""Spells the beats of a codec's streams, for timing diagrams."""

from __future__ import annotations

from cdma.sim.codec.codec_model import model_of
from cdma.sim.codec.words import Words, as_stream, stream_from_bytes, words_from_bytes

from .design import CodecDesign

__all__ = ["Speller"]

#: Lanes up to which each word of a beat is spelt; beyond them words of a kind are counted.
_SPELT_LANES = 8


class Speller:
    """Spells the words of beats: ``H`` header word, ``L`` literal, ``.`` frequent value, ``-`` invalid. In a stream whose
    words are bytes, ``L`` is one that is stored of any word; ``P`` is padding."""

    def __init__(self, design: CodecDesign, raw: bool) -> None:
        self._config = design.config
        self._raw = raw
        self._header: list[int] = []
        self._stored = self._padding = 0

    def beat(self, data: int, keep: int, last: bool) -> str:
        """The label of one transfer."""
        config = self._config
        form, whole = config.format, data.to_bytes(config.data_bits // 8, "little")[: keep.bit_length()]
        lanes = config.lanes if self._raw else config.units
        if self._raw:
            letters = self._raw_letters(words_from_bytes(whole, form))
        else:
            letters = self._stream_letters(stream_from_bytes(whole, form))
        if last:
            self._header, self._stored, self._padding = [], 0, 0
        if lanes <= _SPELT_LANES:
            return letters.ljust(lanes, "-")
        counts = [(letter, letters.count(letter)) for letter in "HLP."]
        return " ".join(f"{count}{letter}" for letter, count in counts if count) or "-"

    def _raw_letters(self, words: Words) -> str:
        form = self._config.format
        return "".join("L" if stored else "." for stored in model_of(form).stored(words, form))

    def _stream_letters(self, words: Words) -> str:
        return "".join(map(self._stream_letter, words.tolist()))

    def _stream_letter(self, word: int) -> str:
        form = self._config.format
        if self._stored or not form.header_words:
            self._stored -= 1
            return "L"
        if self._padding:
            self._padding -= 1
            return "P"
        self._header.append(word)
        if len(self._header) == form.header_words:
            self._stored = model_of(form).stored_after(as_stream(self._header, form), form)
            self._padding = -(form.header_words + self._stored) % form.align_words
            self._header = []
        return "H"
