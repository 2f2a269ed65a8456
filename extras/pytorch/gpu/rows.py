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

    ``source``, ``target``, ``beside``, ``length``
        Addresses of what is read and written, of its part of the index, and of the bytes that its stream has.
    ``words``, ``blocks``
        Words of the tensor, and blocks of them.
    ``capacity``
        Stream words of the buffer.
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
def row_of(table, block):
    """The row of the tensor that a block of the launch is of, the first of its blocks, and which tensor it is."""
    row = table + tl.load(table + block)
    return row, tl.load(row + _FIRST), tl.load(row + _NUMBER)


@triton.jit
def named_by(row, SOURCE: tl.constexpr, TARGET: tl.constexpr):
    """What a row names: source, words, target, capacity, the index and the length."""
    return (
        pointer(tl.load(row), SOURCE),
        tl.load(row + 1),
        pointer(tl.load(row + 3), TARGET),
        tl.load(row + 4),
        pointer(tl.load(row + 5), 8),
        pointer(tl.load(row + 6), 8),
    )


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
