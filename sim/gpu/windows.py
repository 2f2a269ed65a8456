"""What the kernels share: windows, words, codes, and what is stored of them.

A tile has a window in every row, as chunks of lanes: a chunk's codes are whole stream words. Rows are groups, so that a
program takes the same step in all of its groups at once.
"""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = [
    "code_of",
    "load_codes",
    "padded",
    "place_in_window",
    "ranks",
    "rotated_left",
    "store_codes",
    "stored_after",
    "stored_of",
    "words_of_rows",
    "words_of_tile",
]


@triton.jit
def words_of_rows(group, words, WINDOW: tl.constexpr, GROUP: tl.constexpr):
    """Where the words of each row begin in the packet, and how many there are."""
    first = group * (GROUP * WINDOW)
    return first, tl.minimum(tl.maximum(words - first, 0), GROUP * WINDOW).to(tl.int32)


@triton.jit
def words_of_tile(words, WINDOW: tl.constexpr, WINDOWS: tl.constexpr):
    """Where the words of a program with so many windows begin in the packet, and how many there are."""
    first = tl.program_id(0).to(tl.int64) * (WINDOWS * WINDOW)
    return first, tl.minimum(words - first, WINDOWS * WINDOW).to(tl.int32)


@triton.jit
def place_in_window(CHUNKS: tl.constexpr, LANES: tl.constexpr):
    """The place of every word of a tile in its window."""
    return tl.arange(0, CHUNKS)[None, :, None] * LANES + tl.arange(0, LANES)[None, None, :]


@triton.jit
def rotated_left(word, BITS: tl.constexpr, WORD: tl.constexpr):
    """The words rotated left by so many bits."""
    if BITS == 0:
        turned = word
    else:
        turned = word << BITS | word >> (8 * WORD - BITS)
        if WORD < 4:
            turned = turned & ((1 << 8 * WORD) - 1)
    return turned


@triton.jit
def code_of(
    word,
    values,
    codes,
    CODE: tl.constexpr,
    FIELD: tl.constexpr,
    KEY: tl.constexpr,
    LOW: tl.constexpr,
    WORD: tl.constexpr,
    ROTATE: tl.constexpr,
    ZERO: tl.constexpr,
    DEFINED: tl.constexpr,
):
    """The code of every word: the lowest that stands for it, or the literal code."""
    LITERAL: tl.constexpr = (1 << CODE) - 1
    key = rotated_left(word, ROTATE, WORD) >> (8 * LOW)
    if CODE == 1 and FIELD == 0:
        code = (key != tl.load(values)).to(tl.uint32)
    elif KEY == 1:
        code = tl.load(codes + key).to(tl.uint32)
    else:
        code = tl.full(word.shape, LITERAL, tl.uint32)
        for entry in tl.static_range(DEFINED - ZERO):
            code = tl.where(key == tl.load(values + (DEFINED - 1 - entry)), DEFINED - 1 - entry, code)
    if ZERO:
        code = tl.where(word == 0, 0, code)
    return code


