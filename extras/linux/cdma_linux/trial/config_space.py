"""The configuration space of the engine as a PCI function: what it is, its BARs, and its message as interrupt."""

from __future__ import annotations

import struct
from collections.abc import Mapping

__all__ = ["ConfigSpace"]

_VENDOR, _DEVICE = 0x1234, 0xCD4A
#: "Other system peripheral".
_CLASS = 0x088000
_CAPABILITIES = 0x40
_MSI = 5
#: Behind the capabilities, and of tests alone: a byte with a bit for each memory that is to be silent.
_SILENT = 0x80
#: Of the message control word of MSI: enabled, and an address of 64 bits.
_ENABLED, _WIDE = 1, 0x80
#: The bits of a command register that a function of this kind has: memory, master, no pin as interrupt.
_COMMAND = 0x0406
_BARS = range(0x10, 0x28, 4)


class ConfigSpace:
    """The 256 bytes. ``bars`` has the number and the size of each BAR, a power of two; each is of 32 bits."""

    def __init__(self, bars: Mapping[int, int]) -> None:
        self._bytes = bytearray(256)
        struct.pack_into("<HHHHI", self._bytes, 0, _VENDOR, _DEVICE, 0, 0x10, _CLASS << 8)
        self._bytes[0x34] = _CAPABILITIES
        struct.pack_into("<BBH", self._bytes, _CAPABILITIES, _MSI, 0, _WIDE)
        #: The bits of each register that software may change.
        self._changeable = {0x04: _COMMAND, 0x3C: 0xFF, _CAPABILITIES: _ENABLED << 16, _SILENT: 0b11}
        self._changeable |= {_BARS[bar]: ~(size - 1) & 0xFFFFFFFF for bar, size in bars.items()}
        self._changeable |= dict.fromkeys(range(_CAPABILITIES + 4, _CAPABILITIES + 16, 4), 0xFFFFFFFF)

    def read(self, offset: int, size: int) -> bytes:
        """Bytes from an offset on; what is beyond the end is 0."""
        return bytes(self._bytes[offset : offset + size]).ljust(size, b"\0")

    def write(self, offset: int, data: bytes) -> None:
        """Changes those bits that may be."""
        for at, byte in enumerate(data, offset):
            changeable = self._changeable.get(at & ~3, 0) >> 8 * (at & 3) & 0xFF
            if changeable:
                self._bytes[at] = self._bytes[at] & ~changeable | byte & changeable

    @property
    def silent(self) -> int:
        """The memories that the guest wants to be silent: bit 0 is the accelerator's, bit 1 the guest's."""
        return self._bytes[_SILENT]

    @property
    def message(self) -> int | None:
        """What the function sends as interrupt; None while it is to send none."""
        if not self._bytes[_CAPABILITIES + 2] & _ENABLED:
            return None
        message: int
        (message,) = struct.unpack_from("<H", self._bytes, _CAPABILITIES + 12)
        return message
