"""New memory for large results, which the system hands out page by page, each set to zero, as it is first written to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["new_array"]

_HUGE_PAGE = 1 << 21
#: Bytes from which on every array has new memory; smaller ones may have what was freed before.
_ALWAYS_NEW = 1 << 25


def new_array(count: int, dtype: np.dtype[Any], written_by: int = 1) -> NDArray[Any]:
    """An array of ``count`` elements that hold anything; a large one begins with a huge page and is made of those.

    ``written_by``
        How many threads write to it. For a single one the pages are there at once: Linux sets a huge page to zero in
        nearly half the time if the first byte that is written to is one of its last.
    """
    size = count * dtype.itemsize
    if size < _ALWAYS_NEW:
        return np.empty(count, dtype)
    pages = -(-size // _HUGE_PAGE)
    memory = np.empty((pages + 1) * _HUGE_PAGE, np.uint8)
    begin = -memory.ctypes.data % _HUGE_PAGE
    if written_by == 1:
        memory[begin + _HUGE_PAGE - 1 :: _HUGE_PAGE][:pages] = 0
    return memory[begin : begin + size].view(dtype)
