"""Words into a stream in two passes: what every group of windows takes; and, when each has its place, the stream."""

from __future__ import annotations

import triton
import triton.language as tl

from .windows import (
    code_of,
    padded,
    place_in_window,
    ranks,
    rotated_left,
    store_codes,
    stored_of,
    words_of_rows,
    words_of_tile,
)

__all__ = ["pack_kernel", "size_kernel"]


@triton.jit
def size_kernel(
    source,
    values,
    codes,
    index,
    sizes,
    literals,
    words,
    blocks,
    COUNT: tl.constexpr,
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
    """The stream words of every block to ``sizes``, and how far behind its block's begin each group begins to ``index``.

    ``index`` is the index as numbers of 16 bits. With ``COUNT`` the literals of every block go to ``literals``.
    """
    BLOCKS: tl.constexpr = ROWS // GROUPS
    LITERAL: tl.constexpr = (1 << CODE) - 1
    group = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    first, left = words_of_rows(group, words, WINDOW, GROUP)
    place = place_in_window(CHUNKS, LANES)
    origin = (source + first)[:, None, None] + place
    size = tl.zeros([ROWS], tl.int32)
    found = tl.zeros([ROWS, CHUNKS, LANES], tl.int32)
    total = tl.zeros([ROWS, CHUNKS, LANES], tl.int32)
    for step in tl.range(0, GROUP, loop_unroll_factor=UNROLL):
        limit = left - step * WINDOW
        inside = place < limit[:, None, None]
        word = tl.load(origin + step * WINDOW, mask=inside, other=0).to(tl.uint32)
        code = code_of(word, values, codes, CODE, FIELD, KEY, LOW, WORD, ROTATE, ZERO, DEFINED)
        stored = stored_of(code, inside, CODE, WORD, UNIT, FIELD, LOW, ZERO)
        if COUNT:
            found += ((code == LITERAL) & inside).to(tl.int32)
        header = tl.where(limit > 0, HEADER, 0)
        if ALIGN == 1:
            # What is stored is added up once for all windows.
            total += stored
            size += header
        else:
            size += padded(header + tl.sum(tl.sum(stored, axis=2), axis=1), ALIGN)
    if ALIGN == 1:
        size += tl.sum(tl.sum(total, axis=2), axis=1)
    size = tl.reshape(size, [BLOCKS, GROUPS])
    block = tl.program_id(0).to(tl.int64) * BLOCKS + tl.arange(0, BLOCKS)
    tl.store(sizes + block, tl.sum(size, axis=1).to(tl.int64), mask=block < blocks)
    behind = (tl.cumsum(size, axis=1) - size).to(tl.int16)
    near = index + block[:, None] * (GROUPS + 4) + 4 + tl.arange(0, GROUPS)[None, :]
    tl.store(near, behind, mask=(block < blocks)[:, None])
    if COUNT:
        found = tl.reshape(tl.sum(tl.sum(found, axis=2), axis=1), [BLOCKS, GROUPS])
        tl.store(literals + block, tl.sum(found, axis=1).to(tl.int64), mask=block < blocks)


@triton.jit
def pack_kernel(
    source,
    values,
    codes,
    index,
    near,
    ends,
    target,
    words,
    blocks,
    capacity,
    GROUPS: tl.constexpr,
    ROWS: tl.constexpr,
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
    """The stream to ``target``, and where every block begins to ``index``; no stream if it has more than ``capacity``
    stream words.

    ``near`` is the index as numbers of 16 bits, and ``ends`` are the ends of the blocks.
    """
    group = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    block = group // GROUPS
    known = block < blocks
    begin = tl.load(ends + block - 1, mask=known & (block > 0), other=0)
    tl.store(index + block * (1 + GROUPS // 4), begin, mask=known & (group % GROUPS == 0))
    begin += tl.load(near + block * (GROUPS + 4) + 4 + group % GROUPS, mask=known, other=0)

    first, left = words_of_tile(words, WINDOW, ROWS * GROUP)
    left = tl.where(tl.load(ends + blocks - 1) <= capacity, left, 0)
    window = tl.arange(0, ROWS * GROUP)
    place = window[:, None, None] * WINDOW + place_in_window(CHUNKS, LANES)
    inside = place < left
    word = tl.load(source + first + place, mask=inside, other=0).to(tl.uint32)
    code = code_of(word, values, codes, CODE, FIELD, KEY, LOW, WORD, ROTATE, ZERO, DEFINED)
    code = tl.where(inside, code, 0)
    stored = stored_of(code, inside, CODE, WORD, UNIT, FIELD, LOW, ZERO)
    rank, literal = ranks(stored, CHUNKS)

    live = window * WINDOW < left
    length = tl.where(live, HEADER + literal, 0)
    taken = tl.reshape(padded(length, ALIGN), [ROWS, GROUP])
    at = tl.reshape(begin[:, None] + (tl.cumsum(taken, axis=1) - taken), [ROWS * GROUP])
    header = target + at
    store_codes(header, code, live, CODE, UNIT, CHUNKS, LANES)
    to = (header + HEADER)[:, None, None] + rank
    if FIELD == 0:
        tl.store(to, word.to(target.dtype.element_ty), mask=stored > 0)
    else:
        turned = rotated_left(word, ROTATE, WORD)
        for byte in tl.static_range(WORD):
            tl.store(to + byte, (turned >> (8 * byte)).to(tl.uint8), mask=stored > byte)
    for pad in tl.static_range(ALIGN - 1):
        tl.store(header + length + pad, 0, mask=length + pad < padded(length, ALIGN))
