"""The index of a stream that came without one."""

from __future__ import annotations

import torch
from torch import Tensor

from cdma.hdl.spec.format import Format

from .chain_kernels import compose_kernel, enter_kernel, mark_kernel, segment_kernel
from .layout import GROUPS, INDEX_COLUMNS, block_count, constants

__all__ = ["found_index"]

#: Functions that one program composes, and segments of a program that follows the chain.
_FAN, _LANES = 64, 32
#: Positions of a segment for each one that the chain may enter it at, which bounds the memory for functions.
_SHARE = 128


def found_index(stream: Tensor, length: Tensor, words: int, format: Format) -> Tensor:
    """The index of the stream in the first ``length`` bytes of a buffer; of what is no stream, any index."""
    longest = format.bound(format.window)
    lanes = 1 << (longest - 1).bit_length()
    segment = _SHARE * lanes
    shape = constants(format)
    header = {
        name: shape[name]
        for name in ("WORD", "UNIT", "WINDOW", "CODE", "HEADER", "ALIGN", "FIELD", "LOW", "ZERO")
    }
    segments = -(-stream.numel() // segment)
    begins = torch.full((block_count(words, format) * GROUPS,), -1, dtype=torch.int64, device=stream.device)

    warps = min(4, max(1, lanes // 32))
    levels = [begins.new_empty(segments * lanes)]
    segment_kernel[(segments,)](
        stream,
        length,
        stream.numel(),
        levels[0],
        LONGEST=longest,
        ENTRIES=lanes,
        SEGMENT=segment,
        num_warps=warps,
        **header,
    )
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
        stream,
        length,
        stream.numel(),
        entered,
        begins,
        segments,
        -(-words // format.window),
        SEGMENT=segment,
        LANES=_LANES,
        GROUP=shape["GROUP"],
        num_warps=1,
        **header,
    )
    rows = begins.view(-1, GROUPS)
    index = begins.new_empty((len(rows), INDEX_COLUMNS))
    index[:, 0] = rows[:, 0]
    index.view(torch.int16)[:, 4:] = rows - rows[:, :1]
    return index
