"""What the kernels share: windows, words, codes, and what is stored of them.

A tile has a window in every row, as chunks of lanes: a chunk's codes are whole stream words. Rows are groups, so that a
program takes the same step in all of its groups at once.
"""

from __future__ import annotations

import triton
import triton.language as tl


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
        code = tl.load(tl.max_contiguous(codes + key, [1, 1, key.shape[2]])).to(tl.uint32)
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
    FULL: tl.constexpr,
    CODE: tl.constexpr,
    WORD: tl.constexpr,
    UNIT: tl.constexpr,
    FIELD: tl.constexpr,
    LOW: tl.constexpr,
    ZERO: tl.constexpr,
):
    """How many stream words are stored of each word, if codes are 0 where nothing is ``inside``."""
    LITERAL: tl.constexpr = (1 << CODE) - 1
    if FIELD == 0:
        stored = (code == LITERAL).to(tl.int32)
    else:
        stored = tl.where(code == LITERAL, WORD // UNIT, LOW // UNIT)
        if ZERO:
            stored = tl.where(code == 0, 0, stored)
        elif not FULL:
            stored = tl.where(inside, stored, 0)
    return stored


@triton.jit
def has_part(
    code,
    inside,
    part: tl.constexpr,
    FULL: tl.constexpr,
    CODE: tl.constexpr,
    FIELD: tl.constexpr,
    LOW: tl.constexpr,
    ZERO: tl.constexpr,
):
    """Whether the stream has this byte of each word, or the word itself, if codes are 0 where nothing is ``inside``."""
    LITERAL: tl.constexpr = (1 << CODE) - 1
    if FIELD == 0 or part >= LOW:
        has = code == LITERAL
    elif ZERO:
        has = code != 0
    elif FULL:
        has = code <= LITERAL
    else:
        has = inside
    return has


@triton.jit
def ballot(places, LANES: tl.constexpr):
    """A bit for each place of a chunk that is true, lane 0 the lowest."""
    return tl.sum(places.to(tl.uint32) << tl.arange(0, LANES)[None, None, :], axis=2)


@triton.jit
def before(bits, LANES: tl.constexpr):
    """How many bits of a ballot are those of lower lanes, for each lane."""
    lower = (1 << tl.arange(0, LANES).to(tl.uint32)) - 1
    return ones(bits[:, :, None] & lower[None, None, :])


@triton.jit
def ranks(
    code,
    inside,
    FULL: tl.constexpr,
    CODE: tl.constexpr,
    WORD: tl.constexpr,
    UNIT: tl.constexpr,
    LANES: tl.constexpr,
    CHUNKS: tl.constexpr,
    FIELD: tl.constexpr,
    LOW: tl.constexpr,
    ZERO: tl.constexpr,
):
    """How many stream words of its window are stored before each word, and how many of each window.

    Codes are 0 where nothing is ``inside``.
    """
    LITERAL: tl.constexpr = (1 << CODE) - 1
    SCALE: tl.constexpr = 1 if FIELD == 0 else (WORD - LOW) // UNIT
    full = ballot(code if CODE == 1 else code == LITERAL, LANES)
    rank = before(full, LANES) * SCALE
    chunk = ones(full) * SCALE
    if FIELD and LOW:
        if FULL and not ZERO:
            rank += tl.arange(0, LANES)[None, None, :] * (LOW // UNIT)
            chunk += LANES * (LOW // UNIT)
        else:
            some = ballot((code != 0) if ZERO else inside, LANES)
            rank += before(some, LANES) * (LOW // UNIT)
            chunk += ones(some) * (LOW // UNIT)
    if CHUNKS == 1:
        window = tl.reshape(chunk, [code.shape[0]])
    else:
        rank += (tl.cumsum(chunk, axis=1) - chunk)[:, :, None]
        window = tl.sum(chunk, axis=1)
    return rank, window


@triton.jit
def ones(bits):
    """How many bits of 32 are 1."""
    bits = bits - ((bits >> 1) & 0x55555555)
    bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F
    return ((bits * 0x01010101) >> 24).to(tl.int32)


@triton.jit
def stored_after(
    source,
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
    """How many stream words of a whole window follow each ``header`` behind ``source`` that fits, without padding.

    Codes are counted in pieces.
    """
    BITS: tl.constexpr = 8 * UNIT
    # Eight codes of three bits need not begin with a stream word; other codes lie in one.
    PIECE: tl.constexpr = 24 if CODE == 3 else BITS
    UNITS: tl.constexpr = 1 if CODE != 3 else 3 if UNIT == 1 else 2
    MASK: tl.constexpr = ((1 << PIECE) - 1) // ((1 << CODE) - 1)
    bit = tl.arange(0, WINDOW * CODE // PIECE)[None, :] * PIECE
    begin = header[:, None] + bit // BITS
    bits = tl.load(source + begin, mask=fits[:, None], other=0).to(tl.uint32) >> (bit % BITS)
    for unit in tl.static_range(1, UNITS):
        shift = unit * BITS - bit % BITS
        more = tl.load(source + (begin + unit), mask=fits[:, None] & (shift < PIECE), other=0).to(tl.uint32)
        bits |= more << tl.minimum(shift, 31)
    both = bits
    either = bits
    for shift in tl.static_range(1, CODE):
        both = both & (bits >> shift)
        either = either | (bits >> shift)
    full = ones(both & MASK)
    if FIELD == 0:
        stored = tl.sum(full, axis=1)
    else:
        stored = full * ((WORD - LOW) // UNIT)
        if ZERO:
            stored += ones(either & MASK) * (LOW // UNIT)
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
    target,
    at,
    code,
    live,
    FULL: tl.constexpr,
    CODE: tl.constexpr,
    UNIT: tl.constexpr,
    CHUNKS: tl.constexpr,
    LANES: tl.constexpr,
):
    """Stores the header of each live row ``at`` its place behind ``target``, a lane each stream word."""
    BITS: tl.constexpr = 8 * UNIT
    UNITS: tl.constexpr = LANES * CODE // BITS
    MASK: tl.constexpr = (1 << CODE) - 1
    lane = tl.arange(0, LANES)
    if CODE == 1:
        own = ballot(code, LANES)[:, :, None]
    else:
        # Codes are rotated to their places in slices of 32 bits, of which each takes the bits that are its own.
        bit = CODE * lane
        turned = code << (bit % 32)[None, None, :].to(tl.uint32)
        if CODE == 3:
            turned |= code >> ((32 - bit % 32) % 32)[None, None, :].to(tl.uint32)
        own = tl.zeros_like(code)
        for part in tl.static_range((LANES * CODE + 31) // 32):
            shift = bit - part * 32
            up = tl.where((shift >= 0) & (shift < 32), MASK << (bit % 32), 0)
            down = tl.where((shift < 0) & (shift > -CODE), MASK >> tl.minimum(tl.maximum(-shift, 0), 31), 0)
            slice = tl.sum(turned & (up | down).to(tl.uint32)[None, None, :], axis=2)
            own = tl.where((lane * BITS // 32 == part)[None, None, :], slice[:, :, None], own)
    bits = own >> (lane * BITS % 32)[None, None, :].to(tl.uint32)
    place = at[:, None, None] + (tl.arange(0, CHUNKS)[:, None] * UNITS + lane[None, :])[None, :, :]
    mask = (lane < UNITS)[None, None, :]
    if not FULL:
        mask = mask & live[:, None, None]
    tl.store(target + place, bits.to(target.dtype.element_ty), mask=mask)


@triton.jit
def load_codes(
    source, at, live, CODE: tl.constexpr, UNIT: tl.constexpr, CHUNKS: tl.constexpr, LANES: tl.constexpr
):
    """The codes in the header of each live row, ``at`` its place behind ``source``, as a tile; 0 in the other rows."""
    BITS: tl.constexpr = 8 * UNIT
    MASK: tl.constexpr = (1 << CODE) - 1
    bit = CODE * place_in_window(CHUNKS, LANES)
    place = tl.max_contiguous(at[:, None, None] + bit // BITS, [1, 1, LANES])
    shift = (bit % BITS).to(tl.uint32)
    code = tl.load(source + place, mask=live[:, None, None], other=0).to(tl.uint32) >> shift
    if CODE == 3:
        # A code may lie in two stream words.
        more = live[:, None, None] & (shift > BITS - CODE)
        code |= tl.load(source + (place + 1), mask=more, other=0).to(tl.uint32) << (BITS - shift)
    return code & MASK
