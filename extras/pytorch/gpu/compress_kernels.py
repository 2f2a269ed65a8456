"""Words into a stream in one pass, and how long that stream is.

A program has a **block** of groups. Its stream begins where those of the blocks before it end. Each program says what its
own takes as soon as it knows. It adds up those of its **flock**, 64 blocks, and then whole flocks, back to one whose end is
known.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .layout import integers_of, said
from .rows import named_by, pointer, row_of
from .windows import code_of, has_part, padded, place_in_window, ranks, rotated_left, store_codes, stored_of

#: Blocks of a flock.
FLOCK = 64
_FLOCK = tl.constexpr(FLOCK)
#: In a sum of what blocks take, and of what flocks take, more than all of them: one is not known, or not as it should be.
_UNKNOWN, _WRONG = tl.constexpr(-(1 << 24)), tl.constexpr(1 << 56)


@triton.jit(do_not_specialize=["words"])
def count_kernel(
    source,
    totals,
    words,
    values,
    codes,
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
    MANY: tl.constexpr = False,
):
    """Adds to ``totals`` the literals and the stream words of every block; of ``MANY`` tensors each has a pair."""
    LITERAL: tl.constexpr = (1 << CODE) - 1
    WINDOWS: tl.constexpr = GROUPS * GROUP
    block = tl.program_id(0).to(tl.int64)
    if MANY:
        row, first, number = row_of(source, block)
        source = pointer(tl.load(row), WORD)
        words = tl.load(row + 1)
        block -= first
        totals += 2 * number
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
def _taken_before(states, member):
    """What the blocks of a flock before a member take; less than 0 as long as one has not said it."""
    lane = tl.arange(0, _FLOCK)
    known = tl.load(states + lane, mask=lane < member, other=0, volatile=True)
    return tl.sum(tl.where(known < 0, _UNKNOWN, known), axis=0)


@triton.jit
def _begin_of(states, flocks, block, takes):
    """Where a block begins that ``takes`` so many stream words; says so to those behind it.

    ``states`` has what each block takes, and ``flocks`` what each flock takes, or where it ends: twice that, and 1. All
    are less than 0 until they are known. Of several warps each loads by itself, and sees another moment: so what says that
    a sum is one must be in that sum.
    """
    tl.atomic_xchg(states + block, takes, sem="relaxed")
    flock = block // _FLOCK
    member = block % _FLOCK
    lane = tl.arange(0, _FLOCK)
    # Those of its own flock before it.
    inner = _taken_before(states + flock * _FLOCK, member)
    while inner < 0:
        inner = _taken_before(states + flock * _FLOCK, member)
    if member == _FLOCK - 1:
        tl.atomic_xchg(flocks + flock, (inner + takes).to(tl.int64) * 2, sem="relaxed")
    # Flocks before it, back to one whose end is known; before the first one everything has ended.
    begin = inner.to(tl.int64)
    last = flock - 1
    searching = flock > 0
    while searching:
        state = tl.load(flocks + last - lane, mask=lane <= last, other=1, volatile=True)
        # The nearest flock whose end is known or of which nothing is known.
        found = tl.min(tl.where(state & 1 != 0, lane, _FLOCK), axis=0)
        right = (state >= 0) & ((state & 1 != 0) == (lane == found))
        more = tl.sum(tl.where(lane <= found, tl.where(right, state >> 1, _WRONG), 0), axis=0)
        if more < _WRONG:
            begin += more
            last -= _FLOCK
            searching = found == _FLOCK
    if member == _FLOCK - 1:
        tl.atomic_xchg(flocks + flock, (begin + takes) * 2 + 1, sem="relaxed")
    return begin


@triton.jit
def _pack_block(
    source,
    wide,
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
    scale,
    found,
    KEEP: tl.constexpr,
    FULL: tl.constexpr,
    ROWS: tl.constexpr,
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
    """One block of :func:`pack_kernel`; one that is ``FULL`` has all of its words.

    It is read twice, the second time out of the cache: what it takes must be known before its place is.
    """
    WINDOWS: tl.constexpr = GROUPS * GROUP
    row = tl.arange(0, ROWS)
    place = row[:, None, None] * WINDOW + place_in_window(CHUNKS, LANES)
    total = tl.zeros([ROWS, CHUNKS, LANES], tl.int32)
    takes = tl.zeros([ROWS], tl.int32)
    if found is not None:
        largest = tl.zeros([ROWS, CHUNKS, LANES], tl.int32)
        error = tl.zeros([ROWS, CHUNKS, LANES], tl.float32)
        squares = tl.zeros([ROWS, CHUNKS, LANES], tl.float32)
        numbers = tl.zeros([ROWS, CHUNKS, LANES], tl.float32)
    for step in tl.range(0, WINDOWS // ROWS):
        within = left - step * (ROWS * WINDOW)
        inside = place < within
        if FULL:
            word = tl.load(wide + step * (ROWS * WINDOW) + place)
        else:
            word = tl.load(wide + step * (ROWS * WINDOW) + place, mask=inside, other=0)
        if found is not None:
            word, scaled, missed = integers_of(word, scale, KEEP)
            largest = tl.maximum(largest, scaled.to(tl.int32, bitcast=True) & 0x7FFFFFFF)
            error = tl.maximum(error, tl.abs(missed))
            squares += missed * missed
            numbers += scaled * scaled
        word = word.to(tl.uint32)
        code = code_of(word, values, codes, CODE, FIELD, KEY, LOW, WORD, ROTATE, ZERO, DEFINED)
        if not FULL:
            code = tl.where(inside, code, 0)
        size = stored_of(code, inside, FULL, CODE, WORD, UNIT, FIELD, LOW, ZERO)
        header = tl.where(row * WINDOW < within, HEADER, 0)
        if ALIGN == 1:
            # What is stored is added up once for all windows.
            total += size
            takes += header
        else:
            takes += padded(header + tl.sum(tl.sum(size, axis=2), axis=1), ALIGN)
    if ALIGN == 1:
        takes += tl.sum(tl.sum(total, axis=2), axis=1)
    if found is not None:
        said(found, largest, error, squares, numbers)
    taken = tl.sum(takes, axis=0)
    begin = _begin_of(states, flocks, block, taken)
    tl.store(index + block * (1 + GROUPS // 4), begin)
    if last:
        tl.store(length, (begin + taken) * UNIT)
    # What has no room is not stored.
    steps = tl.where(begin + taken <= capacity, WINDOWS // ROWS, 0)
    to = target + begin
    behind = 0
    for step in tl.range(0, steps):
        within = left - step * (ROWS * WINDOW)
        inside = place < within
        if FULL:
            word = tl.load(source + step * (ROWS * WINDOW) + place)
        else:
            word = tl.load(source + step * (ROWS * WINDOW) + place, mask=inside, other=0)
        if found is not None:
            word, _, _ = integers_of(word, scale, KEEP)
        word = word.to(tl.uint32)
        code = code_of(word, values, codes, CODE, FIELD, KEY, LOW, WORD, ROTATE, ZERO, DEFINED)
        if not FULL:
            code = tl.where(inside, code, 0)
        rank, stored = ranks(code, inside, FULL, CODE, WORD, UNIT, LANES, CHUNKS, FIELD, LOW, ZERO)
        stored += HEADER
        live = row * WINDOW < within
        if not FULL:
            stored = tl.where(live, stored, 0)
        length_of = padded(stored, ALIGN)
        at = behind + tl.cumsum(length_of, axis=0) - length_of
        behind += tl.sum(length_of, axis=0)
        window = step * ROWS + row
        tl.store(near + block * (GROUPS + 4) + 4 + window // GROUP, at.to(tl.int16), mask=window % GROUP == 0)
        store_codes(to, at, code, live, FULL, CODE, UNIT, CHUNKS, LANES)
        rank = tl.max_contiguous(rank + (at + HEADER)[:, None, None], [1, 1, LANES])
        if FIELD == 0:
            has = has_part(code, inside, 0, FULL, CODE, FIELD, LOW, ZERO)
            tl.store(to + rank, word.to(target.dtype.element_ty), mask=has)
        else:
            turned = rotated_left(word, ROTATE, WORD)
            for byte in tl.static_range(WORD):
                has = has_part(code, inside, byte, FULL, CODE, FIELD, LOW, ZERO)
                tl.store(to + byte + rank, (turned >> (8 * byte)).to(tl.uint8), mask=has)
        for pad in tl.static_range(ALIGN - 1):
            tl.store(to + (at + stored + pad), 0, mask=live & (stored + pad < length_of))


@triton.jit(do_not_specialize=["words", "capacity"], do_not_specialize_on_alignment=["source"])
def pack_kernel(
    source,
    index,
    waits,
    target,
    length,
    words,
    capacity,
    values,
    codes,
    ROWS: tl.constexpr,
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
    MANY: tl.constexpr = False,
    scale=None,
    found=None,
    KEEP: tl.constexpr = False,
):
    """The stream to ``target``, where blocks and groups begin to ``index``, and the bytes of all to ``length``.

    Blocks that end behind ``capacity`` stream words are not stored. ``waits`` are a number that counts programs, what flocks
    take, and in half of the bits what blocks take: all are -1 at first. Of ``MANY`` tensors ``source`` is the table, which
    says the rest. Where something is to be ``found``, ``source`` has numbers, and words are the integers of their steps.
    """
    WINDOWS: tl.constexpr = GROUPS * GROUP
    # Programs have their blocks in the order in which they begin, so that those which they wait for have begun.
    block = tl.atomic_add(waits, 1, sem="relaxed") + 1
    blocks = tl.num_programs(0)
    flocks = waits + 1
    states = (flocks + (blocks + _FLOCK - 1) // _FLOCK).to(tl.pointer_type(tl.int32))
    if MANY:
        row, first, _ = row_of(source, block)
        source, words, target, capacity, index, length = named_by(row, WORD, UNIT)
        blocks = tl.load(row + 2).to(tl.int32)
        # A tensor has flocks of its own. What a flock takes is said if it is full, so no tensor needs more than that.
        states += first
        flocks += first // _FLOCK
        block -= first
    near = index.to(tl.pointer_type(tl.int16))
    target = pointer(target, UNIT)
    # One word to a lane, so that what is stored lies together, or is looked up; and 16 bytes where neither is.
    wide = source + block * (WINDOWS * WINDOW)
    if CODE == 1:
        wide = tl.multiple_of(source + block * (WINDOWS * WINDOW), 16)
    source += block * (WINDOWS * WINDOW)
    left = tl.minimum(words - block * (WINDOWS * WINDOW), WINDOWS * WINDOW).to(tl.int32)
    last = block == blocks - 1
    if left == WINDOWS * WINDOW:
        _pack_block(
            source, wide, values, codes, index, near, states, flocks, target, length, block, left, last, capacity,
            scale, found, KEEP, True, ROWS, GROUPS, WORD, UNIT, WINDOW, CODE, LANES, CHUNKS, GROUP, HEADER, ALIGN,
            FIELD, KEY, LOW, ROTATE, ZERO, DEFINED,
        )  # fmt: skip
    else:
        _pack_block(
            source, wide, values, codes, index, near, states, flocks, target, length, block, left, last, capacity,
            scale, found, KEEP, False, ROWS, GROUPS, WORD, UNIT, WINDOW, CODE, LANES, CHUNKS, GROUP, HEADER, ALIGN,
            FIELD, KEY, LOW, ROTATE, ZERO, DEFINED,
        )  # fmt: skip
