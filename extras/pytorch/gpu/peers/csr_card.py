"""Compressed sparse rows on a GPU: the packets of :mod:`cdma.gpu.peers.csr`, bit for bit. Programs have rows."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.gpu.layout import UNSIGNED, current

from . import csr
from .card_stream import CardStream, checked, room_for, unsigned, words_on_card
from .csr import CsrFormat

#: Words of a program, and the most that a row has there.
_TILE, _WIDEST = 4096, 4096


@triton.jit
def _rows_of(source, words, columns, ROWS: tl.constexpr, LANES: tl.constexpr):
    """The rows of a program, its lanes, and the places and the words of both."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, LANES)[None, :]
    place = row[:, None] * columns + lane
    return row, lane, place, tl.load(source + place, mask=(lane < columns) & (place < words), other=0)


@triton.jit
def count_kernel(source, counts, words, columns, ROWS: tl.constexpr, LANES: tl.constexpr):
    """The literals of each row."""
    row, _, _, word = _rows_of(source, words, columns, ROWS, LANES)
    tl.store(counts + row, tl.sum((word != 0).to(tl.int64), axis=1), mask=row * columns < words)


@triton.jit
def write_kernel(
    source, pointers, numbers, literals, octets, length, words, columns, rows, capacity, INDEX: tl.constexpr,
    WORD: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Columns and literals of each row to a packet that has its row pointers; nothing if it has no room.

    ``numbers``, ``literals`` and ``octets`` are the packet as columns, words and bytes.
    """
    row, lane, place, word = _rows_of(source, words, columns, ROWS, LANES)
    # Without room no word is stored.
    room = tl.where(tl.load(length) <= capacity, words, 0)
    has = (word != 0) & (place < room)
    before = tl.load(pointers + row, mask=row < rows, other=0)[:, None]
    rank = before + tl.cumsum((word != 0).to(tl.int64), axis=1) - 1
    begin = 4 * (rows + 1)
    stored = tl.load(pointers + rows) * INDEX
    filled = (stored + (WORD - 1)) // WORD * WORD
    index = tl.broadcast_to(lane, [ROWS, LANES]).to(numbers.dtype.element_ty)
    tl.store(numbers + (begin // INDEX + rank), index, mask=has)
    tl.store(literals + ((begin + filled) // WORD + rank), word, mask=has)
    # The bytes that fill up the last word of columns.
    pad = tl.arange(0, 4)
    tl.store(octets + (begin + stored + pad), 0, mask=stored + pad < tl.where(room > 0, filled, 0))


@triton.jit
def spread_kernel(
    pointers, numbers, literals, octets, length, target, fault, words, columns, rows, capacity,
    INDEX: tl.constexpr, WORD: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Literals to their places in ``target``, which has zeros; ``fault`` becomes 1 if anything is wrong."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, LANES)[None, :]
    total = tl.load(pointers + rows).to(tl.int64)
    begin = 4 * (rows + 1)
    filled = (total * INDEX + (WORD - 1)) // WORD * WORD
    size = tl.load(length)
    right = (size == begin + filled + total * WORD) & (size <= capacity)
    first = tl.load(pointers + row, mask=row < rows, other=0).to(tl.int64)
    end = tl.load(pointers + (row + 1), mask=row < rows, other=0).to(tl.int64)
    width = tl.minimum(tl.maximum(words - row * columns, 0), columns)
    most = tl.where(right, total, -1)
    sound = (first <= end) & (end <= most) & (end - first <= width) & ((row > 0) | (first == 0))
    inside = sound[:, None] & (lane < (end - first)[:, None])
    at = begin // INDEX + first[:, None] + lane
    column = tl.load(numbers + at, mask=inside, other=0).to(tl.int64)
    last = tl.load(numbers + (at - 1), mask=inside & (lane > 0), other=0).to(tl.int64)
    rises = (column < width[:, None]) & ((lane == 0) | (column > last))
    word = tl.load(literals + ((begin + filled) // WORD + first[:, None] + lane), mask=inside, other=0)
    tl.store(target + (row[:, None] * columns + column), word, mask=inside & rises)
    wrong = tl.max(tl.max((inside & (rises == 0)).to(tl.int32), axis=1) | (sound == 0).to(tl.int32), axis=0)
    pad = tl.arange(0, 4)
    read = total * INDEX + pad < tl.where(right, filled, 0)
    filling = tl.load(octets + (begin + total * INDEX + pad), mask=read, other=0)
    tl.store(fault, 1, mask=(wrong > 0) | (tl.max(filling, axis=0) > 0))


def compress(tensor: Tensor, format: CsrFormat, *, out: Tensor | None = None) -> CardStream:
    """The packet of a tensor, in ``out`` if that is given; nothing waits for the GPU."""
    shape = _shape(format)
    words = words_on_card(tensor, format.word_bits)
    count, rows = words.numel(), format.rows(words.numel())
    data = room_for(format.bound(count) * format.word_bytes, out, words.device)
    with current(words.device):
        pointers = torch.zeros(rows + 1, dtype=torch.int64, device=words.device)
        grid = (-(-rows // shape["ROWS"]),)
        if rows:
            count_kernel[grid](words, pointers[1:], count, format.columns, **shape)
            pointers = pointers.cumsum(0)
        begin, index, word = 4 * (rows + 1), format.index_bits // 8, format.word_bytes
        filled = (pointers[-1] * index + (word - 1)) // word * word
        length = begin + filled + pointers[-1] * word
        if data.numel() >= begin:
            data[:begin].view(torch.int32).copy_(pointers)
        if rows:
            write_kernel[grid](
                words, pointers, *_views(data, format), length, count, format.columns, rows, data.numel(),
                INDEX=index, WORD=word, **shape,
            )  # fmt: skip
    return CardStream(data, length, count)


def restored(stream: CardStream, format: CsrFormat, fault: Tensor) -> Tensor:
    """The words of a packet; ``fault``, one 32-bit number on the GPU, becomes 1 if it is not whole. Nothing waits."""
    shape, rows, data = _shape(format), format.rows(stream.words), stream.data
    with current(data.device):
        target = torch.zeros(stream.words, dtype=UNSIGNED[format.word_bytes], device=data.device)
        if not rows or data.numel() < 4 * (rows + 1):
            # What has no rows is looked at on the host.
            fault.fill_(1)
            return target
        spread_kernel[(-(-rows // shape["ROWS"]),)](
            unsigned(data, 32), *_views(data, format), stream.length, target, fault,
            stream.words, format.columns, rows, data.numel(),
            INDEX=format.index_bits // 8, WORD=format.word_bytes, **shape,
        )  # fmt: skip
    return target


def decompress(stream: CardStream, format: CsrFormat) -> Tensor:
    """The words of a packet, or the error of the golden model."""
    return checked(restored, csr.decompress_words, stream, format)


def _shape(format: CsrFormat) -> dict[str, int]:
    """The tile of a program: rows and lanes."""
    if format.columns > _WIDEST:
        raise ParameterError(f"columns is {format.columns}; a row has at most {_WIDEST} on a GPU")
    lanes: int = triton.next_power_of_2(format.columns)
    return {"ROWS": max(1, _TILE // lanes), "LANES": lanes}


def _views(data: Tensor, format: CsrFormat) -> tuple[Tensor, Tensor, Tensor]:
    """A packet as columns, words and bytes."""
    return unsigned(data, format.index_bits), unsigned(data, format.word_bits), data
