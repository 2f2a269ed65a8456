"""A second implementation of the stream format, from the text of docs/format.md: slow and obvious.

It shares no line with the model. Bits are characters, words are Python integers, and everything goes one word at a
time.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["bits_of", "compress", "decompress", "hardware", "number_of"]

#: What is wrong with a stream: its kind, and the word of the stream in which it is found.
Fault = tuple[str, int]


def bits_of(number: int, count: int) -> str:
    """Returns the bits of a number, bit 0 first."""
    return "".join("1" if number >> index & 1 else "0" for index in range(count))


def number_of(bits: str) -> int:
    """Returns the number of these bits, bit 0 first."""
    return sum(1 << index for index, bit in enumerate(bits) if bit == "1")


def compress(
    words: Sequence[int], word_bits: int, window: int, code_bits: int, values: Sequence[int]
) -> list[int]:
    """Returns the words of the stream."""
    all_ones = 2**code_bits - 1
    stream: list[int] = []
    for begin in range(0, len(words), window):
        header, literals = "", []
        for index in range(window):
            code = 0
            if begin + index < len(words):
                word = words[begin + index]
                if word in values:
                    code = list(values).index(word)
                else:
                    code = all_ones
                    literals.append(word)
            header += bits_of(code, code_bits)
        for first in range(0, len(header), word_bits):
            stream.append(number_of(header[first : first + word_bits]))
        stream += literals
    return stream


def decompress(
    stream: Sequence[int], count: int, word_bits: int, window: int, code_bits: int, values: Sequence[int]
) -> tuple[list[int], None] | tuple[None, Fault]:
    """Returns the words of the packet and None, or None and the fault."""
    all_ones = 2**code_bits - 1
    header_words = window * code_bits // word_bits
    words: list[int] = []
    position = 0
    while len(words) < count:
        header = ""
        for index in range(header_words):
            if position + index == len(stream):
                return None, ("truncated", len(stream))
            header += bits_of(stream[position + index], word_bits)
        codes = [number_of(header[index * code_bits : (index + 1) * code_bits]) for index in range(window)]
        valid = min(window, count - len(words))
        for index, code in enumerate(codes):
            allowed = code == 0 if index >= valid else code < len(values) or code == all_ones
            if not allowed:
                return None, ("code", position + index * code_bits // word_bits)
        position += header_words
        for code in codes[:valid]:
            if code == all_ones:
                if position == len(stream):
                    return None, ("truncated", len(stream))
                words.append(stream[position])
                position += 1
            else:
                words.append(values[code])
    if position < len(stream):
        return None, ("trailing", position)
    return words, None


def hardware(
    stream: Sequence[int],
    count: int,
    word_bits: int,
    window: int,
    code_bits: int,
    values: Sequence[int],
    lanes: int,
) -> tuple[list[int], int, int]:
    """Returns the words that the decompressor delivers, the number of literals among them, and its error from 0 to 3."""
    all_ones = 2**code_bits - 1
    header_words = window * code_bits // word_bits
    delivered: list[int] = []
    literals = position = 0
    while len(delivered) < count:
        header = stream[position : position + header_words]
        if len(header) < header_words:
            return delivered, literals, 1
        position += header_words
        bits = "".join(bits_of(word, word_bits) for word in header)
        codes = [number_of(bits[index * code_bits : (index + 1) * code_bits]) for index in range(window)]
        valid = min(window, count - len(delivered))
        invalid = [
            code != 0 if index >= valid else len(values) <= code < all_ones
            for index, code in enumerate(codes)
        ]
        for first in range(0, valid, lanes):
            indices = range(first, min(first + lanes, valid))
            is_last = indices[-1] == valid - 1
            if any(invalid[index] for index in indices) or (is_last and any(invalid[valid:])):
                return delivered, literals, 3
            beat, taken = [], 0
            for index in indices:
                if codes[index] == all_ones:
                    if position + taken == len(stream):
                        return delivered, literals, 3 if any(invalid) else 1
                    beat.append(stream[position + taken])
                    taken += 1
                else:
                    beat.append(values[codes[index]])
            position += taken
            literals += taken
            delivered += beat
    return delivered, literals, 2 if position < len(stream) or count == 0 else 0
