"""A stream with its index into words, and whether it is one: no stream and no index makes it read or write elsewhere."""

from __future__ import annotations

import triton
import triton.language as tl

from .windows import (
    load_codes,
    padded,
    place_in_window,
    ranks,
    rotated_left,
    stored_after,
    stored_of,
    words_of_rows,
    words_of_tile,
)

__all__ = ["unpack_kernel"]


@triton.jit
def _begin_of(index, near, group, groups, otherwise, GROUPS: tl.constexpr):
    """Where the stream of each group begins; ``otherwise`` for groups past the last one."""
    block = group // GROUPS
    begin = tl.load(index + block * (1 + GROUPS // 4), mask=group < groups, other=otherwise)
    return begin + tl.load(near + block * (GROUPS + 4) + 4 + group % GROUPS, mask=group < groups, other=0)


@triton.jit
def _report(fault, wrong):
    """Says so if any place of a tile is wrong."""
    found = tl.max(tl.max(tl.max(wrong.to(tl.int32), axis=2), axis=1), axis=0)
    tl.store(fault, 1, mask=found > 0)


@triton.jit
def unpack_kernel(
    stream,
    index,
    near,
    length,
    capacity,
    values,
    behind,
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

    ``near`` is the index as numbers of 16 bits, ``behind`` is memory for a number of 16 bits a window, ``length`` holds the
    bytes of the stream and ``capacity`` is the stream words of the buffer. Every group must begin at 0 or where the one
    before it ends, and the last one must end where the stream does: so the groups are right together, whatever the index
    holds.
    """
    LITERAL: tl.constexpr = (1 << CODE) - 1
    # More than any group has, and few enough to add to in 32 bits.
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

    # The chain of headers in every group, a lane for each. Where windows begin goes by way of memory, so that lanes have
    # windows afterwards, and nothing of the chain is computed in several of them.
    at = tl.zeros([ROWS], tl.int32)
    left = words_of_rows(group, words, WINDOW, GROUP)[1]
    for step in tl.range(0, GROUP, loop_unroll_factor=UNROLL):
        limit = tl.minimum(left - step * WINDOW, WINDOW)
        live = limit > 0
        right = right & ((limit <= 0) | (at + HEADER <= room))
        stored = stored_after(stream + begin + at, right & live, WORD, UNIT, WINDOW, CODE, FIELD, LOW, ZERO)
        if FIELD and ZERO == 0:
            # Of the places past the end of the packet, which have code 0, nothing is stored.
            stored -= (WINDOW - limit) * (LOW // UNIT)
        ended = at + tl.where(live, HEADER + stored, 0)
        ahead = at + padded(ended - at, ALIGN)
        right = right & (ahead <= room)
        for pad in tl.static_range(ALIGN - 1):
            read = right & (ended + pad < ahead)
            right = right & (tl.load(stream + begin + ended + pad, mask=read, other=0) == 0)
        tl.store(behind + group * GROUP + step, tl.where(right, at, -1).to(tl.int16), mask=live)
        at = ahead
    right = right & ((group >= groups) | (after - begin == at))
    tl.store(fault, 1, mask=tl.min(right.to(tl.int32), axis=0) == 0)

    tl.debug_barrier()

    # The windows, all at once.
    first, left = words_of_tile(words, WINDOW, ROWS * GROUP)
    row = tl.arange(0, ROWS * GROUP)
    window = tl.program_id(0).to(tl.int64) * (ROWS * GROUP) + row
    begin = _begin_of(index, near, window // GROUP, groups, 0, GROUPS)
    at = tl.load(behind + window, mask=row * WINDOW < left, other=-1)
    readable = at >= 0
    header = stream + begin + at
    place_of = place_in_window(CHUNKS, LANES)
    place = row[:, None, None] * WINDOW + place_of
    inside = (place < left) & readable[:, None, None]
    code = load_codes(header, readable, CODE, UNIT, CHUNKS, LANES)
    stored = stored_of(code, inside, CODE, WORD, UNIT, FIELD, LOW, ZERO)
    rank, _ = ranks(stored, CHUNKS)
    if left < ROWS * GROUP * WINDOW:
        _report(fault, (place >= left) & (code != 0))
    if DEFINED < LITERAL:
        _report(fault, (code >= DEFINED) & (code != LITERAL))
    literals = (header + HEADER)[:, None, None] + rank
    if CODE == 1 and FIELD == 0:
        base = tl.load(values)
    else:
        base = tl.load(values + code)
    if FIELD == 0:
        word = tl.load(literals, mask=stored > 0, other=0).to(tl.uint32)
        word = tl.where(code == LITERAL, word, base)
    else:
        turned = tl.where(code == LITERAL, 0, base << (8 * LOW))
        for byte in tl.static_range(WORD):
            part = tl.load(literals + byte, mask=stored > byte, other=0)
            turned |= part.to(tl.uint32) << (8 * byte)
        word = rotated_left(turned, (8 * WORD - ROTATE) % (8 * WORD), WORD)
        if ZERO:
            word = tl.where(code == 0, 0, word)
    tl.store(target + first + place, word.to(target.dtype.element_ty), mask=inside)
