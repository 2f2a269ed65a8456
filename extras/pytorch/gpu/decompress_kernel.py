"""A stream with its index into words, and whether it is one: no stream and no index makes it read or write elsewhere."""

from __future__ import annotations

import triton
import triton.language as tl

from .integers import numbers_of
from .rows import named_by, pointer, row_of
from .windows import load_codes, padded, place_in_window, ranks, rotated_left, stored_after, stored_of

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
def _unpack_block(
    source,
    begin,
    after,
    room,
    right,
    values,
    behind,
    target,
    fault,
    left,
    scale,
    FULL: tl.constexpr,
    ROWS: tl.constexpr,
    GROUPS: tl.constexpr,
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
    """One block of :func:`unpack_kernel`; one that is ``FULL`` has all of its words. Places are counted from its begin."""
    LITERAL: tl.constexpr = (1 << CODE) - 1
    WINDOWS: tl.constexpr = GROUPS * GROUP
    # The chain of headers in every group, a lane for each. Where windows begin goes by way of memory, so that lanes have
    # windows afterwards, and nothing of the chain is computed in several of them.
    lane = tl.arange(0, GROUPS)
    at = begin
    for step in tl.range(0, GROUP, loop_unroll_factor=UNROLL):
        if FULL:
            fits = right & (at + HEADER <= room)
            right = fits
            stored = stored_after(source, at, fits, WORD, UNIT, WINDOW, CODE, FIELD, LOW, ZERO)
            ended = at + HEADER + stored
        else:
            limit = tl.minimum(left - (lane * GROUP + step) * WINDOW, WINDOW)
            live = limit > 0
            right = right & ((limit <= 0) | (at + HEADER <= room))
            stored = stored_after(source, at, right & live, WORD, UNIT, WINDOW, CODE, FIELD, LOW, ZERO)
            if FIELD and ZERO == 0:
                # Of the places past the end of the packet, which have code 0, nothing is stored.
                stored -= (WINDOW - limit) * (LOW // UNIT)
            ended = at + tl.where(live, HEADER + stored, 0)
        ahead = at + padded(ended - at, ALIGN)
        right = right & (ahead <= room)
        for pad in tl.static_range(ALIGN - 1):
            read = right & (ended + pad < ahead)
            right = right & (tl.load(source + (ended + pad), mask=read, other=0) == 0)
        place = behind + (lane * GROUP + step)
        if FULL:
            tl.store(place, tl.where(right, at, -1).to(tl.int16))
        else:
            tl.store(place, tl.where(right, at, -1).to(tl.int16), mask=live)
        at = ahead
    right = right & (after == at)
    tl.store(fault, 1, mask=tl.min(right.to(tl.int32), axis=0) == 0)

    tl.debug_barrier()

    # The windows, so many at a time.
    row = tl.arange(0, ROWS)
    place = row[:, None, None] * WINDOW + place_in_window(CHUNKS, LANES)
    for step in tl.range(0, WINDOWS // ROWS):
        within = left - step * (ROWS * WINDOW)
        if FULL:
            header = tl.load(behind + step * ROWS + row).to(tl.int32)
        else:
            header = tl.load(behind + step * ROWS + row, mask=row * WINDOW < within, other=-1).to(tl.int32)
        readable = header >= 0
        inside = (place < within) & readable[:, None, None]
        code = load_codes(source, header, readable, CODE, UNIT, CHUNKS, LANES)
        if not FULL:
            _report(fault, (place >= within) & (code != 0))
            code = tl.where(inside, code, 0)
        if DEFINED < LITERAL:
            _report(fault, (code >= DEFINED) & (code != LITERAL))
        rank, _ = ranks(code, inside, FULL, CODE, WORD, UNIT, LANES, CHUNKS, FIELD, LOW, ZERO)
        stored = stored_of(code, inside, FULL, CODE, WORD, UNIT, FIELD, LOW, ZERO)
        if FIELD and ZERO == 0:
            stored = tl.where(readable[:, None, None], stored, 0)
        rank = tl.max_contiguous(rank + (header + HEADER)[:, None, None], [1, 1, LANES])
        if CODE == 1 and FIELD == 0:
            base = tl.load(values)
        else:
            base = tl.load(tl.max_contiguous(values + code, [1, 1, LANES]))
        if FIELD == 0:
            word = tl.load(source + rank, mask=stored > 0, other=0).to(tl.uint32)
            word = tl.where(code == LITERAL, word, base)
        else:
            turned = tl.where(code == LITERAL, 0, base << (8 * LOW))
            for byte in tl.static_range(WORD):
                part = tl.load(source + byte + rank, mask=stored > byte, other=0)
                turned |= part.to(tl.uint32) << (8 * byte)
            word = rotated_left(turned, (8 * WORD - ROTATE) % (8 * WORD), WORD)
            if ZERO:
                word = tl.where(code == 0, 0, word)
        made = word if scale is None else numbers_of(word, scale)
        made = made.to(target.dtype.element_ty)
        if FULL:
            tl.store(target + step * (ROWS * WINDOW) + place, made)
        else:
            tl.store(target + step * (ROWS * WINDOW) + place, made, mask=inside)


@triton.jit(do_not_specialize=["words", "capacity"], do_not_specialize_on_alignment=["target"])
def unpack_kernel(
    stream,
    index,
    length,
    behind,
    target,
    fault,
    words,
    capacity,
    values,
    ROWS: tl.constexpr,
    GROUPS: tl.constexpr,
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
    MANY: tl.constexpr = False,
    TOGETHER: tl.constexpr = False,
    scale=None,
):
    """The words to ``target``; ``fault`` becomes 1 unless stream and index are right to the last bit.

    ``behind`` is memory for a number of 16 bits a window, ``length`` holds the bytes of the stream and ``capacity`` is the
    stream words of the buffer. Every group must begin at 0 or where the one before it ends, and the last one must end where
    the stream does: so the groups are right together, whatever the index holds.
    Of ``MANY`` tensors ``stream`` is the table, which says the rest, and each has a ``fault``, or all have one ``TOGETHER``.
    With a ``scale`` words are integers, and ``target`` has numbers that are so many times as much.
    """
    # More stream words than any block has: places in a block are numbers of 16 bits.
    FAR: tl.constexpr = 1 << 15
    WINDOWS: tl.constexpr = GROUPS * GROUP
    block = tl.program_id(0).to(tl.int64)
    behind += block * WINDOWS
    if MANY:
        row, first, number = row_of(stream, block)
        stream, words, target, capacity, index, length = named_by(row, UNIT, WORD)
        if not TOGETHER:
            fault += number
        block -= first
    groups = (words.to(tl.int64) + (GROUP * WINDOW - 1)) // (GROUP * WINDOW)
    near = index.to(tl.pointer_type(tl.int16))
    octets = tl.load(length)
    size = octets // UNIT
    # Nothing fits a stream that is not whole.
    size = tl.where((octets % UNIT == 0) & (size <= capacity), size, -1)
    group = block * GROUPS + tl.arange(0, GROUPS)
    # A place to count from, which is in the stream, whatever the index holds.
    base = tl.minimum(tl.maximum(tl.load(index + block * (1 + GROUPS // 4)), 0), tl.maximum(size, 0))
    begin = _begin_of(index, near, group, groups, size, GROUPS)
    after = _begin_of(index, near, group + 1, groups, size, GROUPS)
    right = (begin >= base) & (begin <= size) & (begin < base + FAR) & ((group > 0) | (begin == 0))
    begin = tl.where(right, begin - base, 0).to(tl.int32)
    after = tl.where((after >= base) & (after < base + 2 * FAR), after - base, -1).to(tl.int32)
    room = tl.minimum(size - base, FAR - 1).to(tl.int32)
    left = tl.minimum(words - block * (WINDOWS * WINDOW), WINDOWS * WINDOW).to(tl.int32)
    source = pointer(stream, UNIT) + base
    target += block * (WINDOWS * WINDOW)
    if left == WINDOWS * WINDOW:
        _unpack_block(
            source, begin, after, room, right, values, behind, target, fault, left, scale, True,
            ROWS, GROUPS, UNROLL, WORD, UNIT, WINDOW, CODE, LANES, CHUNKS, GROUP, HEADER, ALIGN,
            FIELD, KEY, LOW, ROTATE, ZERO, DEFINED,
        )  # fmt: skip
    else:
        _unpack_block(
            source, begin, after, room, right, values, behind, target, fault, left, scale, False,
            ROWS, GROUPS, UNROLL, WORD, UNIT, WINDOW, CODE, LANES, CHUNKS, GROUP, HEADER, ALIGN,
            FIELD, KEY, LOW, ROTATE, ZERO, DEFINED,
        )  # fmt: skip
