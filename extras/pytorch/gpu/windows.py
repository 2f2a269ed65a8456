"""What the kernels share: windows, words, codes, and what is stored of them; and which tensor of a launch a block is of.

A tile has a window in every row, as lanes of 16 bytes: a lane's own words say its codes and how its words rank, and only
counts cross lanes.

Of many tensors in one launch a table holds numbers of 64 bits: for each block of the launch how far behind the table's begin
the row of its tensor is, and then the rows. Kernels that are compiled for ``MANY`` get it in place of what they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def place_in_group(SHAPE: tl.constexpr):
    """The place of every word of a group, as a tile of windows, lanes and words."""
    window = tl.arange(0, SHAPE.GROUP)[:, None] * SHAPE.WINDOW
    lane = window + tl.arange(0, SHAPE.LANES)[None, :] * SHAPE.PER
    return lane[:, :, None] + tl.arange(0, SHAPE.PER)[None, None, :]


@triton.jit
def apart(base, place, SHAPE: tl.constexpr):
    """Addresses of single words, a ``place`` for each.

    They look as if a lane's words lay together, so that each lane keeps its own: what is loaded or stored by a mask that has
    a bit for each word is loaded or stored word by word, whatever addresses look like.
    """
    PER: tl.constexpr = SHAPE.PER
    BYTES: tl.constexpr = SHAPE.PER * SHAPE.UNIT
    return tl.max_contiguous(tl.multiple_of(base + place, [1, 1, BYTES]), [1, 1, PER])


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
def code_of(word, values, codes, SHAPE: tl.constexpr):
    """The code of every word: the lowest that stands for it, or the literal code."""
    LITERAL: tl.constexpr = (1 << SHAPE.CODE) - 1
    ENTRIES: tl.constexpr = SHAPE.DEFINED - SHAPE.ZERO
    key = rotated_left(word, SHAPE.ROTATE, SHAPE.WORD) >> (8 * SHAPE.LOW)
    if SHAPE.CODE == 1 and SHAPE.FIELD == 0:
        code = (key != tl.load(values)).to(tl.uint32)
    elif SHAPE.KEY == 1:
        code = tl.load(codes + key).to(tl.uint32)
    else:
        code = tl.full(word.shape, LITERAL, tl.uint32)
        for entry in tl.static_range(ENTRIES):
            code = tl.where(
                key == tl.load(values + (SHAPE.DEFINED - 1 - entry)), SHAPE.DEFINED - 1 - entry, code
            )
    if SHAPE.ZERO:
        code = tl.where(word == 0, 0, code)
    return code


@triton.jit
def stored_of(code, inside, FULL: tl.constexpr, SHAPE: tl.constexpr):
    """How many stream words are stored of each word, if codes are 0 where nothing is ``inside``."""
    LITERAL: tl.constexpr = (1 << SHAPE.CODE) - 1
    if SHAPE.FIELD == 0:
        stored = (code == LITERAL).to(tl.int32)
    else:
        stored = tl.where(code == LITERAL, SHAPE.WORD, SHAPE.LOW)
        if SHAPE.ZERO:
            stored = tl.where(code == 0, 0, stored)
        elif not FULL:
            stored = tl.where(inside, stored, 0)
    return stored


@triton.jit
def has_part(code, inside, part: tl.constexpr, FULL: tl.constexpr, SHAPE: tl.constexpr):
    """Whether the stream has this byte of each word, or the word itself, if codes are 0 where nothing is ``inside``."""
    LITERAL: tl.constexpr = (1 << SHAPE.CODE) - 1
    if SHAPE.FIELD == 0 or part >= SHAPE.LOW:
        has = code == LITERAL
    elif SHAPE.ZERO:
        has = code != 0
    elif FULL:
        has = code <= LITERAL
    else:
        has = inside
    return has


@triton.jit
def ranks(stored, lane):
    """How many stream words of its window are stored before each word, and how many of each window, whose every ``lane``
    has so many."""
    before = tl.cumsum(lane, axis=1) - lane
    return tl.cumsum(stored, axis=2) - stored + before[:, :, None], tl.sum(lane, axis=1)


@triton.jit
def ones(bits):
    """How many bits of 32 are 1."""
    bits = bits - ((bits >> 1) & 0x55555555)
    bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F
    return ((bits * 0x01010101) >> 24).to(tl.int32)


@triton.jit
def stored_by(bits, CODES: tl.constexpr, SHAPE: tl.constexpr):
    """How many stream words are stored of the words whose ``CODES`` codes are the lowest bits, if code 0 has no end."""
    CODE: tl.constexpr = SHAPE.CODE
    LOW: tl.constexpr = SHAPE.LOW // SHAPE.UNIT
    MASK: tl.constexpr = ((1 << CODES * CODE) - 1) // ((1 << CODE) - 1)
    full = bits
    some = bits
    for shift in tl.static_range(1, CODE):
        full = full & (bits >> shift)
        some = some | (bits >> shift)
    stored = ones(full & MASK) * (SHAPE.WORD // SHAPE.UNIT - LOW)
    if SHAPE.ZERO:
        stored += ones(some & MASK) * LOW
    elif SHAPE.FIELD:
        stored += CODES * LOW
    return stored


@triton.jit
def stored_after(source, header, fits, SHAPE: tl.constexpr):
    """How many stream words of a whole window follow each ``header`` behind ``source`` that fits, without padding.

    Codes are counted in pieces.
    """
    CODE: tl.constexpr = SHAPE.CODE
    BITS: tl.constexpr = 8 * SHAPE.UNIT
    # Eight codes of three bits need not begin with a stream word; other codes lie in one.
    PIECE: tl.constexpr = 24 if CODE == 3 else BITS
    UNITS: tl.constexpr = 1 if CODE != 3 else 3 if SHAPE.UNIT == 1 else 2
    PIECES: tl.constexpr = SHAPE.WINDOW * CODE // PIECE
    at = source + header
    stored = tl.zeros_like(header)
    for piece in tl.static_range(PIECES):
        first = piece * PIECE // BITS
        start = piece * PIECE % BITS
        bits = tl.load(at + first, mask=fits, other=0).to(tl.uint32) >> start
        for unit in tl.static_range(1, UNITS):
            if unit * BITS - start < PIECE:
                more = tl.load(at + (first + unit), mask=fits, other=0).to(tl.uint32)
                bits |= more << (unit * BITS - start)
        stored += stored_by(bits, PIECE // CODE, SHAPE)
    return stored


@triton.jit
def padded(length, ALIGN: tl.constexpr):
    """Lengths of windows, padded."""
    if ALIGN > 1:
        length = (length + (ALIGN - 1)) // ALIGN * ALIGN
    return length


@triton.jit
def store_codes(target, at, code, live, FULL: tl.constexpr, SHAPE: tl.constexpr):
    """Stores the header of each live row ``at`` its place behind ``target``: each share of lanes its stream words."""
    BITS: tl.constexpr = 8 * SHAPE.UNIT
    SHARES: tl.constexpr = SHAPE.LANES // SHAPE.SHARE
    PARTS: tl.constexpr = SHAPE.PARTS
    bits = tl.sum(code << (SHAPE.CODE * tl.arange(0, SHAPE.PER)).to(tl.uint32)[None, None, :], axis=2)
    bits = tl.reshape(bits, (code.shape[0], SHARES, SHAPE.SHARE))
    begin = tl.arange(0, SHAPE.SHARE)[None, None, :] * SHAPE.BITS
    place = target + (at[:, None] + tl.arange(0, SHARES)[None, :] * PARTS)
    for part in tl.static_range(PARTS):
        if SHAPE.SHARE == 1:
            own = bits >> (part * BITS)
        elif PARTS == 1:
            own = bits << begin.to(tl.uint32)
        else:
            up = begin - part * BITS
            left = tl.where(
                (up >= 0) & (up < BITS), bits << tl.maximum(tl.minimum(up, 31), 0).to(tl.uint32), 0
            )
            own = tl.where(up < 0, bits >> tl.minimum(-up, 31).to(tl.uint32), left)
            own = tl.where(up <= -SHAPE.BITS, 0, own)
        word = tl.sum(own, axis=2).to(target.dtype.element_ty)
        if FULL:
            tl.store(place + part, word)
        else:
            tl.store(place + part, word, mask=live[:, None])


@triton.jit
def store_windows(
    target, at, word, code, rank, stored, length, inside, live, FULL: tl.constexpr, SHAPE: tl.constexpr
):
    """Stores the windows of live rows, each ``at`` its place behind ``target``: ``length`` stream words, of which
    ``stored`` are no padding. ``rank`` says how many of its window are stored before each word."""
    store_codes(target, at, code, live, FULL, SHAPE)
    rank += (at + SHAPE.HEADER)[:, None, None]
    if SHAPE.FIELD == 0:
        tl.store(
            apart(target, rank, SHAPE),
            word.to(target.dtype.element_ty),
            mask=has_part(code, inside, 0, FULL, SHAPE),
        )
    else:
        BYTES: tl.constexpr = SHAPE.WORD
        turned = rotated_left(word, SHAPE.ROTATE, BYTES)
        begins_of = apart(target, rank, SHAPE)
        for byte in tl.static_range(BYTES):
            has = has_part(code, inside, byte, FULL, SHAPE)
            tl.store(apart(begins_of, byte, SHAPE), (turned >> (8 * byte)).to(tl.uint8), mask=has)
    for pad in tl.static_range(SHAPE.ALIGN - 1):
        tl.store(target + (at + stored + pad), 0, mask=live & (stored + pad < length))


@triton.jit
def load_codes(source, at, live, SHAPE: tl.constexpr):
    """The codes of every lane of each live row, whose header is ``at`` its place behind ``source``; 0 in the other rows.

    What is above a lane's codes is undefined.
    """
    BITS: tl.constexpr = 8 * SHAPE.UNIT
    SPAN: tl.constexpr = SHAPE.SPAN
    bit = tl.arange(0, SHAPE.LANES) * SHAPE.BITS
    place = source + (at[:, None] + (bit // BITS)[None, :])
    shift = (bit % BITS)[None, :]
    bits = tl.load(place, mask=live[:, None], other=0).to(tl.uint32) >> shift.to(tl.uint32)
    for unit in tl.static_range(1, SPAN):
        if SHAPE.BITS % BITS == 0:
            bits |= tl.load(place + unit, mask=live[:, None], other=0).to(tl.uint32) << (unit * BITS)
        else:
            needed = live[:, None] & (shift + SHAPE.BITS > unit * BITS)
            more = tl.load(place + unit, mask=needed, other=0).to(tl.uint32)
            bits |= more << tl.minimum(unit * BITS - shift, 31).to(tl.uint32)
    return bits


class Row(NamedTuple):
    """One tensor of a launch, in the order in which the kernels read it.

    ``source``, ``target``, ``beside``, ``length``: Addresses of what is read and written, of its part of the index, and
        of the bytes that its stream has.
    ``words``, ``blocks``: Words of the tensor, and blocks of them.
    ``capacity``: Stream words of the buffer.
    """

    source: int
    words: int
    blocks: int
    target: int = 0
    capacity: int = 0
    beside: int = 0
    length: int = 0


#: Where a row has the numbers that are not its tensor's own: the first of its blocks, and which tensor it is.
_FIRST = tl.constexpr(len(Row._fields))
_NUMBER = tl.constexpr(len(Row._fields) + 1)


def table_of(rows: Sequence[Row], device: torch.device) -> torch.Tensor:
    """The table of a launch, on its way to the GPU: nothing waits for it.

    A row has the numbers of its :class:`Row`, then the first of its blocks, and which tensor it is.
    """
    blocks = [row.blocks for row in rows]
    firsts = [0, *accumulate(blocks)]
    own = np.array(
        [[*row, first, number] for number, (row, first) in enumerate(zip(rows, firsts, strict=False))],
        np.int64,
    ).reshape(len(rows), -1)
    begins = firsts[-1] + own.shape[1] * np.arange(len(rows), dtype=np.int64)
    table = torch.from_numpy(np.concatenate([np.repeat(begins, blocks), own.ravel()]))
    return table.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else table


@triton.jit
def opened(
    source, words, target, capacity, index, length, SOURCE: tl.constexpr, TARGET: tl.constexpr, block,
    MANY: tl.constexpr,
):  # fmt: skip
    """What a block of the launch is of: source, words, target, capacity, the index and the length of its tensor; its number
    there, the blocks of the tensor, those before it in the launch, and which tensor it is."""
    blocks = tl.num_programs(0)
    first = 0
    number = 0
    if MANY:
        row = source + tl.load(source + block)
        source = pointer(tl.load(row), SOURCE)
        words = tl.load(row + 1)
        blocks = tl.load(row + 2).to(tl.int32)
        target = pointer(tl.load(row + 3), TARGET)
        capacity = tl.load(row + 4)
        index = pointer(tl.load(row + 5), 8)
        length = pointer(tl.load(row + 6), 8)
        first = tl.load(row + _FIRST)
        number = tl.load(row + _NUMBER)
    return source, words, target, capacity, index, length, block - first, blocks, first, number


@triton.jit
def pointer(address, BYTES: tl.constexpr):
    """An address of unsigned numbers of so many bytes, or of signed ones of 8; ``address`` may be one of other numbers."""
    if BYTES == 1:
        found = address.to(tl.pointer_type(tl.uint8))
    elif BYTES == 2:
        found = address.to(tl.pointer_type(tl.uint16))
    elif BYTES == 4:
        found = address.to(tl.pointer_type(tl.uint32))
    else:
        found = address.to(tl.pointer_type(tl.int64))
    return found
