"""The stream format, written from ``docs/format.md``: one code after the other, as the document says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Form"]


@dataclass(frozen=True)
class Form:
    """The parameters of a stream. Words are numbers."""

    word_bits: int
    window: int
    code_bits: int
    values: tuple[int, ...]

    @property
    def literal(self) -> int:
        """The code of a literal."""
        return 2**self.code_bits - 1

    @property
    def header_words(self) -> int:
        """The words of a header."""
        return self.window * self.code_bits // self.word_bits

    def compress(self, words: Sequence[int]) -> tuple[list[int], int]:
        """The stream of a packet, and the number of its literals."""
        stream: list[int] = []
        literals = 0
        for start in range(0, len(words), self.window):
            window = words[start : start + self.window]
            codes = [self.values.index(word) if word in self.values else self.literal for word in window]
            header = sum(code << place * self.code_bits for place, code in enumerate(codes))
            for word in range(self.header_words):
                stream.append(header >> word * self.word_bits & (1 << self.word_bits) - 1)
            stored = [word for word, code in zip(window, codes, strict=True) if code == self.literal]
            stream += stored
            literals += len(stored)
        return stream, literals

    def decompress(self, stream: Sequence[int], count: int, lanes: int) -> tuple[list[int], int, str]:
        """The words that hardware with beats of ``lanes`` words delivers, the literals in these, and the fault or ``""``."""
        words: list[int] = []
        position = literals = 0
        while len(words) < count:
            header = stream[position : position + self.header_words]
            if len(header) < self.header_words:
                return words, literals, "truncated"
            position += self.header_words
            number = sum(word << place * self.word_bits for place, word in enumerate(header))
            codes = [number >> place * self.code_bits & self.literal for place in range(self.window)]
            used = min(self.window, count - len(words))
            # The first word that cannot be delivered; the codes past the end belong to the last beat.
            bad = used - 1 if any(codes[used:]) else used
            fault = "code" if any(codes[used:]) else ""
            invalid = [place for place in range(used) if len(self.values) <= codes[place] < self.literal]
            if invalid:
                bad, fault = min(bad, invalid[0]), "code"
            places = [place for place in range(used) if codes[place] == self.literal]
            if len(stream) - position < len(places):
                bad, fault = min(bad, places[len(stream) - position]), fault or "truncated"
            good = bad // lanes * lanes if fault else used
            source = iter(stream[position:])
            words += [next(source) if code == self.literal else self.values[code] for code in codes[:good]]
            literals += codes[:good].count(self.literal)
            position += codes[:good].count(self.literal)
            if fault:
                return words, literals, fault
        return words, literals, "trailing" if position < len(stream) else ""
