"""Compressing on a GPU: in one pass, if there is space that the caller gives."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import check_range

from .checksum import checksum
from .compress_kernels import FLOCK, count_kernel, pack_kernel
from .layout import (
    FOUND,
    INDEX_COLUMNS,
    aligned,
    block_count,
    current,
    overlap,
    require_format,
    require_tensor,
    whole,
    words_of,
)
from .packed import Packed
from .plans import arguments

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
