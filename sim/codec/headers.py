"""Codes, and the headers that hold them, one before the literals of each window."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format

from .words import Words, word_dtype

__all__ = ["Codes", "codes_of", "literals_at", "pack", "unpack"]

#: One code per element.
Codes = NDArray[np.uint8]

#: Words of a block, few enough for its intermediate results to stay in a cache.
_BLOCK = 1 << 14


def codes_of(words: Words, format: Format) -> Codes:
    """Returns the code of every word: the lowest k with ``values[k]`` equal to it, or the literal code."""
    if format.code_bits == 1:
        return (words != words.dtype.type(format.values[0])).view(np.uint8)
    # A word equals at most one of the different values, so at most one term of the sum is not 0.
    below_literal = np.zeros(words.shape, np.uint8)
    for code, value in enumerate(format.values):
        if value not in format.values[:code]:
            equal = (words == words.dtype.type(value)).view(np.uint8)
            equal *= np.uint8(format.literal_code - code)
            below_literal += equal
    return np.subtract(np.uint8(format.literal_code), below_literal, out=below_literal)


def pack(codes: Codes, format: Format) -> Words:
    """Returns header words, one row per window, of codes with one row per window."""
    word = word_dtype(format)
    if format.word_bits < 8:
        bits = np.unpackbits(codes[..., None], axis=-1, count=format.code_bits, bitorder="little")
        fields = bits.reshape(len(codes), format.header_words, format.word_bits)
        return np.packbits(fields, axis=-1, bitorder="little")[..., 0]
    flat = np.ascontiguousarray(codes).reshape(-1)
    if format.code_bits == 1:
        packed = np.packbits(flat, bitorder="little")
    elif format.code_bits == 2:
        # Four codes stand in the four bytes: the product gathers them in its top byte, without a carry.
        packed = (flat.view("<u4") * np.uint32(0x01041040) >> np.uint32(24)).astype(np.uint8)
    else:
        pairs = flat.view("<u2")
        packed = (pairs | pairs >> np.uint16(4)).astype(np.uint8)
    return (
        packed.view(word.newbyteorder("<")).astype(word, copy=False).reshape(len(codes), format.header_words)
    )


@cache
def _codes_of_byte(code_bits: int) -> NDArray[Any]:
    """Returns for every byte of a header the codes in it, side by side in one unsigned integer."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=-1, bitorder="little")
    codes = np.packbits(bits.reshape(256, 8 // code_bits, code_bits), axis=-1, bitorder="little")
    return np.ascontiguousarray(codes[..., 0]).view(f"u{8 // code_bits}")[:, 0]


def unpack(headers: Words, format: Format) -> Codes:
    """Returns codes, one row per window, of header words with one row per window."""
    shape = (len(headers), format.window)
    if format.word_bits < 8:
        bits = np.unpackbits(headers[..., None], axis=-1, count=format.word_bits, bitorder="little")
        return np.packbits(bits.reshape(*shape, format.code_bits), axis=-1, bitorder="little")[..., 0]
    octets = np.ascontiguousarray(headers, headers.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
    if format.code_bits == 1:
        return np.unpackbits(octets, bitorder="little").reshape(shape)
    return np.take(_codes_of_byte(format.code_bits), octets).view(np.uint8).reshape(shape)


def literals_at(stream: Words, format: Format) -> NDArray[np.uint8]:
    """Counts, for every position that a header fits at, the literal codes that a header there would have."""
    positions = max(0, len(stream) - format.header_words + 1)
    if format.word_bits < 8:
        headers = sliding_window_view(stream, format.header_words) if positions else stream[:0, None]
        return np.count_nonzero(unpack(headers, format) == format.literal_code, axis=1).astype(np.uint8)
    per_word = np.empty(len(stream), np.uint8)
    for begin in range(0, len(stream), _BLOCK):
        block = stream[begin : begin + _BLOCK]
        # A code is all ones if the AND of its bits, in its lowest bit, is one.
        shift = 1
        while shift < format.code_bits:
            block = block & block >> block.dtype.type(shift)
            shift *= 2
        if format.code_bits > 1:
            block = block & block.dtype.type(((1 << format.word_bits) - 1) // format.literal_code)
        np.bitwise_count(block, out=per_word[begin : begin + _BLOCK])
    if format.header_words == 1:
        return per_word
    literals = per_word[:positions] + per_word[1 : 1 + positions]
    for word in range(2, format.header_words):
        literals += per_word[word : word + positions]
    return literals
