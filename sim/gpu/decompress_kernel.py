"""A stream with its index into words, and whether it is one: no stream and no index makes it read or write elsewhere."""

from __future__ import annotations

import triton
import triton.language as tl

from .windows import load_codes, padded, place_in_window, ranks, rotated_left, stored_of, words_of_rows

__all__ = ["unpack_kernel"]


@triton.jit
def _begin_of(index, near, group, groups, otherwise, GROUPS: tl.constexpr):
    """Where the stream of each group begins; ``otherwise`` for groups past the last one."""
    block = group // GROUPS
    begin = tl.load(index + block * (1 + GROUPS // 4), mask=group < groups, other=otherwise)
    return begin + tl.load(near + block * (GROUPS + 4) + 4 + group % GROUPS, mask=group < groups, other=0)


@triton.jit
def unpack_kernel(
    stream,
    index,
    near,
    length,
    capacity,
    values,
    target,
    fault,
    words,
    groups,
    GROUPS: tl.constexpr,
    ROWS: tl.constexpr,
    UNROLL: tl.constexpr,
    WORD: tl.constexpr,
    UNIT: tl.constexpr,
    WINDOW: tl.constexpr,
    CODE: tl.constexpr,
    LANES: tl.constexpr,
    CHUNKS: tl.constexpr,
    GROUP: tl.constexpr,
    HEADER: tl.constexpr,
    ALIGN: tl.constexpr,
    FIELD: tl.constexpr,
    KEY: tl.constexpr,
    LOW: tl.constexpr,
    ROTATE: tl.constexpr,
    ZERO: tl.constexpr,
    DEFINED: tl.constexpr,
):
    """The words to ``target``; ``fault`` becomes 1 unless stream and index are right to the last bit.

    ``near`` is the index as numbers of 16 bits, ``length`` holds the bytes of the stream and ``capacity`` is the stream
    words of the buffer. Every group must begin at 0 or where the one before it ends, and the last one must end where the
    stream does: so the groups are right together, whatever the index holds.
    """
    LITERAL: tl.constexpr = (1 << CODE) - 1
    # More than any row has, and few enough to add to in 32 bits.
    FAR: tl.constexpr = 1 << 30
    octets = tl.load(length)
    size = octets // UNIT
    # Nothing fits a stream that is not whole.
    size = tl.where((octets % UNIT == 0) & (size <= capacity), size, -1)
    group = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    begin = _begin_of(index, near, group, groups, size, GROUPS)
    after = _begin_of(index, near, group + 1, groups, size, GROUPS)
    right = (begin >= 0) & (begin <= size) & ((group > 0) | (begin == 0))
    room = tl.minimum(size - tl.where(right, begin, size), FAR).to(tl.int32)
    origin = stream + begin
    first, left = words_of_rows(group, words, WINDOW, GROUP)
    place = place_in_window(CHUNKS, LANES)
    to = (target + first)[:, None, None] + place
    at = tl.zeros([ROWS], tl.int32)
    wrong = tl.zeros([ROWS, CHUNKS, LANES], tl.int1)
    for step in tl.range(0, GROUP, loop_unroll_factor=UNROLL):
        limit = left - step * WINDOW
        inside = place < limit[:, None, None]
        # Of a row that is not right nothing more is read.
        right = right & ((limit <= 0) | (at + HEADER <= room))
        code = load_codes(origin + at, right & (limit > 0), CODE, UNIT, CHUNKS, LANES)
        stored = stored_of(code, inside, CODE, WORD, UNIT, FIELD, LOW, ZERO)
        rank, literal = ranks(stored, CHUNKS)
        ended = at + tl.where(limit > 0, HEADER + literal, 0)
        ahead = at + padded(ended - at, ALIGN)
        right = right & (ahead <= room)
        wrong = wrong | ((place >= limit[:, None, None]) & (code != 0))
        if DEFINED < LITERAL:
            wrong = wrong | ((code >= DEFINED) & (code != LITERAL))
        for pad in tl.static_range(ALIGN - 1):
            filler = tl.load(origin + ended + pad, mask=right & (ended + pad < ahead), other=0)
            right = right & (filler == 0)
        read = inside & right[:, None, None]
        literals = (origin + at + HEADER)[:, None, None] + rank
        if CODE == 1 and FIELD == 0:
            base = tl.load(values)
        else:
            base = tl.load(values + code)
        if FIELD == 0:
            word = tl.load(literals, mask=read & (code == LITERAL), other=0).to(tl.uint32)
            word = tl.where(code == LITERAL, word, base)
        else:
            turned = tl.where(code == LITERAL, 0, base << (8 * LOW))
            for byte in tl.static_range(WORD):
                part = tl.load(literals + byte, mask=read & (stored > byte), other=0)
                turned |= part.to(tl.uint32) << (8 * byte)
            word = rotated_left(turned, (8 * WORD - ROTATE) % (8 * WORD), WORD)
            if ZERO:
                word = tl.where(code == 0, 0, word)
        tl.store(to + step * WINDOW, word.to(target.dtype.element_ty), mask=inside)
        at = ahead
    right = right & ((group >= groups) | (after - begin == at))
    tl.store(fault + tl.zeros_like(group), 1, mask=right == 0)
    tl.store(fault + tl.zeros(wrong.shape, tl.int32), 1, mask=wrong)
