"""The chain of headers of a stream, followed in all of its segments at once.

A window that begins in a segment ends in it or less than the longest window behind it. So a segment is a small function:
from where the chain enters it, counted from its begin, to where the chain enters the next one, and the windows on the
way. A value of such a function is one 64-bit number, the windows above the entry; where the chain breaks off, because
the stream ends in a header, the entry is ``DEAD``.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .windows import padded

__all__ = ["compose_kernel", "enter_kernel", "mark_kernel", "segment_kernel"]

#: Bits of an entry, and the entry of a chain that has broken off.
_ENTRY = tl.constexpr(12)
_DEAD = tl.constexpr(4095)


@triton.jit
def _ones(bits):
    """How many bits of 32 are 1."""
    bits = bits - ((bits >> 1) & 0x55555555)
    bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F
    return ((bits * 0x01010101) >> 24).to(tl.int32)


@triton.jit
def _piece_of(
    header, fits, FIRST: tl.constexpr, OFFSET: tl.constexpr, PIECE: tl.constexpr, BITS: tl.constexpr
):
    """The ``PIECE`` bits of each header from bit ``OFFSET`` of its stream word ``FIRST`` on; others may follow them."""
    bits = tl.load(header + FIRST, mask=fits, other=0).to(tl.uint32) >> OFFSET
    for unit in tl.static_range(1, (OFFSET + PIECE + BITS - 1) // BITS):
        more = tl.load(header + (FIRST + unit), mask=fits, other=0).to(tl.uint32)
        bits |= more << (unit * BITS - OFFSET)
    return bits


@triton.jit
def _length_at(
    header,
    fits,
    WORD: tl.constexpr,
    UNIT: tl.constexpr,
    WINDOW: tl.constexpr,
    CODE: tl.constexpr,
    HEADER: tl.constexpr,
    ALIGN: tl.constexpr,
    FIELD: tl.constexpr,
    LOW: tl.constexpr,
    ZERO: tl.constexpr,
):
    """The stream words of a whole window, for each header that fits."""
    BITS: tl.constexpr = 8 * UNIT
    # Eight codes of three bits need not begin with a stream word; other codes lie in one.
    PIECE: tl.constexpr = 24 if CODE == 3 else BITS
    MASK: tl.constexpr = ((1 << PIECE) - 1) // ((1 << CODE) - 1)
    full = tl.zeros(header.shape, tl.int32)
    some = tl.zeros(header.shape, tl.int32)
    for piece in tl.static_range(WINDOW * CODE // PIECE):
        bits = _piece_of(header, fits, piece * PIECE // BITS, piece * PIECE % BITS, PIECE, BITS)
        both, either = bits, bits
        for shift in tl.static_range(1, CODE):
            both = both & (bits >> shift)
            either = either | (bits >> shift)
        full += _ones(both & MASK)
        if FIELD and ZERO:
            some += _ones(either & MASK)
    if FIELD == 0:
        length = HEADER + full
    else:
        if not ZERO:
            some += WINDOW
        length = HEADER + some * (LOW // UNIT) + full * (WORD // UNIT - LOW // UNIT)
    return padded(length, ALIGN)


@triton.jit
def segment_kernel(
    stream,
    length,
    capacity,
    functions,
    LONGEST: tl.constexpr,
    ENTRIES: tl.constexpr,
    SEGMENT: tl.constexpr,
    WORD: tl.constexpr,
    UNIT: tl.constexpr,
    WINDOW: tl.constexpr,
    CODE: tl.constexpr,
    HEADER: tl.constexpr,
    ALIGN: tl.constexpr,
    FIELD: tl.constexpr,
    LOW: tl.constexpr,
    ZERO: tl.constexpr,
):
    """The function of every segment: chains from all of its first positions, a lane for each, to the segment's end."""
    size = tl.minimum(tl.load(length) // UNIT, capacity)
    segment = tl.program_id(0).to(tl.int64)
    entry = tl.arange(0, ENTRIES)
    end = (segment + 1) * SEGMENT
    at = segment * SEGMENT + entry
    windows = tl.zeros([ENTRIES], tl.int64)
    going = (entry < LONGEST) & (at <= size - HEADER) & (at < end)
    while tl.max(going.to(tl.int32), axis=0) > 0:
        step = _length_at(stream + at, going, WORD, UNIT, WINDOW, CODE, HEADER, ALIGN, FIELD, LOW, ZERO)
        at = tl.where(going, at + step, at)
        windows += going.to(tl.int64)
        going = going & (at <= size - HEADER) & (at < end)
    leaves = tl.where((entry < LONGEST) & (at >= end), at - end, _DEAD)
    tl.store(functions + segment * ENTRIES + entry, windows << _ENTRY | leaves)


@triton.jit
def compose_kernel(functions, composed, count, FAN: tl.constexpr, ENTRIES: tl.constexpr):
    """The functions of ``FAN`` neighbours at a time as one."""
    part = tl.program_id(0).to(tl.int64)
    entry = tl.arange(0, ENTRIES)
    at = entry.to(tl.int64)
    windows = tl.zeros([ENTRIES], tl.int64)
    for neighbour in range(FAN):
        function = part * FAN + neighbour + tl.zeros_like(at)
        going = (at != _DEAD) & (function < count)
        value = tl.load(functions + function * ENTRIES + at, mask=going, other=0)
        windows += value >> _ENTRY
        at = tl.where(going, value & _DEAD, at)
    tl.store(composed + part * ENTRIES + entry, windows << _ENTRY | at)


@triton.jit
def enter_kernel(functions, entered, entries, count, FAN: tl.constexpr, ENTRIES: tl.constexpr):
    """Where the chain enters each of ``FAN`` neighbours, and after how many windows, from where it ``entered`` their
    composition."""
    part = tl.program_id(0).to(tl.int64)
    value = tl.load(entered + part)
    for neighbour in range(FAN):
        function = part * FAN + neighbour
        tl.store(entries + function, value, mask=function < count)
        at = value & _DEAD
        step = tl.load(
            functions + function * ENTRIES + at, mask=(function < count) & (at != _DEAD), other=_DEAD
        )
        value = ((value >> _ENTRY) + (step >> _ENTRY)) << _ENTRY | (step & _DEAD)


@triton.jit
def mark_kernel(
    stream,
    length,
    capacity,
    entries,
    begins,
    segments,
    total,
    SEGMENT: tl.constexpr,
    LANES: tl.constexpr,
    GROUP: tl.constexpr,
    WORD: tl.constexpr,
    UNIT: tl.constexpr,
    WINDOW: tl.constexpr,
    CODE: tl.constexpr,
    HEADER: tl.constexpr,
    ALIGN: tl.constexpr,
    FIELD: tl.constexpr,
    LOW: tl.constexpr,
    ZERO: tl.constexpr,
):
    """Follows the chain through a segment in each lane, and stores where the groups of the ``total`` windows begin."""
    size = tl.minimum(tl.load(length) // UNIT, capacity)
    segment = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    value = tl.load(entries + segment, mask=segment < segments, other=_DEAD)
    at = segment * SEGMENT + (value & _DEAD)
    end = (segment + 1) * SEGMENT
    window = value >> _ENTRY
    going = ((value & _DEAD) != _DEAD) & (at < end) & (at <= size - HEADER) & (window < total)
    while tl.max(going.to(tl.int32), axis=0) > 0:
        tl.store(begins + window // GROUP, at, mask=going & (window % GROUP == 0))
        step = _length_at(stream + at, going, WORD, UNIT, WINDOW, CODE, HEADER, ALIGN, FIELD, LOW, ZERO)
        at = tl.where(going, at + step, at)
        window += going.to(tl.int64)
        going = going & (at < end) & (at <= size - HEADER) & (window < total)
