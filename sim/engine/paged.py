"""How the engine moves host memory that is a list of pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdma.hdl.spec.pages import ENTRY_BYTES, PAGE_BYTES

from .memory import BusError
from .port import Port

__all__ = ["list_of", "page_runs"]


def list_of(descriptor: Mapping[str, int]) -> int:
    """The address of a descriptor's list; 0 if it has none."""
    return descriptor["pages_high"] << 32 | descriptor["pages_low"]


def page_runs(port: Port, address: int, count: int, pages: int) -> Iterator[tuple[int, int]]:
    """The runs of host memory from ``address`` on, in order, each within a page: the first one, and those of the list at
    ``pages``.

    An entry is read when its turn comes. A list or a page that the window does not have, or an address that is none of a
    page, is what nothing answers at: a :class:`BusError` says so. Of an address beyond those of the port it has the bits
    that the port has, with bit 0 set: so it is no address of a page.
    """
    first = min(count, PAGE_BYTES - address % PAGE_BYTES)
    yield address, first
    for number, done in enumerate(range(first, count, PAGE_BYTES)):
        if not port.space.allows(pages, PAGE_BYTES):
            raise BusError("DECERR", pages)
        entry = port.read(pages + ENTRY_BYTES * number, ENTRY_BYTES)
        page = int.from_bytes(entry, "little")
        if page % PAGE_BYTES or not port.space.allows(page, PAGE_BYTES):
            raise BusError("DECERR", page % (1 << port.address_bits) | (page >> port.address_bits > 0))
        yield page, min(count - done, PAGE_BYTES)
