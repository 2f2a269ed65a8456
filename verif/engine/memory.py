"""The memory at the ports of an engine: what lies in it, what may be written, and which addresses are answered with errors.

How its ports answer from cycle to cycle is in :mod:`.memory_port`.
"""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["DATA", "GUARD", "SIZE", "Far", "Memory"]

SIZE = 1 << 20
#: What memory holds where nobody has written.
GUARD = 0xA5
#: Data of transfers lie from here on, and rings below.
DATA = 0x10000


class Far:
    """Addresses beyond the memory: what is read follows from the address, what is written is checked.

    Reads and writes must each go through it in order, from ``start`` on; with several ``units``, through the stripes of
    each of them.
    """

    def __init__(
        self,
        start: int,
        data: Callable[[int, int], bytes],
        expected: bytes = b"",
        stripe_bytes: int = 4096,
        units: int = 1,
    ) -> None:
        self.start = start
        self.data = data
        self.expected = expected
        self.stripe_bytes, self.units = stripe_bytes, units
        self.read = self.written = 0
        self._reads, self._writes = self._begin(), self._begin()

    def _begin(self) -> list[int]:
        """The first address of each unit."""
        stripe, units = self.stripe_bytes, self.units
        first = self.start // stripe
        numbers = (first + (unit - first) % units for unit in range(units))
        return [max(self.start, number * stripe) if units > 1 else self.start for number in numbers]

    def _pass(self, what: str, at: list[int], address: int, length: int) -> None:
        """Goes on past a beat, which must be the next one of its unit."""
        unit = address // self.stripe_bytes % self.units
        if address != at[unit]:
            raise AssertionError(f"a {what} of {address:#x}, not of {at[unit]:#x}")
        at[unit] += length
        if at[unit] % self.stripe_bytes == 0:
            at[unit] += (self.units - 1) * self.stripe_bytes

    def get(self, address: int, length: int) -> bytes:
        """One beat that is read."""
        self._pass("read", self._reads, address, length)
        self.read += length
        return self.data(address, length)

    def put(self, address: int, data: bytes) -> None:
        """One beat that is written."""
        self._pass("write", self._writes, address, len(data))
        offset = address - self.start
        want = self.expected[offset : offset + len(data)]
        if data[: len(want)] != want:
            raise AssertionError(f"{address:#x} is given {data.hex()}, not {want.hex()}")
        self.written += len(data)


class Memory:
    """A memory, at one port or at several.

    ``bytes``
        What lies in it.
    ``writable``
        Says which bytes the engine may write at present.
    ``bad``
        Maps bytes to the response of a beat that touches them; the first one of a burst of writes counts.
    ``high``
        Multiples of ``size`` at which the memory is as well, with the same bytes.
    ``far``
        Stands for the other addresses beyond ``size``, if anything does.
    ``latency``
        Cycles from an address to its first beat, and from the last beat of a write to its response.
    ``delay``
        Bounds the cycles, drawn anew, for which a port stands still at every 256th byte.
    ``depth``
        Bursts in flight of each direction beyond which a port takes no address; None: as many as come.
    ``frozen``
        Holds back all answers while it is true.
    ``first_read``, ``last_answer``
        The cycles of the first address of data that was read, and of the last response to data that were written.
    """

    def __init__(self, rng: random.Random, size: int = SIZE) -> None:
        self.rng = rng
        self.size = size
        self.bytes = bytearray([GUARD]) * size
        self.writable = bytearray(size)
        self.bad: dict[int, int] = {}
        self.high: set[int] = set()
        self.far: Far | None = None
        self.latency = self.delay = 0
        self.depth: int | None = None
        self.frozen = False
        self.first_read: int | None = None
        self.last_answer: int | None = None
        self.next = DATA

    def place_of(self, address: int) -> int:
        """Where in the memory an address is; an address that is nowhere in it stays as it is."""
        at = address % self.size
        return at if address - at in self.high else address

    def read(self, address: int, length: int) -> bytes:
        """What lies at an address."""
        at = self.place_of(address)
        if at < self.size:
            return bytes(self.bytes[at : at + length])
        assert self.far is not None, f"a read of {address:#x}, where nothing is"
        return self.far.get(address, length)

    def write(self, address: int, data: bytes) -> None:
        """Puts data there, for the bench."""
        self.bytes[address : address + len(data)] = data

    def put(self, address: int, data: bytes) -> None:
        """Puts data there that the engine writes, and that :meth:`guard` has let pass."""
        at = self.place_of(address)
        if at < self.size:
            self.write(at, data)
        else:
            assert self.far is not None
            self.far.put(address, data)

    def allow(self, address: int, length: int, allowed: bool = True) -> None:
        """Sets whether the engine may write these bytes."""
        self.writable[address : address + length] = bytes([allowed]) * length

    def guard(self, address: int, count: int) -> None:
        """Objects to a write of bytes that may not be written."""
        at = self.place_of(address)
        if at >= self.size and self.far is not None:
            return
        allowed = self.writable[at : at + count]
        if len(allowed) < count or 0 in allowed:
            wrong = address + (allowed.index(0) if 0 in allowed else len(allowed))
            raise AssertionError(f"a write to {wrong:#x}, which nobody allowed")

    def response(self, start: int, count: int) -> int:
        """How a beat of these bytes is answered."""
        return (
            next((self.bad[at] for at in range(start, start + count) if at in self.bad), 0) if self.bad else 0
        )

    def place(self, length: int, align: int) -> int:
        """Returns an address for ``length`` bytes with guard bytes on both sides, often near a 4 KiB boundary."""
        rng = self.rng
        if self.next + length + 0x3000 > self.size:
            self.next = DATA
        self.next += 2 * 128 + rng.choice((0, 0, 64, 512, 1024))
        choice = rng.random()
        if choice < 0.3:
            self.next = (self.next | 0xFFF) + 1
        elif choice < 0.5:
            near = (self.next | 0xFFF) + 1 - align * rng.randint(1, 4)
            self.next = near if near >= self.next else near + 0x1000
        address = -(-self.next // align) * align
        self.next = address + length
        # What older transfers left here must not pass for guard bytes.
        self.write(address - 128, bytes([GUARD]) * (length + 256))
        return address
