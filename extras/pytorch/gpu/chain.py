"""The index of a stream that came without one.

The chain of headers of a stream, followed in all of its segments at once.

A window that begins in a segment ends in it or less than the longest window behind it. So a segment is a small function:
from where the chain enters it, counted from its begin, to where the chain enters the next one, and the windows on the
way. A value of such a function is one 64-bit number, the windows above the entry; where the chain breaks off, because
the stream ends in a header, the entry is ``DEAD``.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from cdma.hdl.spec.format import Format

from .layout import GROUPS, INDEX_COLUMNS, block_count, shape_of
from .windows import padded, stored_after

#: Bits of an entry, and the entry of a chain that has broken off.
_ENTRY = tl.constexpr(12)
_DEAD = tl.constexpr(4095)


@triton.jit
def after_window(stream, at, going, SHAPE: tl.constexpr):
    """Where the chains that are going have their next header."""
    stored = stored_after(stream, at, going, SHAPE)
    return tl.where(going, at + padded(SHAPE.HEADER + stored, SHAPE.ALIGN), at)


@triton.jit
def segment_kernel(
    stream, length, capacity, functions, LONGEST: tl.constexpr, ENTRIES: tl.constexpr, SEGMENT: tl.constexpr,
    SHAPE: tl.constexpr,
):  # fmt: skip
    """The function of every segment: chains from all of its first positions, a lane for each, to the segment's end."""
    size = tl.minimum(tl.load(length) // SHAPE.UNIT, capacity)
    segment = tl.program_id(0).to(tl.int64)
    entry = tl.arange(0, ENTRIES)
    end = (segment + 1) * SEGMENT
    at = segment * SEGMENT + entry
    windows = tl.zeros([ENTRIES], tl.int64)
    going = (entry < LONGEST) & (at <= size - SHAPE.HEADER) & (at < end)
    while tl.max(going.to(tl.int32), axis=0) > 0:
        at = after_window(stream, at, going, SHAPE)
        windows += going.to(tl.int64)
        going = going & (at <= size - SHAPE.HEADER) & (at < end)
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
    stream, length, capacity, entries, begins, segments, total, SEGMENT: tl.constexpr, LANES: tl.constexpr,
    SHAPE: tl.constexpr,
):  # fmt: skip
    """Follows the chain through a segment in each lane, and stores where the groups of the ``total`` windows begin."""
    size = tl.minimum(tl.load(length) // SHAPE.UNIT, capacity)
    segment = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    value = tl.load(entries + segment, mask=segment < segments, other=_DEAD)
    at = segment * SEGMENT + (value & _DEAD)
    end = (segment + 1) * SEGMENT
    window = value >> _ENTRY
    going = ((value & _DEAD) != _DEAD) & (at < end) & (at <= size - SHAPE.HEADER) & (window < total)
    while tl.max(going.to(tl.int32), axis=0) > 0:
        tl.store(begins + window // SHAPE.GROUP, at, mask=going & (window % SHAPE.GROUP == 0))
        at = after_window(stream, at, going, SHAPE)
        window += going.to(tl.int64)
        going = going & (at < end) & (at <= size - SHAPE.HEADER) & (window < total)


#: Functions that one program composes, and segments of a program that follows the chain.
_FAN, _LANES = 64, 32
#: Positions of a segment for each one that the chain may enter it at, which bounds the memory for functions.
_SHARE = 128


def found_index(stream: Tensor, length: Tensor, words: int, format: Format) -> Tensor:
    """The index of the stream in the first ``length`` bytes of a buffer; of what is no stream, any index."""
    longest = format.bound(format.window)
    lanes = 1 << (longest - 1).bit_length()
    segment = _SHARE * lanes
    shape = shape_of(format)
    segments = -(-stream.numel() // segment)
    begins = torch.full((block_count(words, format) * GROUPS,), -1, dtype=torch.int64, device=stream.device)

    warps = min(4, max(1, lanes // 32))
    levels = [begins.new_empty(segments * lanes)]
    segment_kernel[(segments,)](
        stream, length, stream.numel(), levels[0], SHAPE=shape, LONGEST=longest, ENTRIES=lanes, SEGMENT=segment,
        num_warps=warps,
    )  # fmt: skip
    counts = [segments]
    while counts[-1] > _FAN:
        counts.append(-(-counts[-1] // _FAN))
        levels.append(begins.new_empty(counts[-1] * lanes))
        compose_kernel[(counts[-1],)](
            levels[-2], levels[-1], counts[-2], FAN=_FAN, ENTRIES=lanes, num_warps=warps
        )
    entered = begins.new_zeros(1)
    for functions, count in zip(reversed(levels), reversed(counts), strict=True):
        entries = begins.new_empty(count)
        enter_kernel[(-(-count // _FAN),)](
            functions, entered, entries, count, FAN=_FAN, ENTRIES=lanes, num_warps=1
        )
        entered = entries
    mark_kernel[(-(-segments // _LANES),)](
        stream, length, stream.numel(), entered, begins, segments, -(-words // format.window), SHAPE=shape,
        SEGMENT=segment, LANES=_LANES, num_warps=1,
    )  # fmt: skip
    rows = begins.view(-1, GROUPS)
    index = begins.new_empty((len(rows), INDEX_COLUMNS))
    index[:, 0] = rows[:, 0]
    index.view(torch.int16)[:, 4:] = rows - rows[:, :1]
    return index
