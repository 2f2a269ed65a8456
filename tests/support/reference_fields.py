"""A second implementation of the format with fields and padding, from the text of docs/format.md: slow and obvious.

Like :mod:`.reference` it shares no line with the model; streams are bytes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .reference import Fault, bits_of, number_of

__all__ = ["compress", "decompress", "hardware"]


class _Rules:
    """The parameters of a format, and what they say of single words."""

    def __init__(
        self,
        *,
        word_bits: int = 32,
        window: int = 32,
        code_bits: int = 1,
        values: Sequence[int] = (0,),
        field_bits: int = 0,
        rotate: int = 0,
        zero: bool = False,
        align: int = 1,
    ) -> None:
        self.word_bits, self.window, self.code_bits, self.align = word_bits, window, code_bits, align
        self.field_bits, self.rotate = field_bits or word_bits, rotate
        self.entries: list[int | None] = [None, *values] if zero else [*values]
        self.zero = zero
        self.all_ones = 2**code_bits - 1

    def split(self, word: int) -> tuple[str, str]:
        """The bits of the rotated word below the field, and those of the field, bit 0 first."""
        bits = bits_of(word, self.word_bits)
        turned = bits[self.word_bits - self.rotate :] + bits[: self.word_bits - self.rotate]
        return turned[: self.word_bits - self.field_bits], turned[self.word_bits - self.field_bits :]

    def joined(self, turned: str) -> int:
        """The word that has these bits when it is rotated."""
        return number_of(turned[self.rotate :] + turned[: self.rotate])

    def code_and_bits(self, word: int) -> tuple[int, str]:
        """The code of a word and the bits that are sent of it."""
        if self.zero and word == 0:
            return 0, ""
        low, field = self.split(word)
        if number_of(field) in self.entries:
            return self.entries.index(number_of(field)), low
        return self.all_ones, low + field

    def sent_bits(self, code: int) -> int:
        """How many bits are sent of a word with this code."""
        if self.zero and code == 0:
            return 0
        return self.word_bits if code == self.all_ones else self.word_bits - self.field_bits

    def word(self, code: int, sent: str) -> int:
        """The word with this code of which these bits were sent."""
        if self.zero and code == 0:
            return 0
        if code != self.all_ones:
            entry = self.entries[code]
            assert entry is not None
            sent += bits_of(entry, self.field_bits)
        return self.joined(sent)

    def defined(self, code: int) -> bool:
        return code < len(self.entries) or code == self.all_ones


def _bytes_of(bits: str) -> bytes:
    return bytes(number_of(bits[first : first + 8]) for first in range(0, len(bits), 8))


def compress(words: Sequence[int], **parameters: Any) -> bytes:
    """Returns the stream."""
    rules = _Rules(**parameters)
    stream = b""
    for begin in range(0, len(words), rules.window):
        here = words[begin : begin + rules.window]
        codes = [rules.code_and_bits(word)[0] for word in here] + [0] * (rules.window - len(here))
        window = _bytes_of("".join(bits_of(code, rules.code_bits) for code in codes))
        window += b"".join(_bytes_of(rules.code_and_bits(word)[1]) for word in here)
        while len(window) % rules.align:
            window += b"\0"
        stream += window
    return stream


def decompress(stream: bytes, count: int, **parameters: Any) -> tuple[list[int], None] | tuple[None, Fault]:
    """Returns the words of the packet and None, or None and the fault, whose place is a byte of the stream."""
    rules = _Rules(**parameters)
    words: list[int] = []
    position = 0
    while len(words) < count:
        begin, header_bytes = position, rules.window * rules.code_bits // 8
        if position + header_bytes > len(stream):
            return None, ("truncated", len(stream))
        header = "".join(bits_of(byte, 8) for byte in stream[position : position + header_bytes])
        codes = [
            number_of(header[index * rules.code_bits :][: rules.code_bits]) for index in range(rules.window)
        ]
        valid = min(rules.window, count - len(words))
        for index, code in enumerate(codes):
            if code != 0 if index >= valid else not rules.defined(code):
                return None, ("code", position + index * rules.code_bits // 8)
        position += header_bytes
        for code in codes[:valid]:
            size = rules.sent_bits(code) // 8
            if position + size > len(stream):
                return None, ("truncated", len(stream))
            sent = "".join(bits_of(byte, 8) for byte in stream[position : position + size])
            words.append(rules.word(code, sent))
            position += size
        padding = -(position - begin) % rules.align
        if position + padding > len(stream):
            return None, ("truncated", len(stream))
        for index in range(padding):
            if stream[position + index]:
                return None, ("padding", position + index)
        position += padding
    if position < len(stream):
        return None, ("trailing", position)
    return words, None


def hardware(stream: bytes, count: int, lanes: int, **parameters: Any) -> tuple[list[int], int]:
    """Returns the words that the decompressor delivers, and its error, 0 to 5."""
    rules = _Rules(**parameters)
    words, fault = decompress(stream, count, **parameters)
    if words is not None:
        return words, 2 if count == 0 else 0
    assert fault is not None
    if fault[0] == "trailing":
        good, _ = decompress(stream[: fault[1]], count, **parameters)
        assert good is not None
        return good, 2
    delivered: list[int] = []
    position = 0
    while True:
        begin, header_bytes = position, rules.window * rules.code_bits // 8
        if position + header_bytes > len(stream):
            return delivered, 1
        header = "".join(bits_of(byte, 8) for byte in stream[position : position + header_bytes])
        codes = [
            number_of(header[index * rules.code_bits :][: rules.code_bits]) for index in range(rules.window)
        ]
        position += header_bytes
        valid = min(rules.window, count - len(delivered))
        wrong = [not rules.defined(code) for code in codes[:valid]] + [code != 0 for code in codes[valid:]]
        for first in range(0, valid, lanes):
            beat = codes[first : min(first + lanes, valid)]
            if any(wrong[first : first + len(beat)] if first + lanes < valid else wrong[first:]):
                return delivered, 3
            sizes = [rules.sent_bits(code) // 8 for code in beat]
            if position + sum(sizes) > len(stream):
                return delivered, 3 if any(wrong) else 1
            for code, size in zip(beat, sizes, strict=True):
                sent = "".join(bits_of(byte, 8) for byte in stream[position : position + size])
                delivered.append(rules.word(code, sent))
                position += size
        padding = -(position - begin) % rules.align
        # Padding belongs to the last beat of its window, which is not delivered without it.
        if position + padding > len(stream):
            return delivered[: -len(beat)], 1
        if any(stream[position : position + padding]):
            return delivered[: -len(beat)], 5
        position += padding
