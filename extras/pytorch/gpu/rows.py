"""Many tensors in one launch: a table says of which tensor each block is, and where that tensor lies.

The table holds numbers of 64 bits: for each block of the launch how far behind the table's begin the row of its tensor is,
and then the rows. Kernels that are compiled for ``MANY`` get it in place of what they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl


class Row(NamedTuple):
    """One tensor of a launch, in the order in which the kernels read it.

    ``source``, ``target``, ``beside``, ``length``: Addresses of what is read and written, of its part of the index, and
        of the bytes that its stream has.
    ``words``, ``blocks``: Words of the tensor, and blocks of them.
    ``capacity``: Stream words of the buffer.
    """

    source: int
    words: int
    blocks: int
    target: int = 0
    capacity: int = 0
    beside: int = 0
    length: int = 0


#: Where a row has the numbers that are not its tensor's own: the first of its blocks, and which tensor it is.
_FIRST = tl.constexpr(len(Row._fields))
_NUMBER = tl.constexpr(len(Row._fields) + 1)


def table_of(rows: Sequence[Row], device: torch.device) -> torch.Tensor:
    """The table of a launch, on its way to the GPU: nothing waits for it.

    A row has the numbers of its :class:`Row`, then the first of its blocks, and which tensor it is.
    """
    blocks = [row.blocks for row in rows]
    firsts = [0, *accumulate(blocks)]
    own = np.array(
        [[*row, first, number] for number, (row, first) in enumerate(zip(rows, firsts, strict=False))],
        np.int64,
    ).reshape(len(rows), -1)
    begins = firsts[-1] + own.shape[1] * np.arange(len(rows), dtype=np.int64)
    table = torch.from_numpy(np.concatenate([np.repeat(begins, blocks), own.ravel()]))
    return table.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else table


@triton.jit
def opened(
    source, words, target, capacity, index, length, SOURCE: tl.constexpr, TARGET: tl.constexpr, block,
    MANY: tl.constexpr,
):  # fmt: skip
    """What a block of the launch is of: source, words, target, capacity, the index and the length of its tensor; its number
    there, the blocks of the tensor, those before it in the launch, and which tensor it is."""
    blocks = tl.num_programs(0)
    first = 0
    number = 0
    if MANY:
        row = source + tl.load(source + block)
        source = pointer(tl.load(row), SOURCE)
        words = tl.load(row + 1)
        blocks = tl.load(row + 2).to(tl.int32)
        target = pointer(tl.load(row + 3), TARGET)
        capacity = tl.load(row + 4)
        index = pointer(tl.load(row + 5), 8)
        length = pointer(tl.load(row + 6), 8)
        first = tl.load(row + _FIRST)
        number = tl.load(row + _NUMBER)
    return source, words, target, capacity, index, length, block - first, blocks, first, number


@triton.jit
def pointer(address, BYTES: tl.constexpr):
    """An address of unsigned numbers of so many bytes, or of signed ones of 8; ``address`` may be one of other numbers."""
    if BYTES == 1:
        found = address.to(tl.pointer_type(tl.uint8))
    elif BYTES == 2:
        found = address.to(tl.pointer_type(tl.uint16))
    elif BYTES == 4:
        found = address.to(tl.pointer_type(tl.uint32))
    else:
        found = address.to(tl.pointer_type(tl.int64))
    return found
