"""An AXI4 port of the engine: which addresses it may use, and how it reads and writes the memory at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .memory import BusError, Memory

__all__ = ["AddressSpace", "Port"]

_PAGE = 4096


@dataclass(frozen=True)
class AddressSpace:
    """The addresses of a port, and the window that its registers allow: pages from ``base`` to ``limit``, both included."""

    address_bits: int
    base: int = 0
    limit: int = (1 << 64) - 1

    def allows(self, address: int, count: int) -> bool:
        """Whether the pages of ``count`` bytes from ``address`` on lie in the window and the address space."""
        first, last = address // _PAGE, (address + count - 1) // _PAGE
        lowest, highest = self.base // _PAGE, self.limit // _PAGE
        return lowest <= first and last <= highest and last < 1 << (self.address_bits - 12)


@dataclass
class Port:
    """One AXI4 port.

    ``window()``
        Base and limit, as the window registers have them.
    """

    memory: Memory
    data_bits: int
    address_bits: int
    window: Callable[[], tuple[int, int]]

    @property
    def beat(self) -> int:
        """Bytes of a beat."""
        return self.data_bits // 8

    @property
    def space(self) -> AddressSpace:
        """The addresses that the port may use now."""
        return AddressSpace(self.address_bits, *self.window())

    def beats(self, address: int, count: int) -> int:
        """Counts the beats that ``count`` bytes from ``address`` on touch."""
        return -(-(address % self.beat + count) // self.beat) if count else 0

    def read(self, address: int, count: int) -> bytes:
        """Reads ``count`` bytes, in whole beats; raises :class:`BusError` with the address of the first bad beat."""
        before = address % self.beat
        try:
            data = self.memory.read(address - before, self.beats(address, count) * self.beat)
        except BusError as error:
            raise BusError(error.response, error.address // self.beat * self.beat) from None
        return data[before : before + count]

    def write(self, address: int, data: bytes, burst_beats: int) -> BusError | None:
        """Writes all bursts of ``data``; returns the error of the first one that failed, with the burst's address."""
        longest = min(burst_beats * self.beat, _PAGE)
        failed = None
        position = 0
        while position < len(data):
            start = address + position
            count = min(longest - start % longest, len(data) - position)
            try:
                self.memory.write(start, data[position : position + count])
            except BusError as error:
                failed = failed or BusError(error.response, start)
            position += count
        return failed
