"""Two levels on a GPU: groups of windows behind masks, those of windows that are XORed with a base among them.

Compressing measures every window first; sums of what windows take say where each of them goes. Decompressing finds where
groups begin: from every position there is a jump over the group that would begin there, and jumps over two groups, four and
so on are made of these.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from cdma.hdl.spec.format import Format

from .chain import after_window
from .decoder import expanded
from .layout import GROUPS, UNSIGNED, block_count, code_tables, shape_of
from .plans import arguments
from .windows import (
    code_of,
    ones,
    padded,
    place_in_group,
    pointer,
    ranks,
    store_windows,
    stored_after,
    stored_of,
)


@triton.jit
def _loaded(source, base, place, inside):
    """The words of a tile, XORed with those of a base, if there is one."""
    word = tl.load(source + place, mask=inside, other=0)
    if base is not None:
        word = word ^ tl.load(base + place, mask=inside, other=0)
    return word.to(tl.uint32)


@triton.jit(do_not_specialize=["words"])
def measure_kernel(source, base, sizes, words, values, codes, GROUPS: tl.constexpr, SHAPE: tl.constexpr):
    """The stream words of every window to ``sizes``: 0 if it is absent."""
    STEP: tl.constexpr = SHAPE.GROUP * SHAPE.WINDOW
    block = tl.program_id(0).to(tl.int64)
    source += block * (GROUPS * STEP)
    if base is not None:
        base += block * (GROUPS * STEP)
    sizes += block * (GROUPS * SHAPE.GROUP)
    left = tl.minimum(words - block * (GROUPS * STEP), GROUPS * STEP).to(tl.int32)
    place = place_in_group(SHAPE)
    window = tl.arange(0, SHAPE.GROUP)
    for begin in tl.range(0, left, STEP):
        inside = place < left - begin
        word = _loaded(source, base, begin + place, inside)
        code = tl.where(inside, code_of(word, values, codes, SHAPE), 0)
        stored = tl.sum(tl.sum(stored_of(code, inside, False, SHAPE), axis=2), axis=1)
        present = tl.max(tl.max(code.to(tl.int32), axis=2), axis=1) > 0
        takes = tl.where(present, padded(SHAPE.HEADER + stored, SHAPE.ALIGN), 0)
        live = window * SHAPE.WINDOW < left - begin
        tl.store(sizes + begin // SHAPE.WINDOW + window, takes.to(tl.int16), mask=live)


@triton.jit(do_not_specialize=["words"])
def store_kernel(
    source, base, begins, target, words, values, codes,
    GROUPS: tl.constexpr, MASK: tl.constexpr, WINDOWS: tl.constexpr, SHAPE: tl.constexpr,
):  # fmt: skip
    """The windows that are present to ``target``. ``begins`` says where each begins without masks; others are not read."""
    STEP: tl.constexpr = SHAPE.GROUP * SHAPE.WINDOW
    first = tl.program_id(0).to(tl.int64) * (GROUPS * SHAPE.GROUP)
    source += first * SHAPE.WINDOW
    if base is not None:
        base += first * SHAPE.WINDOW
    left = tl.minimum(words - first * SHAPE.WINDOW, GROUPS * STEP).to(tl.int32)
    lead = tl.load(begins + first) + (first // WINDOWS + 1) * MASK
    to = pointer(target, SHAPE.UNIT) + lead
    place = place_in_group(SHAPE)
    window = tl.arange(0, SHAPE.GROUP)
    for begin in tl.range(0, left, STEP):
        number = first + (begin // SHAPE.WINDOW + window)
        live = window * SHAPE.WINDOW < left - begin
        here = tl.load(begins + number, mask=live, other=0)
        present = tl.load(begins + number + 1, mask=live, other=0) > here
        inside = (place < left - begin) & present[:, None, None]
        word = _loaded(source, base, begin + place, inside)
        code = tl.where(inside, code_of(word, values, codes, SHAPE), 0)
        size = stored_of(code, inside, False, SHAPE)
        rank, stored = ranks(size, tl.sum(size, axis=2))
        stored += SHAPE.HEADER
        at = (here + (number // WINDOWS + 1) * MASK - lead).to(tl.int32)
        store_windows(
            to, at, word, code, rank, stored, padded(stored, SHAPE.ALIGN), inside, present, False, SHAPE
        )


@triton.jit(do_not_specialize=["windows", "groups"])
def mask_kernel(
    begins, target, windows, groups,
    MASK: tl.constexpr, UNITS: tl.constexpr, WINDOWS: tl.constexpr, LANES: tl.constexpr, SHAPE: tl.constexpr,
):  # fmt: skip
    """The masks of groups to ``target``, with their padding."""
    BITS: tl.constexpr = 8 * SHAPE.UNIT
    group = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    unit = tl.arange(0, UNITS)[None, :]
    bit = tl.arange(0, BITS)[None, None, :]
    window = (group[:, None] * WINDOWS + unit * BITS)[:, :, None] + bit
    here = window < windows
    begin = tl.load(begins + window, mask=here, other=0)
    present = tl.load(begins + window + 1, mask=here, other=0) > begin
    mask = tl.sum(present.to(tl.uint32) << bit.to(tl.uint32), axis=2)
    live = group < groups
    at = tl.load(begins + group * WINDOWS, mask=live, other=0) + group * MASK
    to = pointer(target, SHAPE.UNIT) + at
    tl.store(to[:, None] + unit, mask.to(to.dtype.element_ty), mask=live[:, None])
    for pad in tl.static_range(MASK - UNITS):
        tl.store(to + (UNITS + pad), 0, mask=live)


@triton.jit(do_not_specialize=["begin", "count", "size", "dead"])
def jump_kernel(
    stream, jumps, begin, count, size, dead,
    MASK: tl.constexpr, UNITS: tl.constexpr, LANES: tl.constexpr, SHAPE: tl.constexpr,
):  # fmt: skip
    """Where a group ends that begins at each of ``count`` positions from ``begin`` on, from where all are counted;
    behind the stream, or ``dead``, if the stream ends in it."""
    place = tl.program_id(0) * LANES + tl.arange(0, LANES)
    at = begin + place.to(tl.int64)
    right = (place < count) & (at + MASK <= size)
    left = tl.zeros([LANES], tl.int32)
    for unit in tl.static_range(UNITS):
        left += ones(tl.load(stream + at + unit, mask=right, other=0).to(tl.uint32))
    at += MASK
    going = right & (left > 0)
    while tl.max(going.to(tl.int32), axis=0) > 0:
        right = right & ((~going) | (at + SHAPE.HEADER <= size))
        at = after_window(stream, at, going & right, SHAPE)
        left -= 1
        going = right & (left > 0)
    tl.store(jumps + place, tl.where(right, at - begin, dead).to(tl.int32), mask=place < count)


@triton.jit(do_not_specialize=["windows", "groups"])
def walk_kernel(
    stream, begins, headers, fault, windows, groups,
    MASK: tl.constexpr, UNITS: tl.constexpr, WINDOWS: tl.constexpr, LANES: tl.constexpr, SHAPE: tl.constexpr,
):  # fmt: skip
    """How far behind the begin of its group each header is, 0 for windows that are absent; a lane has a group.

    All that jumps have passed is in the stream. ``fault`` becomes 1 if masks have bits past the end, or padding is not zero.
    """
    BITS: tl.constexpr = 8 * SHAPE.UNIT
    PADS: tl.constexpr = SHAPE.ALIGN - 1
    group = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    live = group < groups
    begin = tl.load(begins + group, mask=live, other=0)
    right = tl.full([LANES], 1, tl.int1)
    for pad in tl.static_range(MASK - UNITS):
        right = right & (tl.load(stream + begin + (UNITS + pad), mask=live, other=0) == 0)
    at = begin + MASK
    for window in tl.range(0, WINDOWS, loop_unroll_factor=1):
        mask = tl.load(stream + begin + window // BITS, mask=live, other=0).to(tl.uint32)
        present = ((mask >> (window % BITS)) & 1) != 0
        here = live & (group * WINDOWS + window < windows)
        right = right & (here | (~present))
        header = tl.where(present, at - begin, 0).to(tl.int16)
        tl.store(headers + group * WINDOWS + window, header, mask=here)
        ended = at + (SHAPE.HEADER + stored_after(stream, at, present, SHAPE))
        ahead = at + padded(ended - at, SHAPE.ALIGN)
        for pad in tl.static_range(PADS):
            read = present & (ended + pad < ahead)
            right = right & (tl.load(stream + (ended + pad), mask=read, other=0) == 0)
        at = tl.where(present, ahead, at)
    tl.store(fault, 1, mask=tl.min(right.to(tl.int32), axis=0) == 0)


@triton.jit(do_not_specialize=["words"])
def expand_kernel(
    stream, begins, headers, base, target, fault, words, values,
    GROUPS: tl.constexpr, WINDOWS: tl.constexpr, SHAPE: tl.constexpr,
):  # fmt: skip
    """The words to ``target``, XORed with those of a base, which may be there; ``fault`` as of :func:`.expanded`."""
    STEP: tl.constexpr = SHAPE.GROUP * SHAPE.WINDOW
    first = tl.program_id(0).to(tl.int64) * (GROUPS * SHAPE.GROUP)
    target += first * SHAPE.WINDOW
    if base is not None:
        base += first * SHAPE.WINDOW
    left = tl.minimum(words - first * SHAPE.WINDOW, GROUPS * STEP).to(tl.int32)
    lead = tl.load(begins + first // WINDOWS)
    source = pointer(stream, SHAPE.UNIT) + lead
    place = place_in_group(SHAPE)
    window = tl.arange(0, SHAPE.GROUP)
    for begin in tl.range(0, left, STEP):
        number = first + (begin // SHAPE.WINDOW + window)
        live = window * SHAPE.WINDOW < left - begin
        header = tl.load(headers + number, mask=live, other=0).to(tl.int32)
        present = header > 0
        header += (tl.load(begins + number // WINDOWS, mask=live, other=0) - lead).to(tl.int32)
        word, _ = expanded(source, header, present, values, fault, place, left - begin, False, SHAPE)
        inside = place < left - begin
        if base is not None:
            word = word ^ tl.load(base + begin + place, mask=inside, other=0).to(tl.uint32)
        tl.store(target + begin + place, word.to(target.dtype.element_ty), mask=inside)


#: Groups of a program, and positions of one that makes jumps.
_LANES, _JUMPS = 32, 128
#: Positions that there are jumps from at once.
_CHUNK = 1 << 22


def begins_of(words: Tensor, format: Format, base: Tensor | None) -> Tensor:
    """Where every window of the stream of words begins if there are no masks, and where the last one ends."""
    windows = -(-words.numel() // format.window)
    begins = torch.zeros(windows + 1, dtype=torch.int64, device=words.device)
    if windows:
        sizes = torch.empty(windows, dtype=torch.int16, device=words.device)
        options = arguments("count", format, words.device)
        blocks = block_count(words.numel(), format)
        measure_kernel[(blocks,)](words, base, sizes, words.numel(), **options)
        torch.cumsum(sizes, 0, dtype=torch.int64, out=begins[1:])
    return begins


def stream_words(words: Tensor, format: Format) -> int:
    """How many stream words words take; this waits for the GPU."""
    return int(begins_of(words, format, None)[-1]) + format.least(words.numel())


def compressed(words: Tensor, format: Format, base: Tensor | None, out: Tensor | None) -> Tensor:
    """The stream of words; ``out`` must have space for any. This waits once for the GPU."""
    count, unit, device = words.numel(), format.stream_bits // 8, words.device
    begins = begins_of(words, format, base)
    size = (int(begins[-1]) + format.least(count)) * unit
    if out is None:
        out = torch.empty(size, dtype=torch.uint8, device=device)
    if count:
        windows, groups = _counts(count, format)
        store_kernel[(block_count(count, format),)](
            words, base, begins, out, count, MASK=format.mask_words, WINDOWS=format.group,
            **arguments("count", format, device),
        )  # fmt: skip
        mask_kernel[(-(-groups // _LANES),)](
            begins, out, windows, groups, WINDOWS=format.group, LANES=_LANES, num_warps=4, **_masks(format)
        )
    return out[:size]


def decompressed(data: Tensor, format: Format, base: Tensor | None, target: Tensor) -> bool:
    """Fills ``target`` with the words of a stream, XORed with the base; returns whether it is one. This waits for the
    GPU."""
    count, unit, device = target.numel(), format.stream_bits // 8, data.device
    if data.numel() % unit:
        return False
    windows, groups = _counts(count, format)
    stream = data.view(UNSIGNED[unit])
    begins = _groups_of(stream, groups, format)
    if begins is None:
        return False
    headers = torch.empty(windows, dtype=torch.int16, device=device)
    fault = torch.zeros(1, dtype=torch.int32, device=device)
    walk_kernel[(-(-groups // _LANES),)](
        stream, begins, headers, fault, windows, groups, WINDOWS=format.group, LANES=_LANES, num_warps=1,
        **_masks(format),
    )  # fmt: skip
    expand_kernel[(block_count(count, format),)](
        data, begins, headers, base, target, fault, count, code_tables(format, device)[0], GROUPS=GROUPS,
        WINDOWS=format.group, SHAPE=shape_of(format), num_warps=1,
    )  # fmt: skip
    return not int(fault)


def _groups_of(stream: Tensor, groups: int, format: Format) -> Tensor | None:
    """Where each group begins; None if the last one does not end where the stream does."""
    size, longest = stream.numel(), format.bound(format.group_words)
    parts, begin = [], 0
    while groups:
        if (count := min(_CHUNK, size - begin)) <= 0:
            return None
        dead = count + longest
        # From what is behind the positions there is no jump. Where one is ``dead``, this is behind the stream.
        jumps = torch.arange(dead + 1, dtype=torch.int32, device=stream.device)
        jump_kernel[(-(-count // _JUMPS),)](
            stream, jumps, begin, count, size, dead, LANES=_JUMPS, num_warps=4, **_masks(format)
        )
        starts = jumps.new_zeros(1)
        while len(starts) <= min(groups, -(-count // format.mask_words)):
            starts = torch.cat([starts, jumps.index_select(0, starts)])
            jumps = jumps.index_select(0, jumps)
        inside = (starts < count).sum().clamp(max=groups)
        found, ahead = torch.stack([inside, starts[inside]]).tolist()
        parts.append(starts[:found].to(torch.int64) + begin)
        groups, begin = groups - found, begin + ahead
    if begin != size:
        return None
    return torch.cat(parts)


def _counts(words: int, format: Format) -> tuple[int, int]:
    """Windows and groups."""
    return -(-words // format.window), -(-words // format.group_words)


def _masks(format: Format) -> dict[str, Any]:
    """What kernels know of masks: their stream words, with padding and without."""
    units = format.group // format.stream_bits
    return {"MASK": format.mask_words, "UNITS": units, "SHAPE": shape_of(format)}
