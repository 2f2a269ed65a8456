"""Host memory in pages, as software hands it to the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.spec.pages import PAGE_BYTES, packed_pages, paged

from .errors import DriverError
from .rings import RingMemory

__all__ = ["Pages", "list_pages"]


@dataclass(frozen=True)
class Pages:
    """What a descriptor says of host memory in pages.

    ``address``
        Where it begins: the destination of an offload, the source of a prefetch.
    ``bytes``
        What there is room for: the capacity of an offload.
    ``pages``
        Where the list of the further pages is; 0 if there are none.
    """

    address: int
    bytes: int
    pages: int


def list_pages(runs: Sequence[tuple[int, int]], memory: RingMemory) -> Pages:
    """Writes the list of ``(address, bytes)`` into a page of ``memory``, which stays until the transfer has ended.

    Only the first run may begin, and only the last may end, within a page.
    """
    address, count, further = paged(runs)
    if memory.address % PAGE_BYTES or len(memory.buffer) < PAGE_BYTES:
        raise DriverError(
            f"the list is to be at {memory.address:#x}, in {len(memory.buffer)} bytes; it needs a page of {PAGE_BYTES}"
        )
    data = packed_pages(further)
    memoryview(memory.buffer).cast("B")[: len(data)] = data
    return Pages(address, count, memory.address if further else 0)