@triton.jit
def stored_of(
    code,
    inside,
    CODE: tl.constexpr,
    WORD: tl.constexpr,
    UNIT: tl.constexpr,
    FIELD: tl.constexpr,
    LOW: tl.constexpr,
    ZERO: tl.constexpr,
):
    """How many stream words are stored of each word; nothing past the end of the packet."""
    LITERAL: tl.constexpr = (1 << CODE) - 1
    if FIELD == 0:
        stored = ((code == LITERAL) & inside).to(tl.int32)
    else:
        stored = tl.where(code == LITERAL, WORD // UNIT, LOW // UNIT)
        if ZERO:
            stored = tl.where(code == 0, 0, stored)
        stored = tl.where(inside, stored, 0)
    return stored


@triton.jit
def ranks(stored, CHUNKS: tl.constexpr):
    """How many stream words of its window are stored before each word, and how many of each window."""
    rank = tl.cumsum(stored, axis=2) - stored
    chunk = tl.sum(stored, axis=2)
    if CHUNKS == 1:
        window = tl.reshape(chunk, [stored.shape[0]])
    else:
        rank += (tl.cumsum(chunk, axis=1) - chunk)[:, :, None]
        window = tl.sum(chunk, axis=1)
    return rank, window


@triton.jit
def _ones(bits):
    """How many bits of 32 are 1."""
    bits = bits - ((bits >> 1) & 0x55555555)
    bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F
    return ((bits * 0x01010101) >> 24).to(tl.int32)


@triton.jit
def stored_after(
    header,
    fits,
    WORD: tl.constexpr,
    UNIT: tl.constexpr,
    WINDOW: tl.constexpr,
    CODE: tl.constexpr,
    FIELD: tl.constexpr,
    LOW: tl.constexpr,
    ZERO: tl.constexpr,
):
    """How many stream words of a whole window follow each header that fits, without padding; codes are counted in pieces."""
    BITS: tl.constexpr = 8 * UNIT
    # Eight codes of three bits need not begin with a stream word; other codes lie in one.
    PIECE: tl.constexpr = 24 if CODE == 3 else BITS
    UNITS: tl.constexpr = 1 if CODE != 3 else 3 if UNIT == 1 else 2
    MASK: tl.constexpr = ((1 << PIECE) - 1) // ((1 << CODE) - 1)
    bit = tl.arange(0, WINDOW * CODE // PIECE)[None, :] * PIECE
    begin = header[:, None] + bit // BITS
    bits = tl.load(begin, mask=fits[:, None], other=0).to(tl.uint32) >> (bit % BITS)
    for unit in tl.static_range(1, UNITS):
        shift = unit * BITS - bit % BITS
        more = tl.load(begin + unit, mask=fits[:, None] & (shift < PIECE), other=0).to(tl.uint32)
        bits |= more << tl.minimum(shift, 31)
    both = bits
    either = bits
    for shift in tl.static_range(1, CODE):
        both = both & (bits >> shift)
        either = either | (bits >> shift)
    full = _ones(both & MASK)
    if FIELD == 0:
        stored = tl.sum(full, axis=1)
    else:
        stored = full * ((WORD - LOW) // UNIT)
        if ZERO:
            stored += _ones(either & MASK) * (LOW // UNIT)
        stored = tl.sum(stored, axis=1)
        if not ZERO:
            stored += WINDOW * (LOW // UNIT)
    return stored


@triton.jit
def padded(length, ALIGN: tl.constexpr):
    """Lengths of windows, padded."""
    if ALIGN > 1:
        length = (length + (ALIGN - 1)) // ALIGN * ALIGN
    return length


@triton.jit
def store_codes(
    target, code, live, CODE: tl.constexpr, UNIT: tl.constexpr, CHUNKS: tl.constexpr, LANES: tl.constexpr
):
    """Stores the header of each live row at its ``target``."""
    BITS: tl.constexpr = 8 * UNIT
    UNITS: tl.constexpr = LANES * CODE // BITS
    SLICE: tl.constexpr = LANES * CODE if LANES * CODE <= 32 else BITS
    chunk = target[:, None] + tl.arange(0, CHUNKS)[None, :] * UNITS
    bit = CODE * tl.arange(0, LANES)[None, None, :]
    for part in tl.static_range(LANES * CODE // SLICE):
        if LANES * CODE == SLICE:
            field = code << bit
        else:
            # A code may lie in two slices.
            shift = bit - part * SLICE
            up = code << tl.minimum(tl.maximum(shift, 0), 31)
            down = code >> tl.minimum(tl.maximum(-shift, 0), 31)
            field = tl.where(shift < 0, down, tl.where(shift < SLICE, up, 0))
            if SLICE < 32:
                field = field & ((1 << SLICE) - 1)
        slice = tl.sum(field, axis=2)
        for unit in tl.static_range(SLICE // BITS):
            bits = (slice >> (unit * BITS)).to(target.dtype.element_ty)
            tl.store(chunk + (part * (SLICE // BITS) + unit), bits, mask=live[:, None])


@triton.jit
def load_codes(
    source, live, CODE: tl.constexpr, UNIT: tl.constexpr, CHUNKS: tl.constexpr, LANES: tl.constexpr
):
    """The codes in the header at the ``source`` of each live row, as a tile; 0 in the other rows."""
    BITS: tl.constexpr = 8 * UNIT
    UNITS: tl.constexpr = LANES * CODE // BITS
    SLICE: tl.constexpr = LANES * CODE if LANES * CODE <= 32 else BITS
    MASK: tl.constexpr = (1 << CODE) - 1
    chunk = source[:, None] + tl.arange(0, CHUNKS)[None, :] * UNITS
    bit = CODE * tl.arange(0, LANES)[None, None, :]
    code = tl.zeros([source.shape[0], CHUNKS, LANES], tl.uint32)
    for part in tl.static_range(LANES * CODE // SLICE):
        slice = tl.zeros([source.shape[0], CHUNKS], tl.uint32)
        for unit in tl.static_range(SLICE // BITS):
            bits = tl.load(chunk + (part * (SLICE // BITS) + unit), mask=live[:, None], other=0)
            slice |= bits.to(tl.uint32) << (unit * BITS)
        if LANES * CODE == SLICE:
            code = slice[:, :, None] >> bit
        else:
            shift = bit - part * SLICE
            down = slice[:, :, None] >> tl.minimum(tl.maximum(shift, 0), 31)
            up = slice[:, :, None] << tl.minimum(tl.maximum(-shift, 0), 31)
            code |= tl.where(shift < 0, tl.where(shift > -CODE, up, 0), tl.where(shift < SLICE, down, 0))
    return code & MASK
