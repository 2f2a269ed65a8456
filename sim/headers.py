"""Codes and the headers that hold them: what stands in front of a window's literals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hdl.params import Format
from .words import Words, word_dtype

__all__ = ["Codes", "codes_of", "pack", "unpack"]

#: One code per element.
Codes = NDArray[np.uint8]


def codes_of(words: Words, format: Format) -> Codes:
    """The code of every word: the lowest k with ``values[k]`` equal to it, or the literal code."""
    literal = format.literal_code
    codes: Codes
    if format.code_bits == 1:
        codes = (words != words.dtype.type(format.values[0])).view(np.uint8)
        return codes
    codes = np.full(words.shape, literal, np.uint8)
    for code, value in reversed(list(enumerate(format.values))):
        np.copyto(codes, np.uint8(code), where=words == words.dtype.type(value))
    return codes


def pack(codes: Codes, format: Format) -> Words:
    """The header words, one row per window, of codes with one row per window."""
    windows = len(codes)
    word = word_dtype(format)
    if format.word_bits < 8:
        bits = np.unpackbits(codes[..., None], axis=-1, count=format.code_bits, bitorder="little")
        fields = bits.reshape(windows, format.header_words, format.word_bits)
        return np.packbits(fields, axis=-1, bitorder="little")[..., 0]
    if format.code_bits == 1:
        packed = np.packbits(codes, axis=-1, bitorder="little")
    elif format.code_bits == 2:
        # Four codes in the four bytes of x: the product gathers them in its top byte, and nothing carries.
        fours = np.ascontiguousarray(codes).view("<u4")
        packed = (fours * np.uint32(0x01041040) >> np.uint32(24)).astype(np.uint8)
    else:
        pairs = np.ascontiguousarray(codes).view("<u2")
        packed = (pairs | pairs >> np.uint16(4)).astype(np.uint8)
    return np.ascontiguousarray(packed).view(word.newbyteorder("<")).astype(word, copy=False)


@cache
def _codes_of_byte(code_bits: int) -> NDArray[Any]:
    """For every byte of a header the codes in it, side by side in one unsigned integer."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=-1, bitorder="little")
    codes = np.packbits(bits.reshape(256, 8 // code_bits, code_bits), axis=-1, bitorder="little")
    return np.ascontiguousarray(codes[..., 0]).view(f"u{8 // code_bits}")[:, 0]


def unpack(headers: Words, format: Format) -> Codes:
    """The codes, one row per window, of header words with one row per window."""
    windows = len(headers)
    if format.word_bits < 8:
        bits = np.unpackbits(headers[..., None], axis=-1, count=format.word_bits, bitorder="little")
        fields = bits.reshape(windows, format.window, format.code_bits)
        return np.packbits(fields, axis=-1, bitorder="little")[..., 0]
    octets = np.ascontiguousarray(headers, dtype=headers.dtype.newbyteorder("<")).view(np.uint8)
    return _codes_of_byte(format.code_bits)[octets].view(np.uint8).reshape(windows, format.window)
