"""The stream format, written from ``docs/format.md``: one code after the other, as the document says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """The parameters of a stream. Words are numbers, streams are bytes; in those of words of less than 8 bits each byte is a
    word."""

    word_bits: int
    window: int
    code_bits: int
    values: tuple[int, ...]
    field_bits: int = 0
    rotate: int = 0
    zero: int = 0
    align: int = 1
    levels: int = 1
    group: int = 32

    @property
    def literal(self) -> int:
        """The code of a literal."""
        return 2**self.code_bits - 1

    @property
    def digit(self) -> int:
        """The bits of a byte of the stream."""
        return min(8, self.word_bits)

    @property
    def unit(self) -> int:
        """The bytes of a stream word."""
        return 1 if self.field_bits else self.word_bits // self.digit

    @property
    def header_bytes(self) -> int:
        """The bytes of a header."""
        return self.window * self.code_bits // self.digit

    @property
    def mask_bytes(self) -> int:
        """The bytes of the mask of a group."""
        return self.group // self.digit

    @property
    def rest_bits(self) -> int:
        """The bits of a rotated word below its field; none where codes are of whole words."""
        return self.word_bits - self.field_bits if self.field_bits else 0

    def word(self, field: int, rest: int) -> int:
        """The word that has a field and a rest."""
        turned = field << self.rest_bits | rest
        left = self.word_bits - self.rotate
        return (turned >> self.rotate | turned << left) & 2**self.word_bits - 1

    def _turned(self, word: int) -> int:
        both = word << self.rotate
        return (both | both >> self.word_bits) & 2**self.word_bits - 1

    def _code(self, word: int) -> int:
        if self.zero and word == 0:
            return 0
        field = self._turned(word) >> self.rest_bits
        return self.values.index(field) + self.zero if field in self.values else self.literal

    def _size(self, code: int) -> int:
        """The bytes that a code says are stored of its word."""
        if code == self.literal:
            return self.word_bits // self.digit
        return 0 if self.zero and code == 0 else self.rest_bits // 8

    def _bytes(self, number: int, count: int) -> bytes:
        return bytes(number >> self.digit * place & 2**self.digit - 1 for place in range(count))

    def _number(self, stored: bytes) -> int:
        return sum(byte << self.digit * place for place, byte in enumerate(stored))

    def _word_of(self, code: int, stored: bytes) -> int:
        number = self._number(stored)
        if code == self.literal:
            return self.word(number >> self.rest_bits, number & 2**self.rest_bits - 1)
        if self.zero and code == 0:
            return 0
        return self.word(self.values[code - self.zero], number)

    def compress(self, words: Sequence[int]) -> tuple[bytes, int]:
        """The stream of a packet, and the number of its literals."""
        stream = b""
        literals = 0
        for start in range(0, len(words), self.window):
            if self.levels == 2 and start % (self.window * self.group) == 0:
                mask = 0
                for number in range(self.group):
                    begin = start + number * self.window
                    mask |= any(map(self._code, words[begin : begin + self.window])) << number
                sent = self._bytes(mask, self.mask_bytes)
                stream += sent + bytes(-len(sent) % self.align)
            window = words[start : start + self.window]
            if self.levels == 2 and not any(map(self._code, window)):
                continue
            codes = [self._code(word) for word in window]
            header = sum(code << place * self.code_bits for place, code in enumerate(codes))
            part = self._bytes(header, self.header_bytes)
            for word, code in zip(window, codes, strict=True):
                part += self._bytes(self._turned(word), self._size(code))
            stream += part + bytes(-len(part) % self.align)
            literals += codes.count(self.literal)
        return stream, literals

    def _codes(self, header: bytes) -> list[int]:
        number = self._number(header)
        return [number >> place * self.code_bits & self.literal for place in range(self.window)]

    def fault(self, stream: bytes, count: int) -> tuple[str, int] | None:
        """The fault of a stream as software names it, and the byte in which it is found."""
        begin = 0
        for done in range(0, count, self.window):
            if self.levels == 2:
                number = done // self.window % self.group
                if number == 0:
                    position = begin + self.mask_bytes
                    if position > len(stream):
                        return "truncated", len(stream)
                    mask = self._number(stream[begin:position])
                    windows = -(-(count - done) // self.window)
                    for bit in range(windows, self.group):
                        if mask >> bit & 1:
                            return "code", begin + bit // self.digit
                    end = position + -self.mask_bytes % self.align
                    if end > len(stream):
                        return "truncated", len(stream)
                    for place in range(position, end):
                        if stream[place]:
                            return "padding", place
                    begin = end
                if not mask >> number & 1:
                    continue
            position = begin + self.header_bytes
            if position > len(stream):
                return "truncated", len(stream)
            codes = self._codes(stream[begin:position])
            for place, code in enumerate(codes):
                known = code < len(self.values) + self.zero or code == self.literal
                if not known or (code and place >= count - done):
                    return "code", begin + place * self.code_bits // self.digit
            position += sum(self._size(code) for code in codes[: count - done])
            end = position + (begin - position) % self.align
            if end > len(stream):
                return "truncated", len(stream)
            for place in range(position, end):
                if stream[place]:
                    return "padding", place
            begin = end
        return ("trailing", begin) if begin < len(stream) else None

    def decompress(self, stream: bytes, count: int, lanes: int) -> tuple[list[int], int, str]:
        """The words that hardware with beats of ``lanes`` words delivers, the literals in these, and the fault or ``""``."""
        words: list[int] = []
        begin = literals = mask = 0
        while len(words) < count:
            present, number = True, len(words) // self.window % self.group
            if self.levels == 2:
                if number == 0:
                    position = begin + self.mask_bytes
                    end = position + -self.mask_bytes % self.align
                    if end > len(stream):
                        return words, literals, "truncated"
                    if any(stream[position:end]):
                        return words, literals, "padding"
                    mask, begin = self._number(stream[begin:position]), end
                present = bool(mask >> number & 1)
            position = begin + self.header_bytes * present
            if position > len(stream):
                return words, literals, "truncated"
            codes = self._codes(stream[begin:position]) if present else [0] * self.window
            used = min(self.window, count - len(words))
            # The first word that cannot be delivered; codes and windows past the end belong to the last beat.
            past = any(codes[used:]) or (len(words) + used == count and mask >> number > 1)
            bad = used - 1 if past else used
            fault = "code" if past else ""
            known = len(self.values) + self.zero
            invalid = [place for place in range(used) if known <= codes[place] < self.literal]
            if invalid:
                bad, fault = min(bad, invalid[0]), "code"
            found: list[int] = []
            for place, code in enumerate(codes[:used]):
                size = self._size(code)
                if place < bad and position + size > len(stream):
                    bad, fault = place, fault or "truncated"
                if place < bad:
                    found.append(self._word_of(code, stream[position : position + size]))
                    position += size
            end = position + (begin - position) % self.align
            # Padding belongs to the last beat, too.
            if not fault and end > len(stream):
                bad, fault = used - 1, "truncated"
            elif not fault and any(stream[position:end]):
                bad, fault = used - 1, "padding"
            good = bad // lanes * lanes if fault else used
            words += found[:good]
            literals += codes[:good].count(self.literal)
            if fault:
                return words, literals, fault
            begin = end
        return words, literals, "trailing" if begin < len(stream) else ""
