"""Codes, and the headers that hold them, one before the literals of each window."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format

from .words import Words, rotated, stream_dtype

__all__ = ["Codes", "codes_of", "lengths_at", "pack", "parts_of_codes", "unpack", "window_lengths"]

#: One code per element.
Codes = NDArray[np.uint8]

#: Words of a block, few enough for its intermediate results to stay in a cache.
_BLOCK = 1 << 14


def codes_of(words: Words, format: Format) -> Codes:
    """Returns the code of every word: the lowest that stands for it, or the literal code."""
    if format.field_bits:
        return _codes_of_fields(words, format)
    if format.code_bits == 1:
        return (words != words.dtype.type(format.values[0])).view(np.uint8)
    return _codes_in_table(words, format)


def _codes_of_fields(words: Words, format: Format) -> Codes:
    fields = rotated(words, format) >> words.dtype.type(format.word_bits - format.field_bits)
    if format.field_bits <= 16:
        codes_by_field = _codes_in_table(np.arange(1 << format.field_bits), format)
        codes = np.take(codes_by_field, fields)
    else:
        codes = _codes_in_table(fields, format)
    if format.zero:
        codes[words == 0] = 0
    return codes


def _codes_in_table(entries: NDArray[Any], format: Format) -> Codes:
    """Returns the codes of words, or of fields, by the table alone."""
    # An entry equals at most one of the different values, so at most one term of the sum is not 0.
    below_literal = np.zeros(entries.shape, np.uint8)
    for code, value in enumerate(format.values, int(format.zero)):
        if value not in format.values[: code - format.zero]:
            equal = (entries == entries.dtype.type(value)).view(np.uint8)
            equal *= np.uint8(format.literal_code - code)
            below_literal += equal
    return np.subtract(np.uint8(format.literal_code), below_literal, out=below_literal)


def parts_of_codes(format: Format) -> NDArray[np.uint8]:
    """Returns for every code how many stream words of its word are stored, the low ones first."""
    parts = np.full(1 << format.code_bits, format.parts - (format.field_bits // 8 or 1), np.uint8)
    if format.zero:
        parts[0] = 0
    parts[-1] = format.parts
    return parts


def window_lengths(codes: Codes, format: Format) -> NDArray[np.int64]:
    """Returns the stream words of windows with these codes, a row for each: header, stored parts and padding."""
    lengths = np.take(parts_of_codes(format), codes).sum(axis=1, dtype=np.int64) + format.header_words
    return lengths + -lengths % format.align_words


def pack(codes: Codes, format: Format) -> Words:
    """Returns the stream words of headers, one row per window, of codes with one row per window."""
    word = stream_dtype(format)
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
    elif format.code_bits == 3:
        # Eight codes in eight bytes move together: two by two, four by four, and all into three bytes.
        eight = flat.view("<u8")
        eight = (eight | eight >> np.uint64(5)) & np.uint64(0x003F003F003F003F)
        eight = (eight | eight >> np.uint64(10)) & np.uint64(0x00000FFF00000FFF)
        eight |= eight >> np.uint64(20)
        packed = np.ascontiguousarray(eight.view(np.uint8).reshape(-1, 8)[:, :3]).reshape(-1)
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
    """Returns codes, one row per window, of the stream words of headers with one row per window."""
    shape = (len(headers), format.window)
    if format.word_bits < 8:
        bits = np.unpackbits(headers[..., None], axis=-1, count=format.word_bits, bitorder="little")
        return np.packbits(bits.reshape(*shape, format.code_bits), axis=-1, bitorder="little")[..., 0]
    octets = np.ascontiguousarray(headers, headers.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
    if format.code_bits == 1:
        return np.unpackbits(octets, bitorder="little").reshape(shape)
    if format.code_bits == 3:
        eight = np.zeros((len(octets) // 3, 8), np.uint8)
        eight[:, :3] = octets.reshape(-1, 3)
        spread = eight.view("<u8")
        spread = (spread | spread << np.uint64(20)) & np.uint64(0x00000FFF00000FFF)
        spread = (spread | spread << np.uint64(10)) & np.uint64(0x003F003F003F003F)
        spread = (spread | spread << np.uint64(5)) & np.uint64(0x0707070707070707)
        return spread.view(np.uint8).reshape(shape)
    return np.take(_codes_of_byte(format.code_bits), octets).view(np.uint8).reshape(shape)


def lengths_at(stream: Words, format: Format) -> NDArray[Any]:
    """Returns, for every position that a header fits at, the stream words of a whole window that begins there."""
    positions = max(0, len(stream) - format.header_words + 1)
    least, middle, most = parts_of_codes(format)[[0, -2, -1]].tolist()
    longest = format.bound(format.window)
    lengths = np.full(positions, format.header_words + format.window * least, np.min_scalar_type(longest))
    lengths += _codes_at(stream, positions, format, all_ones=True) * lengths.dtype.type(most - middle)
    if middle > least:
        lengths += _codes_at(stream, positions, format, all_ones=False) * lengths.dtype.type(middle - least)
    if format.align_words > 1:
        lengths += -lengths % lengths.dtype.type(format.align_words)
    return lengths


def _codes_at(stream: Words, positions: int, format: Format, *, all_ones: bool) -> NDArray[np.uint8]:
    """Counts the codes of all ones, or else those that are not 0, in the headers at the first positions of a stream."""
    if format.word_bits < 8:
        headers = sliding_window_view(stream, format.header_words) if positions else stream[:0, None]
        codes = unpack(headers, format)
        return np.count_nonzero(codes == format.literal_code, axis=1).astype(np.uint8)
    if format.code_bits == 3:
        # Eight codes fill three bytes, and need not begin with a stream word.
        octets = stream.astype(stream.dtype.newbyteorder("<"), copy=False).view(np.uint8).astype(np.uint32)
        cells = octets[:-2] | octets[1:-1] << np.uint32(8) | octets[2:] << np.uint32(16)
        step, cell_bits = stream.itemsize, 24
    else:
        cells, step, cell_bits = stream, 1, stream.itemsize * 8
    per_cell = np.empty(len(cells), np.uint8)
    for begin in range(0, len(cells), _BLOCK):
        block = cells[begin : begin + _BLOCK]
        # Each code is gathered in its lowest bit.
        bits = block
        for shift in range(1, format.code_bits):
            shifted = block >> block.dtype.type(shift)
            bits = bits & shifted if all_ones else bits | shifted
        if format.code_bits > 1:
            bits = bits & block.dtype.type(((1 << cell_bits) - 1) // format.literal_code)
        np.bitwise_count(bits, out=per_cell[begin : begin + _BLOCK])
    apart = cell_bits // 8 if format.code_bits == 3 else 1
    found = np.zeros(positions, np.uint8)
    if positions:
        for cell in range(format.window * format.code_bits // cell_bits):
            found += per_cell[cell * apart :: step][:positions]
    return found
