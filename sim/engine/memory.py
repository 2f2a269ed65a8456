"""The memory at a port of the engine model: bytes at addresses, some of which answer with an error."""

from __future__ import annotations

from typing import Literal

__all__ = ["BusError", "Memory"]

Response = Literal["SLVERR", "DECERR"]


class BusError(Exception):
    """An access was answered with an error: ``response``, by the byte at ``address``."""

    def __init__(self, response: Response, address: int) -> None:
        super().__init__(f"{response} at {address:#x}")
        self.response: Response = response
        self.address = address


class Memory:
    """``buffer`` at ``base``. An access outside answers DECERR, one to an address in ``faults`` the response there."""

    def __init__(self, buffer: bytearray | memoryview, base: int = 0) -> None:
        self.buffer = memoryview(buffer)
        self.base = base
        self.faults: dict[int, Response] = {}

    def _slice(self, address: int, count: int) -> slice:
        first = address - self.base
        for fault in sorted(self.faults):
            if address <= fault < address + count:
                raise BusError(self.faults[fault], fault)
        if first < 0:
            raise BusError("DECERR", address)
        if first + count > len(self.buffer):
            raise BusError("DECERR", max(address, self.base + len(self.buffer)))
        return slice(first, first + count)

    def read(self, address: int, count: int) -> bytes:
        """Reads ``count`` bytes from ``address`` on, or raises :class:`BusError`."""
        return bytes(self.buffer[self._slice(address, count)])

    def write(self, address: int, data: bytes) -> None:
        """Writes ``data`` from ``address`` on, or raises :class:`BusError` and writes nothing."""
        self.buffer[self._slice(address, len(data))] = data
