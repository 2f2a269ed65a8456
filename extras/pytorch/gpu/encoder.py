"""Compressing on a GPU: words into a stream in one pass, and how long that stream is.

A program has a **block** of groups. Its stream begins where those of the blocks before it end. Each program says what its
own takes as soon as it knows. It adds up those of its **flock**, 64 blocks, and then whole flocks, back to one whose end is
known.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.gpu.checksum import checksum
from cdma.gpu.layout import (
    FOUND,
    INDEX_COLUMNS,
    Packed,
    aligned,
    block_count,
    current,
    integers_of,
    overlap,
    require_format,
    require_tensor,
    said,
    whole,
    words_of,
)
from cdma.gpu.plans import arguments
from cdma.gpu.windows import code_of, opened, padded, place_in_group, pointer, ranks, store_windows, stored_of
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import check_range

#: Blocks of a flock.
FLOCK = 64
_FLOCK = tl.constexpr(FLOCK)
#: In a sum of what blocks take, and of what flocks take, more than all of them: one is not known, or not as it should be.
_UNKNOWN, _WRONG = tl.constexpr(-(1 << 24)), tl.constexpr(1 << 56)


@triton.jit
def _coded(
    source, place, inside, values, codes, scale, KEEP: tl.constexpr, FULL: tl.constexpr, SHAPE: tl.constexpr
):
    """The words of a tile and their codes, 0 where nothing is ``inside``.

    With a ``scale`` the source has numbers, and words are their integers; then what :func:`integers_of` says, too.
    """
    if FULL:
        word = tl.load(source + place)
    else:
        word = tl.load(source + place, mask=inside, other=0)
    scaled = word
    missed = word
    if scale is not None:
        word, scaled, missed = integers_of(word, scale, KEEP)
    word = word.to(tl.uint32)
    code = code_of(word, values, codes, SHAPE)
    if not FULL:
        code = tl.where(inside, code, 0)
    return word, code, scaled, missed


@triton.jit(do_not_specialize=["words"])
def count_kernel(
    source, totals, words, values, codes, GROUPS: tl.constexpr, SHAPE: tl.constexpr, MANY: tl.constexpr = False
):  # fmt: skip
    """Adds to ``totals`` the literals and the stream words of every block; of ``MANY`` tensors each has a pair."""
    LITERAL: tl.constexpr = (1 << SHAPE.CODE) - 1
    STEP: tl.constexpr = SHAPE.GROUP * SHAPE.WINDOW
    block = tl.program_id(0).to(tl.int64)
    source, words, _, _, _, _, block, _, _, number = opened(
        source, words, totals, 0, totals, totals, SHAPE.WORD, 8, block, MANY
    )
    totals += 2 * number
    source += block * (GROUPS * STEP)
    left = tl.minimum(words - block * (GROUPS * STEP), GROUPS * STEP).to(tl.int32)
    place = place_in_group(SHAPE)
    literals = tl.zeros(place.shape, tl.int32)
    takes = tl.zeros([SHAPE.GROUP], tl.int32)
    for begin in tl.range(0, left, STEP):
        inside = place < left - begin
        coded = _coded(source + begin, place, inside, values, codes, None, False, False, SHAPE)
        code = coded[1]
        literals += (code == LITERAL).to(tl.int32)
        stored = tl.sum(tl.sum(stored_of(code, inside, False, SHAPE), axis=2), axis=1)
        live = tl.arange(0, SHAPE.GROUP) * SHAPE.WINDOW < left - begin
        takes += padded(tl.where(live, SHAPE.HEADER + stored, 0), SHAPE.ALIGN)
    literals = tl.sum(tl.sum(tl.sum(literals, axis=2), axis=1), axis=0)
    tl.atomic_add(totals, literals.to(tl.int64), sem="relaxed")
    tl.atomic_add(totals + 1, tl.sum(takes, axis=0).to(tl.int64), sem="relaxed")


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
    source, values, codes, index, near, states, flocks, target, length, block, left, last, capacity, scale, found,
    KEEP: tl.constexpr, FULL: tl.constexpr, GROUPS: tl.constexpr, UNROLL: tl.constexpr, SHAPE: tl.constexpr,
):  # fmt: skip
    """One block of :func:`pack_kernel`; one that is ``FULL`` has all of its words.

    It is read twice, the second time out of the cache: what it takes must be known before its place is.
    """
    ALIGN: tl.constexpr = SHAPE.ALIGN
    STEP: tl.constexpr = SHAPE.GROUP * SHAPE.WINDOW
    steps = GROUPS if FULL else (left + STEP - 1) // STEP
    window = tl.arange(0, SHAPE.GROUP)
    place = place_in_group(SHAPE)
    total = tl.zeros(place.shape, tl.int32)
    takes = tl.zeros([SHAPE.GROUP], tl.int32)
    if found is not None:
        largest = tl.zeros(place.shape, tl.int32)
        error = tl.zeros(place.shape, tl.float32)
        squares = tl.zeros(place.shape, tl.float32)
        numbers = tl.zeros(place.shape, tl.float32)
    for step in tl.range(0, steps):
        within = left - step * STEP
        inside = place < within
        word, code, scaled, missed = _coded(
            source + step * STEP, place, inside, values, codes, scale, KEEP, FULL, SHAPE
        )
        if found is not None:
            largest = tl.maximum(largest, scaled.to(tl.int32, bitcast=True) & 0x7FFFFFFF)
            error = tl.maximum(error, tl.abs(missed))
            squares += missed * missed
            numbers += scaled * scaled
        size = stored_of(code, inside, FULL, SHAPE)
        header = SHAPE.HEADER if FULL else tl.where(window * SHAPE.WINDOW < within, SHAPE.HEADER, 0)
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
        tl.store(length, (begin + taken) * SHAPE.UNIT)
    near += block * (GROUPS + 4) + 4
    if not FULL:
        # Groups that the tensor does not have begin where the stream ends.
        group = tl.arange(0, GROUPS)
        tl.store(near + group, tl.zeros_like(group) + taken, mask=group >= steps)
    # What has no room is not stored.
    steps = tl.where(begin + taken <= capacity, steps, 0)
    to = target + begin
    behind = 0
    for step in tl.range(0, steps, loop_unroll_factor=UNROLL):
        within = left - step * STEP
        inside = place < within
        word, code, _, _ = _coded(
            source + step * STEP, place, inside, values, codes, scale, KEEP, FULL, SHAPE
        )
        size = stored_of(code, inside, FULL, SHAPE)
        rank, stored = ranks(size, tl.sum(size, axis=2))
        stored += SHAPE.HEADER
        live = window * SHAPE.WINDOW < within
        if not FULL:
            stored = tl.where(live, stored, 0)
        length_of = padded(stored, ALIGN)
        at = behind + tl.cumsum(length_of, axis=0) - length_of
        tl.store(near + step, behind)
        behind += tl.sum(length_of, axis=0)
        store_windows(to, at, word, code, rank, stored, length_of, inside, live, FULL, SHAPE)


@triton.jit(do_not_specialize=["words", "capacity"])
def pack_kernel(
    source, index, waits, target, length, words, capacity, values, codes,
    GROUPS: tl.constexpr, UNROLL: tl.constexpr, SHAPE: tl.constexpr,
    MANY: tl.constexpr = False, WHOLE: tl.constexpr = False, scale=None, found=None, KEEP: tl.constexpr = False,
):  # fmt: skip
    """The stream to ``target``, where blocks and groups begin to ``index``, and the bytes of all to ``length``.

    Blocks that end behind ``capacity`` stream words are not stored. ``waits`` are a number that counts programs, what flocks
    take, and in half of the bits what blocks take: all are -1 at first. Of ``MANY`` tensors ``source`` is the table, which
    says the rest. A tensor is ``WHOLE`` if it has no partial block. Where something is to be ``found``, ``source`` has
    numbers, and words are the integers of their steps.
    """
    SPAN: tl.constexpr = GROUPS * SHAPE.GROUP * SHAPE.WINDOW
    # Programs have their blocks in the order in which they begin, so that those which they wait for have begun.
    block = tl.atomic_add(waits, 1, sem="relaxed") + 1
    flocks = waits + 1
    states = (flocks + (tl.num_programs(0) + _FLOCK - 1) // _FLOCK).to(tl.pointer_type(tl.int32))
    source, words, target, capacity, index, length, block, blocks, first, _ = opened(
        source, words, target, capacity, index, length, SHAPE.WORD, SHAPE.UNIT, block, MANY
    )
    # A tensor has flocks of its own. What a flock takes is said if it is full, so no tensor needs more than that.
    states += first
    flocks += first // _FLOCK
    near = index.to(tl.pointer_type(tl.uint16))
    target = pointer(target, SHAPE.UNIT)
    source = tl.multiple_of(source + block * SPAN, 16)
    left = tl.minimum(words - block * SPAN, SPAN).to(tl.int32)
    last = block == blocks - 1
    if WHOLE or left == SPAN:
        _pack_block(
            source, values, codes, index, near, states, flocks, target, length, block, left, last, capacity,
            scale, found, KEEP, True, GROUPS, UNROLL, SHAPE,
        )  # fmt: skip
    else:
        _pack_block(
            source, values, codes, index, near, states, flocks, target, length, block, left, last, capacity,
            scale, found, KEEP, False, GROUPS, UNROLL, SHAPE,
        )  # fmt: skip


#: Words before the index, so that this begins at a multiple of 16 bytes: the length, and what is found of numbers.
_HEAD = 2 + FOUND
#: Numbers of so many steps are too large for 8 bits.
_BEYOND = 127.5


@dataclass(frozen=True, slots=True)
class PackedIntegers:
    """The stream of the integers of numbers.

    ``error``, ``squares``, ``numbers``: The largest error, and the sums of the squares of errors and numbers.
    """

    packed: Packed
    error: float
    squares: float
    numbers: float


def compress(
    tensor: Tensor,
    format: Format,
    *,
    out: Tensor | None = None,
    capacity: int | None = None,
    crc: bool = False,
) -> Packed:
    """See :func:`cdma.gpu.compress`."""
    words = words_of(tensor, require_format(format))
    unit = format.stream_bits // 8
    if out is not None:
        check_out(out, capacity, words, unit)
    if capacity is not None:
        check_range("capacity", capacity, 0, 1 << 60, "bytes for the stream")
    count, device = words.numel(), words.device
    with current(device):
        # The length, and the index at a multiple of 16 bytes.
        blocks = block_count(count, format)
        beside = torch.empty(2 + blocks * INDEX_COLUMNS, dtype=torch.int64, device=device)
        length = beside.as_strided((), ())
        index = beside.as_strided((blocks, INDEX_COLUMNS), (INDEX_COLUMNS, 1), 2)
        if out is None:
            if capacity is None:
                capacity = int(totals(words, format)[1]) * unit if count else 0
            out = torch.empty(capacity, dtype=torch.uint8, device=device)
        if not count:
            length.zero_()
        else:
            options, waits = arguments("pack", format, device), waiting(blocks, device)
            pack_kernel[(blocks,)](
                words, index, waits, out, length, count, out.numel() // unit, WHOLE=whole(count, format),
                **options,
            )  # fmt: skip
        return Packed(out, length, count, format, index, checksum(words) if crc else None)


def compress_numbers(
    numbers: Tensor, format: Format, exponent: int, keep_nonzero: bool
) -> PackedIntegers | None:
    """The stream of the integers of 8 bits of numbers in one dimension, in steps of ``2**exponent``, made in one pass.

    This waits for the GPU once. It is None if a number is NaN, infinite or too large.
    """
    count, device, unit = numbers.numel(), numbers.device, format.stream_bits // 8
    with current(device):
        blocks = block_count(count, format)
        beside = torch.zeros(_HEAD + blocks * INDEX_COLUMNS, dtype=torch.int64, device=device)
        length, index = beside[0], beside[_HEAD:].view(blocks, INDEX_COLUMNS)
        out = torch.empty(format.bound_bytes(count), dtype=torch.uint8, device=device)
        options, waits = arguments("pack", format, device), waiting(blocks, device)
        pack_kernel[(blocks,)](
            aligned(numbers), index, waits, out, length, count, out.numel() // unit,
            WHOLE=whole(count, format), scale=2.0**-exponent, found=beside[2:_HEAD], KEEP=keep_nonzero, **options,
        )  # fmt: skip
        head = beside[:_HEAD].cpu()
        largest, error = head.view(torch.float32)[4:8:2].tolist()
        # Not true of NaN either.
        if not largest < _BEYOND:
            return None
        packed = Packed(out[: int(head[0])].clone(), length, count, format, index)
    squares, total = (each * 4.0**exponent for each in head.view(torch.float64)[4:].tolist())
    return PackedIntegers(packed, error * 2.0**exponent, squares, total)


def totals(words: Tensor, format: Format) -> Tensor:
    """The literals and the stream words of a packet."""
    totals = torch.zeros(2, dtype=torch.int64, device=words.device)
    if blocks := block_count(words.numel(), format):
        count_kernel[(blocks,)](words, totals, words.numel(), **arguments("count", format, words.device))
    return totals


def waiting(blocks: int, device: torch.device) -> Tensor:
    """What the programs of so many blocks tell each other in: one number, one a flock, and half of one a block."""
    return torch.full((1 + -(-blocks // FLOCK) + (blocks + 1) // 2,), -1, dtype=torch.int64, device=device)


def check_out(out: Tensor, capacity: int | None, words: Tensor, unit: int) -> None:
    """Refuses what is no space for the stream of words."""
    if capacity is not None:
        raise ParameterError("out and capacity are both given; either says what space there is")
    require_tensor("out", out)
    if out.dtype != torch.uint8 or out.dim() != 1 or not out.is_contiguous():
        raise ParameterError("out must be a contiguous tensor of uint8 of one dimension")
    if out.device != words.device:
        raise ParameterError(
            f"out is on {out.device} and the tensor on {words.device}; they must be on one device"
        )
    if out.data_ptr() % unit:
        raise ParameterError(f"out begins within a word; it must begin at a multiple of {unit} bytes")
    if overlap(out, words):
        raise ParameterError("out is a part of the tensor; it must be another one")
