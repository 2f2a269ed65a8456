"""Host memory of a descriptor in pages: where a list of them leads.

Plain data, without Amaranth and numpy: the checker, the model of the engine and both drivers follow these rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from cdma.base.errors import ParameterError

__all__ = [
    "ENTRY_BYTES",
    "LEAST_PAGED_BITS",
    "LIST_BURSTS",
    "MOST_PAGED",
    "PAGE_BYTES",
    "PAGE_LOG2",
    "packed_pages",
    "paged",
]

PAGE_LOG2 = 12
PAGE_BYTES = 1 << PAGE_LOG2
#: Bytes of an entry of a list: the address of a page, little-endian.
ENTRY_BYTES = 8
#: The most bytes of host memory that a descriptor with a list moves: so its list is within a page.
MOST_PAGED = PAGE_BYTES // ENTRY_BYTES * PAGE_BYTES
#: Reads of a list in flight at once, of each channel.
LIST_BURSTS = 2
#: Bits of an address that tell its bytes apart.
LEAST_PAGED_BITS = (2 * MOST_PAGED - 1).bit_length()


def paged(runs: Sequence[tuple[int, int]]) -> tuple[int, int, list[int]]:
    """The first address, the bytes, and the further pages of runs of ``(address, bytes)``, in this order.

    A run is any number of pages that follow one another; only the first may begin, and only the last may end, within a page.
    """
    if not runs:
        raise ParameterError("a list of pages has no run of bytes; it must have one at least")
    pages: list[int] = []
    for number, (address, count) in enumerate(runs):
        if count < 1:
            raise ParameterError(
                f"run {number} of a list of pages has {count} bytes; it must have one at least"
            )
        if number and address % PAGE_BYTES:
            raise ParameterError(
                f"run {number} of a list of pages begins at {address:#x}; only the first may begin within a page"
            )
        if number < len(runs) - 1 and (address + count) % PAGE_BYTES:
            raise ParameterError(
                f"run {number} of a list of pages ends at {address + count:#x}; only the last may end within a page"
            )
        begin = address // PAGE_BYTES * PAGE_BYTES
        pages += range(begin, address + count, PAGE_BYTES)
    total = sum(count for _, count in runs)
    if total > MOST_PAGED:
        raise ParameterError(f"a list of pages has {total} bytes; at most {MOST_PAGED} are allowed")
    return runs[0][0], total, pages[1:]


def packed_pages(pages: Sequence[int]) -> bytes:
    """A list as it lies in memory."""
    return b"".join(page.to_bytes(ENTRY_BYTES, "little") for page in pages)
