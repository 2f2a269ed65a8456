"""Words into a stream in one pass, and how long that stream is.

A program has a **block** of groups. Where its stream begins is the sum of what the blocks before it take: each program says
what its own takes as soon as it knows, and then looks back for a block whose end is known, so that data are read once.
"""

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
)

__all__ = ["count_kernel", "pack_kernel"]

#: Blocks of a flock.
_FLOCK = tl.constexpr(64)


@triton.jit
def count_kernel(
    source,
    values,
    codes,
    totals,
    words,
    GROUPS: tl.constexpr,
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
    """Adds to ``totals`` the literals and the stream words of every block."""
    LITERAL: tl.constexpr = (1 << CODE) - 1
    WINDOWS: tl.constexpr = GROUPS * GROUP
    block = tl.program_id(0).to(tl.int64)
    left = tl.minimum(words - block * (WINDOWS * WINDOW), WINDOWS * WINDOW).to(tl.int32)
    window = tl.arange(0, WINDOWS)
    place = window[:, None, None] * WINDOW + place_in_window(CHUNKS, LANES)
    inside = place < left
    word = tl.load(source + block * (WINDOWS * WINDOW) + place, mask=inside, other=0).to(tl.uint32)
    code = code_of(word, values, codes, CODE, FIELD, KEY, LOW, WORD, ROTATE, ZERO, DEFINED)
    code = tl.where(inside, code, 0)
    size = stored_of(code, inside, False, CODE, WORD, UNIT, FIELD, LOW, ZERO)
    literals = tl.sum(tl.sum(tl.sum((code == LITERAL).to(tl.int32), axis=2), axis=1), axis=0)
    stored = tl.sum(tl.sum(size, axis=2), axis=1)
    taken = padded(tl.where(window * WINDOW < left, HEADER + stored, 0), ALIGN)
    tl.atomic_add(totals, literals.to(tl.int64), sem="relaxed")
    tl.atomic_add(totals + 1, tl.sum(taken, axis=0).to(tl.int64), sem="relaxed")


@triton.jit
def _begin_of(states, flocks, block, takes):
    """Where a block begins that ``takes`` so many stream words; says so to those behind it.

    ``states`` has what each block takes, and ``flocks`` what each flock takes, or where it ends: twice that, and 1. All
    are less than 0 until they are known.
    """
    tl.atomic_xchg(states + block, takes, sem="relaxed")
    flock = block // _FLOCK
    member = block % _FLOCK
    lane = tl.arange(0, _FLOCK)
    # Those of its own flock before it.
    known = tl.load(states + flock * _FLOCK + lane, mask=lane < member, other=0, volatile=True)
    while tl.min(known, axis=0) < 0:
        known = tl.load(states + flock * _FLOCK + lane, mask=lane < member, other=0, volatile=True)
    inner = tl.sum(known, axis=0)
    if member == _FLOCK - 1:
        tl.atomic_xchg(flocks + flock, (inner + takes).to(tl.int64) * 2, sem="relaxed")
    # Flocks before it, back to one whose end is known; before the first one everything has ended.
    begin = inner.to(tl.int64)
    last = flock - 1
    searching = flock > 0
    while searching:
        state = tl.load(flocks + last - lane, mask=lane <= last, other=1, volatile=True)
        # The nearest flock whose end is known or of which nothing is known; the bit below says which.
        found = tl.min(
            tl.where(state < 0, 2 * lane + 1, tl.where(state & 1 != 0, 2 * lane, 2 * _FLOCK)), axis=0
        )
        if found & 1 == 0:
            begin += tl.sum(tl.where(lane <= found // 2, state >> 1, 0), axis=0)
            last -= _FLOCK
            searching = found == 2 * _FLOCK
    if member == _FLOCK - 1:
        tl.atomic_xchg(flocks + flock, (begin + takes) * 2 + 1, sem="relaxed")
    return begin


@triton.jit
def _pack_block(
    source,
    values,
    codes,
    index,
    near,
    states,
    flocks,
    target,
    length,
    block,
    left,
    last,
    capacity,
    FULL: tl.constexpr,
    VECTOR: tl.constexpr,
    GROUPS: tl.constexpr,
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
    """One block of :func:`pack_kernel`; one that is ``FULL`` has all of its words."""
    WINDOWS: tl.constexpr = GROUPS * GROUP
    window = tl.arange(0, WINDOWS)
    place = window[:, None, None] * WINDOW + place_in_window(CHUNKS, LANES)
    inside = place < left
    if FULL:
        word = tl.load(source + place).to(tl.uint32)
    else:
        word = tl.load(source + place, mask=inside, other=0).to(tl.uint32)
    code = code_of(word, values, codes, CODE, FIELD, KEY, LOW, WORD, ROTATE, ZERO, DEFINED)
    if not FULL:
        code = tl.where(inside, code, 0)
    rank, stored = ranks(code, inside, FULL, CODE, WORD, UNIT, LANES, CHUNKS, FIELD, LOW, ZERO)
    stored += HEADER
    live = window * WINDOW < left
    if not FULL:
        stored = tl.where(live, stored, 0)
    taken = padded(stored, ALIGN)
    at = tl.cumsum(taken, axis=0) - taken
    takes = tl.sum(taken, axis=0)
    begin = _begin_of(states, flocks, block, takes)
    tl.store(index + block * (1 + GROUPS // 4), begin)
    tl.store(near + block * (GROUPS + 4) + 4 + window // GROUP, at.to(tl.int16), mask=window % GROUP == 0)
    end = begin + takes
    if last:
        tl.store(length, end * UNIT)
    if end <= capacity:
        to = target + begin
        store_codes(to, at, code, live, FULL, CODE, UNIT, CHUNKS, LANES)
        literals = to + HEADER
        rank = tl.max_contiguous(rank + at[:, None, None], [1, 1, LANES])
        size = stored_of(code, inside, FULL, CODE, WORD, UNIT, FIELD, LOW, ZERO)
        if FIELD == 0:
            tl.store(literals + rank, word.to(target.dtype.element_ty), mask=size > 0)
        else:
            turned = rotated_left(word, ROTATE, WORD)
            for byte in tl.static_range(WORD):
                tl.store(literals + byte + rank, (turned >> (8 * byte)).to(tl.uint8), mask=size > byte)
        for pad in tl.static_range(ALIGN - 1):
            tl.store(to + (at + stored + pad), 0, mask=live & (stored + pad < taken))


@triton.jit(do_not_specialize_on_alignment=["source"])
def pack_kernel(
    source,
    values,
    codes,
    index,
    near,
    states,
    flocks,
    begun,
    target,
    length,
    words,
    blocks,
    capacity,
    VECTOR: tl.constexpr,
    GROUPS: tl.constexpr,
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
    """The stream to ``target``, where blocks and groups begin to ``index``, and the bytes of all to ``length``.

    Blocks that end behind ``capacity`` stream words are not stored. ``near`` is the index as numbers of 16 bits.
    ``states`` and ``flocks`` are what blocks and flocks of them take, each -1; ``begun`` counts programs, and is 0.
    """
    WINDOWS: tl.constexpr = GROUPS * GROUP
    # Programs have their blocks in the order in which they begin, so that those which they wait for have begun.
    block = tl.atomic_add(begun, 1, sem="relaxed")
    source += block * (WINDOWS * WINDOW)
    # Loads of 32 bits: what one instruction stores of a warp then lies together.
    source = tl.multiple_of(source, VECTOR)
    left = tl.minimum(words - block * (WINDOWS * WINDOW), WINDOWS * WINDOW).to(tl.int32)
    last = block == blocks - 1
    if left == WINDOWS * WINDOW:
        _pack_block(
            source, values, codes, index, near, states, flocks, target, length, block, left, last, capacity, True,
            VECTOR, GROUPS, WORD, UNIT, WINDOW, CODE, LANES, CHUNKS, GROUP, HEADER, ALIGN,
            FIELD, KEY, LOW, ROTATE, ZERO, DEFINED,
        )  # fmt: skip
    else:
        _pack_block(
            source, values, codes, index, near, states, flocks, target, length, block, left, last, capacity, False,
            VECTOR, GROUPS, WORD, UNIT, WINDOW, CODE, LANES, CHUNKS, GROUP, HEADER, ALIGN,
            FIELD, KEY, LOW, ROTATE, ZERO, DEFINED,
        )  # fmt: skip
