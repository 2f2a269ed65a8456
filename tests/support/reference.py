"""The stream format once more, from the text of docs/format.md: slow, obvious, no line of it the model's.

Bits are characters, words are Python integers, and everything goes one word at a time.
"""

from __future__ import annotations


def bits_of(number: int, count: int) -> str:
    """Bits of a number, bit 0 first."""
    return "".join("1" if number >> place & 1 else "0" for place in range(count))


def number_of(bits: str) -> int:
    """The number whose bits these are, bit 0 first."""
    return sum(1 << place for place, bit in enumerate(bits) if bit == "1")


def compress(words, word_bits, window, code_bits, values):
    """The words of the stream."""
    all_ones = 2**code_bits - 1
    stream = []
    for begin in range(0, len(words), window):
        header, literals = "", []
        for place in range(window):
            code = 0
            if begin + place < len(words):
                word = words[begin + place]
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


def decompress(stream, count, word_bits, window, code_bits, values):
    """The words of the packet and None, or None and what is wrong: its kind and the stream word."""
    all_ones = 2**code_bits - 1
    header_words = window * code_bits // word_bits
    words, position = [], 0
    while len(words) < count:
        header = ""
        for index in range(header_words):
            if position + index == len(stream):
                return None, ("truncated", len(stream))
            header += bits_of(stream[position + index], word_bits)
        codes = [number_of(header[place * code_bits : (place + 1) * code_bits]) for place in range(window)]
        there = min(window, count - len(words))
        for place, code in enumerate(codes):
            allowed = code == 0 if place >= there else code < len(values) or code == all_ones
            if not allowed:
                return None, ("code", position + place * code_bits // word_bits)
        position += header_words
        for code in codes[:there]:
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


def hardware(stream, count, word_bits, window, code_bits, values, lanes):
    """What the decompressor delivers, the literals among it, and its error: 0, 1, 2 or 3."""
    all_ones = 2**code_bits - 1
    header_words = window * code_bits // word_bits
    delivered, literals, position = [], 0, 0
    while len(delivered) < count:
        header = stream[position : position + header_words]
        if len(header) < header_words:
            return delivered, literals, 1
        position += header_words
        bits = "".join(bits_of(word, word_bits) for word in header)
        codes = [number_of(bits[place * code_bits : (place + 1) * code_bits]) for place in range(window)]
        there = min(window, count - len(delivered))
        for first in range(0, there, lanes):
            places = range(first, min(first + lanes, there))
            if any(len(values) <= codes[place] < all_ones for place in places):
                return delivered, literals, 3
            is_last = places[-1] == there - 1
            if is_last and any(code != 0 for code in codes[there:]):
                return delivered, literals, 3
            beat, taken = [], 0
            for place in places:
                if codes[place] == all_ones:
                    if position + taken == len(stream):
                        return delivered, literals, 1
                    beat.append(stream[position + taken])
                    taken += 1
                else:
                    beat.append(values[codes[place]])
            position += taken
            literals += taken
            delivered += beat
    return delivered, literals, 2 if position < len(stream) or count == 0 else 0
