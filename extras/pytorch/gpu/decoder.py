"""A stream with its index into words, and whether it is one: no stream and no index makes it read or write elsewhere.
Decompressing on a GPU: all groups of windows at once, by an index that comes with the stream or is found in it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import word_count
from cdma.sim.codec import model

from .chain import found_index
from .checksum import checksum
from .layout import (
    INDEX_COLUMNS,
    UNSIGNED,
    Packed,
    block_count,
    bytes_of,
    current,
    numbers_of,
    overlap,
    require_format,
    require_tensor,
    whole,
)
from .plans import arguments
from .windows import (
    apart,
    load_codes,
    opened,
    padded,
    place_in_group,
    pointer,
    ranks,
    rotated_left,
    stored_after,
    stored_by,
    stored_of,
)


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


#: Where a window begins that has no begin.
_NONE = tl.constexpr(0xFFFF)


@triton.jit
def expanded(source, header, readable, values, fault, place, within, FULL: tl.constexpr, SHAPE: tl.constexpr):
    """The words of a tile, whose ``readable`` rows have their header behind ``source``, and which of them are there.

    The words of the other rows have code 0. ``fault`` becomes 1 if a code is undefined, or is past the packet's end.
    """
    LITERAL: tl.constexpr = (1 << SHAPE.CODE) - 1
    BYTES: tl.constexpr = SHAPE.WORD
    inside = (place < within) & readable[:, None, None]
    bits = load_codes(source, header, readable, SHAPE)
    code = bits[:, :, None] >> (SHAPE.CODE * tl.arange(0, SHAPE.PER)).to(tl.uint32)[None, None, :] & LITERAL
    if not FULL:
        _report(fault, (place >= within) & (code != 0))
        code = tl.where(inside, code, 0)
    if SHAPE.DEFINED < LITERAL:
        _report(fault, (code >= SHAPE.DEFINED) & (code != LITERAL))
    stored = stored_of(code, inside, FULL, SHAPE)
    if SHAPE.FIELD and not SHAPE.ZERO:
        stored = tl.where(readable[:, None, None], stored, 0)
    if SHAPE.FIELD and not SHAPE.ZERO:
        lane = tl.sum(stored, axis=2)
    else:
        lane = stored_by(bits, SHAPE.PER, SHAPE)
    rank, _ = ranks(stored, lane)
    rank += (header + SHAPE.HEADER)[:, None, None]
    if SHAPE.CODE == 1 and SHAPE.FIELD == 0:
        base = tl.load(values)
    else:
        base = tl.load(apart(values, code, SHAPE))
    begins_of = apart(source, rank, SHAPE)
    if SHAPE.FIELD == 0:
        word = tl.where(code == LITERAL, tl.load(begins_of, mask=stored > 0).to(tl.uint32), base)
    else:
        low = tl.zeros_like(code)
        high = tl.zeros_like(code)
        for byte in tl.static_range(BYTES):
            part = tl.load(apart(begins_of, byte, SHAPE), mask=stored > byte).to(tl.uint32) << (8 * byte)
            if byte < SHAPE.LOW:
                low |= part
            else:
                high |= part
        turned = low | tl.where(code == LITERAL, high, base << (8 * SHAPE.LOW))
        word = rotated_left(turned, (8 * BYTES - SHAPE.ROTATE) % (8 * BYTES), BYTES)
        if SHAPE.ZERO:
            word = tl.where(code == 0, 0, word)
    return word, inside


@triton.jit
def _unpack_block(
    source, begin, after, room, right, values, behind, target, fault, left, scale,
    FULL: tl.constexpr, GROUPS: tl.constexpr, UNROLL: tl.constexpr, SHAPE: tl.constexpr,
):  # fmt: skip
    """One block of :func:`unpack_kernel`; one that is ``FULL`` has all of its words. Places are counted from its begin."""
    STEP: tl.constexpr = SHAPE.GROUP * SHAPE.WINDOW
    PADS: tl.constexpr = SHAPE.ALIGN - 1
    # The chain of headers in every group, a lane for each. Where windows begin goes by way of memory, so that lanes have
    # words afterwards.
    group = tl.arange(0, GROUPS)
    at = begin
    for step in tl.range(0, SHAPE.GROUP, loop_unroll_factor=1):
        place = behind + (group * SHAPE.GROUP + step)
        limit = tl.minimum(left - (group * SHAPE.GROUP + step) * SHAPE.WINDOW, SHAPE.WINDOW)
        live = FULL | (limit > 0)
        right = right & (~live | (at + SHAPE.HEADER <= room))
        stored = stored_after(source, at, right & live, SHAPE)
        if not FULL and SHAPE.FIELD and not SHAPE.ZERO:
            # Of the places past the end of the packet, which have code 0, nothing is stored.
            stored -= (SHAPE.WINDOW - limit) * (SHAPE.LOW // SHAPE.UNIT)
        ended = at + tl.where(live, SHAPE.HEADER + stored, 0)
        ahead = at + padded(ended - at, SHAPE.ALIGN)
        right = right & (ahead <= room)
        for pad in tl.static_range(PADS):
            read = right & (ended + pad < ahead)
            right = right & (tl.load(source + (ended + pad), mask=read, other=0) == 0)
        tl.store(place, tl.where(right, at, _NONE).to(tl.uint16), mask=live)
        at = ahead
    right = right & (after == at)
    tl.store(fault, 1, mask=tl.min(right.to(tl.int32), axis=0) == 0)

    tl.debug_barrier()

    window = tl.arange(0, SHAPE.GROUP)
    place = place_in_group(SHAPE)
    for step in tl.range(0, GROUPS if FULL else (left + STEP - 1) // STEP, loop_unroll_factor=UNROLL):
        within = left - step * STEP
        begins = behind + step * SHAPE.GROUP + window
        if FULL:
            header = tl.load(begins).to(tl.int32)
        else:
            header = tl.load(begins, mask=window * SHAPE.WINDOW < within, other=_NONE).to(tl.int32)
        readable = header != _NONE
        word, inside = expanded(source, header, readable, values, fault, place, within, FULL, SHAPE)
        made = word if scale is None else numbers_of(word, scale)
        made = made.to(target.dtype.element_ty)
        if FULL:
            tl.store(target + step * STEP + place, made)
        else:
            tl.store(target + step * STEP + place, made, mask=inside)


@triton.jit(do_not_specialize=["words", "capacity"])
def unpack_kernel(
    stream, index, length, behind, target, fault, words, capacity, values,
    GROUPS: tl.constexpr, UNROLL: tl.constexpr, SHAPE: tl.constexpr,
    MANY: tl.constexpr = False, TOGETHER: tl.constexpr = False, WHOLE: tl.constexpr = False, scale=None,
):  # fmt: skip
    """The words to ``target``; ``fault`` becomes 1 unless stream and index are right to the last bit.

    ``behind`` is memory for a number of 16 bits a window, ``length`` holds the bytes of the stream and ``capacity`` is the
    stream words of the buffer. Every group must begin at 0 or where the one before it ends, and the last one must end where
    the stream does: so the groups are right together, whatever the index holds.
    Of ``MANY`` tensors ``stream`` is the table, which says the rest, and each has a ``fault``, or all have one ``TOGETHER``.
    A tensor is ``WHOLE`` if it has no partial block. With a ``scale`` words are integers, and ``target`` has numbers that
    are so many times as much.
    """
    # More stream words than any block has: places in a block are numbers of 16 bits.
    FAR: tl.constexpr = _NONE
    SPAN: tl.constexpr = GROUPS * SHAPE.GROUP * SHAPE.WINDOW
    block = tl.program_id(0).to(tl.int64)
    behind = behind.to(tl.pointer_type(tl.uint16)) + block * (GROUPS * SHAPE.GROUP)
    stream, words, target, capacity, index, length, block, _, _, number = opened(
        stream, words, target, capacity, index, length, SHAPE.UNIT, SHAPE.WORD, block, MANY
    )
    if MANY and not TOGETHER:
        fault += number
    groups = (words.to(tl.int64) + (SPAN // GROUPS - 1)) // (SPAN // GROUPS)
    near = index.to(tl.pointer_type(tl.uint16))
    octets = tl.load(length)
    size = octets // SHAPE.UNIT
    # Nothing fits a stream that is not whole.
    size = tl.where((octets % SHAPE.UNIT == 0) & (size <= capacity), size, -1)
    group = block * GROUPS + tl.arange(0, GROUPS)
    # A place to count from, which is in the stream, whatever the index holds.
    base = tl.minimum(tl.maximum(tl.load(index + block * (1 + GROUPS // 4)), 0), tl.maximum(size, 0))
    begin = _begin_of(index, near, group, groups, size, GROUPS)
    after = _begin_of(index, near, group + 1, groups, size, GROUPS)
    right = (begin >= base) & (begin <= size) & (begin < base + FAR) & ((group > 0) | (begin == 0))
    begin = tl.where(right, begin - base, 0).to(tl.int32)
    after = tl.where((after >= base) & (after < base + 2 * FAR), after - base, -1).to(tl.int32)
    room = tl.minimum(size - base, FAR - 1).to(tl.int32)
    left = tl.minimum(words - block * SPAN, SPAN).to(tl.int32)
    source = pointer(stream, SHAPE.UNIT) + base
    target += block * SPAN
    if MANY:
        target = tl.multiple_of(target, 16)
    if WHOLE or left == SPAN:
        _unpack_block(
            source, begin, after, room, right, values, behind, target, fault, left, scale, True, GROUPS, UNROLL, SHAPE
        )  # fmt: skip
    else:
        _unpack_block(
            source, begin, after, room, right, values, behind, target, fault, left, scale, False, GROUPS, UNROLL, SHAPE
        )  # fmt: skip


class WrongChecksum(CdmaError, ValueError):
    """A stream is whole, but its words have another CRC-32C than they should have."""


def decompress(
    stream: Tensor,
    words: int,
    format: Format,
    *,
    index: Tensor | None = None,
    length: Tensor | None = None,
    crc: Tensor | int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The ``words`` unsigned words of a stream, where the stream is; waits for the GPU to say whether they are right.

    Raises :class:`.CorruptStream` as :func:`cdma.decompress` does. An index that is not of the stream costs time and
    nothing else.

    ``index``: That of the stream; without it one is found in the stream.
    ``length``: The bytes of the stream in ``stream``, a 64-bit number on the GPU, if they are not all.
    ``crc``: The CRC-32C that the words must have; :class:`WrongChecksum` says that they have another one.
    ``out``: A tensor for the words. After an error it holds anything.
    """
    data = bytes_of(stream, require_format(format))
    words = word_count(words)
    check_index(index, words, format, data)
    if length is not None:
        require_tensor("the length", length)
        if length.device != data.device or length.dtype != torch.int64 or length.numel() != 1:
            raise ParameterError(
                f"the length must be one number of int64 on {data.device}, where the stream is"
            )
    with current(data.device):
        if length is None:
            length = torch.full((), data.numel(), dtype=torch.int64, device=data.device)
        # A stream that is too short for its headers is refused before there is memory for its words.
        windows = -(-words // format.window)
        if not words or windows * format.header_words * format.stream_bits > 8 * data.numel():
            made = by_model(data, int(length), words, format)
        else:
            made = target_for(out, words, format, data)
            tried = (index, None) if index is not None else (None,)
            if not any(_unpacked(data, length, format, each, made) for each in tried):
                made = by_model(data, int(length), words, format)
        if out is not None and words and made.data_ptr() != out.data_ptr():
            made = target_for(out, words, format, data).copy_(made)
        if crc is not None and (found := int(checksum(made))) != (wanted := int(crc)):
            raise WrongChecksum(f"the words have the CRC-32C {found:#010x}; it should be {wanted:#010x}")
    return made


def started(packed: Packed, *, index: bool = True, out: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The words, and the verdict on them, without waiting for the GPU; see :func:`cdma.gpu.decompress`."""
    format, words = require_format(packed.format), packed.words
    data = bytes_of(packed.data, format)
    check_index(packed.index, words, format, data)
    with current(data.device):
        target = target_for(out, words, format, data)
        if words:
            verdict = torch.zeros(1, dtype=torch.int32, device=data.device)
            _unpack(data, packed.length, format, packed.index if index else None, target, verdict)
        else:
            verdict = (packed.length != 0).to(torch.int32).view(1)
        if packed.crc is not None:
            verdict |= checksum(target) != packed.crc
    return target, verdict


def restored(packed: Packed, fault: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The words of a stream that fitted, without waiting for the GPU.

    ``fault``: One 32-bit number on the GPU, which becomes 1 if the stream is no longer whole.
    ``out``: A tensor for the words.
    """
    with current(packed.data.device):
        target = target_for(out, packed.words, packed.format, packed.data)
        _unpack(packed.data, packed.length, packed.format, packed.index, target, fault)
    return target


def restored_numbers(packed: Packed, exponent: int, dtype: torch.dtype, fault: Tensor) -> Tensor:
    """The numbers of a stream of integers of 8 bits, ``2**exponent`` times these; see :func:`restored`."""
    with current(packed.data.device):
        target = torch.empty(packed.words, dtype=dtype, device=packed.data.device)
        _unpack(packed.data, packed.length, packed.format, packed.index, target, fault, 2.0**exponent)
    return target


def _unpacked(data: Tensor, length: Tensor, format: Format, index: Tensor | None, target: Tensor) -> bool:
    """Fills ``target``; returns whether the stream is whole and the index is its own."""
    fault = torch.zeros(1, dtype=torch.int32, device=data.device)
    _unpack(data, length, format, index, target, fault)
    return not int(fault)


def _unpack(
    data: Tensor,
    length: Tensor,
    format: Format,
    index: Tensor | None,
    target: Tensor,
    fault: Tensor,
    scale: float | None = None,
) -> None:
    """Fills ``target``; ``fault`` becomes 1 unless the stream is whole and the index is its own.

    With a ``scale`` the words are integers, and ``target`` is for numbers.
    """
    unit, words = format.stream_bits // 8, target.numel()
    if index is None:
        stream = data[: data.numel() - data.numel() % unit].view(UNSIGNED[unit])
        index = found_index(stream, length, words, format)
    behind = index.new_empty(-(-words // format.window), dtype=torch.int16)
    options = arguments("unpack", format, data.device)
    unpack_kernel[(len(index),)](
        data, index, length, behind, target, fault, words, data.numel() // unit,
        WHOLE=whole(words, format), scale=scale, **options,
    )  # fmt: skip


def by_model(data: Tensor, size: int, words: int, format: Format) -> Tensor:
    """What the golden model makes of a stream of so many bytes that the kernels did not take: most likely an error."""
    if not 0 <= size <= data.numel():
        raise ParameterError(f"the stream has {size} bytes; there was space for {data.numel()}")
    made = model.decompress(data[:size].cpu().numpy().tobytes(), words, format)
    words_there = torch.empty(words, dtype=UNSIGNED[format.word_bits // 8], device=data.device)
    return words_there.copy_(torch.from_numpy(made.copy()))


def check_index(index: Tensor | None, words: int, format: Format, data: Tensor) -> None:
    """Refuses an index that cannot be that of a stream of so many words."""
    if index is None:
        return
    require_tensor("the index", index)
    if index.device != data.device:
        raise ParameterError(
            f"the index is on {index.device} and the stream on {data.device}; they must be on one device"
        )
    rows = block_count(words, format)
    if index.dtype != torch.int64 or index.shape != (rows, INDEX_COLUMNS) or not index.is_contiguous():
        raise ParameterError(
            f"the index is no contiguous tensor of int64 with the shape ({rows}, {INDEX_COLUMNS}), as that of a stream of "
            f"{words} words is"
        )


def target_for(out: Tensor | None, words: int, format: Format, data: Tensor) -> Tensor:
    """A tensor for the words of a stream, in ``out`` if that is one."""
    word = UNSIGNED[format.word_bits // 8]
    if out is None:
        return torch.empty(words, dtype=word, device=data.device)
    require_tensor("out", out)
    if out.device != data.device:
        raise ParameterError(
            f"out is on {out.device} and the stream on {data.device}; they must be on one device"
        )
    if not out.is_contiguous() or out.numel() * out.element_size() < words * word.itemsize:
        size = words * word.itemsize
        raise ParameterError(
            f"out must be a contiguous tensor of at least {size} bytes, which {words} words have"
        )
    if out.data_ptr() % word.itemsize:
        raise ParameterError(
            f"out begins within a word; it must begin at a multiple of {word.itemsize} bytes"
        )
    if overlap(out, data):
        raise ParameterError("out is a part of the stream; it must be another tensor")
    return out.detach().view(-1).view(torch.uint8)[: words * word.itemsize].view(word)
