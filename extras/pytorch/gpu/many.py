"""Many tensors on a GPU in one launch of each kernel, for tensors so small that launches are what takes time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.settings import check_range

from .decoder import check_index, decompress, unpack_kernel
from .encoder import count_kernel, pack_kernel, waiting
from .layout import (
    INDEX_COLUMNS,
    UNSIGNED,
    Packed,
    block_count,
    bytes_of,
    current,
    require_format,
    require_packed,
    require_tensor,
    whole,
    windows_of_block,
    words_of,
)
from .plans import arguments
from .windows import Row, table_of

#: Streams begin at multiples of it.
_ALIGN = 16


def compress_many(
    tensors: Sequence[Tensor], format: Format, *, capacities: Sequence[int] | None = None
) -> list[Packed]:
    """See :func:`cdma.gpu.compress_many`."""
    require_format(format)
    _check_sequence("tensors", tensors)
    if not tensors:
        return []
    for each in tensors:
        require_tensor("one of the tensors", each)
    unit, device = format.stream_bits // 8, tensors[0].device
    if other := next((each.device for each in tensors if each.device != device), None):
        raise ParameterError(f"one tensor is on {device} and another on {other}; they must be on one device")
    words = [words_of(each, format) for each in tensors]
    if capacities is not None:
        _check_capacities(capacities, len(tensors))
    with current(device):
        if capacities is None:
            capacities = [unit * stored for stored in _stored(words, format)]
        return packed_many(words, format, capacities)[0]


def packed_many(
    words: Sequence[Tensor], format: Format, capacities: Sequence[int]
) -> tuple[list[Packed], Tensor]:
    """The streams of words on the current GPU, and the lengths of all, without waiting for it."""
    device = words[0].device
    blocks = [block_count(each.numel(), format) for each in words]
    lengths = torch.zeros(len(words), dtype=torch.int64, device=device)
    index = torch.empty((sum(blocks), INDEX_COLUMNS), dtype=torch.int64, device=device).split_with_sizes(
        blocks
    )
    spaces = [-(-each // _ALIGN) * _ALIGN for each in capacities]
    data = torch.empty(sum(spaces), dtype=torch.uint8, device=device).split_with_sizes(spaces)
    packed = [
        Packed(space if space.numel() == size else space[:size], length, each.numel(), format, part)
        for space, size, length, each, part in zip(
            data, capacities, lengths.unbind(), words, index, strict=True
        )
    ]
    _pack(words, packed, blocks)
    return packed, lengths


def decompress_many(packed: Sequence[Packed]) -> list[Tensor]:
    """See :func:`cdma.gpu.decompress_many`."""
    _check_sequence("packed", packed)
    if not packed:
        return []
    for each in packed:
        require_packed(each)
    format, device = packed[0].format, packed[0].data.device
    for each in packed:
        if each.format != format or each.data.device != device:
            raise ParameterError(
                f"one packed tensor has the format {format} on {device} and another {each.format} on "
                f"{each.data.device}; all must have the same"
            )
        check_index(each.index, each.words, format, each.data)
    with current(device):
        data = [bytes_of(each.data, format) for each in packed]
        word = UNSIGNED[format.word_bits // 8]
        made = [torch.empty(each.words, dtype=word, device=device) for each in packed]
        faults = torch.zeros(len(packed), dtype=torch.int32, device=device)
        _unpack(packed, data, made, faults)
        # What is refused, has no words or has a checksum goes the way of a single one, which has the verdict of the model.
        for number, (fault, one) in enumerate(zip(faults.tolist(), packed, strict=True)):
            if fault or not one.words or one.crc is not None:
                made[number] = decompress(
                    one.data, one.words, format, index=one.index, length=one.length, crc=one.crc
                )
    return made


def restored_many(packed: Sequence[Packed], fault: Tensor) -> list[Tensor]:
    """The words of streams of one format that fitted, on the current GPU, without waiting for it.

    ``fault``: One 32-bit number there, which becomes 1 if any of the streams is no longer whole.
    """
    word = UNSIGNED[packed[0].format.word_bits // 8]
    made = [torch.empty(each.words, dtype=word, device=fault.device) for each in packed]
    _unpack(packed, [each.data for each in packed], made, fault)
    return made


def _check_sequence(name: str, value: object) -> None:
    if not isinstance(value, Sequence):
        raise ParameterError(f"{name} is {type(value).__name__}; it must be a list or a tuple")


def _check_capacities(capacities: Sequence[int], tensors: int) -> None:
    if len(capacities) != tensors:
        raise ParameterError(f"there are {len(capacities)} capacities for {tensors} tensors; each needs one")
    for each in capacities:
        check_range("capacity", each, 0, 1 << 60, "bytes for the stream")


def _stored(words: Sequence[Tensor], format: Format) -> list[int]:
    """The stream words of each tensor; this waits for the GPU."""
    rows = [Row(each.data_ptr(), each.numel(), block_count(each.numel(), format)) for each in words]
    device = words[0].device
    totals = torch.zeros((len(words), 2), dtype=torch.int64, device=device)
    if blocks := sum(row.blocks for row in rows):
        options = arguments("count", format, device)
        count_kernel[(blocks,)](table_of(rows, device), totals, 0, MANY=True, **options)
    return [stored for _, stored in totals.tolist()]


def _pack(words: Sequence[Tensor], packed: Sequence[Packed], blocks: Sequence[int]) -> None:
    format, device, total = packed[0].format, words[0].device, sum(blocks)
    if not total:
        return
    rows = [
        _row(each, each.data, source, own) for each, source, own in zip(packed, words, blocks, strict=True)
    ]
    table, waits, options = table_of(rows, device), waiting(total, device), arguments("pack", format, device)
    even = all(whole(each.words, format) for each in packed)
    pack_kernel[(total,)](table, table, waits, table, table, 0, 0, MANY=True, WHOLE=even, **options)


def _unpack(packed: Sequence[Packed], data: Sequence[Tensor], made: Sequence[Tensor], faults: Tensor) -> None:
    """Fills what is ``made``; ``faults`` are one of each, or one of all."""
    format, device = packed[0].format, faults.device
    rows = [
        _row(each, target, source, len(each.index))
        for each, source, target in zip(packed, data, made, strict=True)
    ]
    if not (total := sum(row.blocks for row in rows)):
        return
    table = table_of(rows, device)
    behind = torch.empty(total * windows_of_block(format), dtype=torch.int16, device=device)
    options = arguments("unpack", format, device)
    together = len(faults) < len(packed)
    even = all(whole(each.words, format) for each in packed)
    unpack_kernel[(total,)](
        table, table, table, behind, table, faults, 0, 0, MANY=True, TOGETHER=together, WHOLE=even, **options
    )


def _row(packed: Packed, target: Tensor, source: Tensor, blocks: int) -> Row:
    unit = packed.format.stream_bits // 8
    return Row(
        source.data_ptr(),
        packed.words,
        blocks,
        target.data_ptr(),
        packed.data.numel() // unit,
        packed.index.data_ptr(),
        packed.length.data_ptr(),
    )
