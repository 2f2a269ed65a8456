"""The engine as a PCI function of a guest: what it is, its BARs, and its message as interrupt."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from typing import Protocol

from .guest import CONFIG_READ, CONFIG_WRITE, FILL, READ, WRITE, Access

_VENDOR, _DEVICE = 0x1234, 0xCD4A
#: "Other system peripheral".
_CLASS = 0x088000
_CAPABILITIES, _PLACES = 0x40, 0x50
_MSI, _ENHANCED_ALLOCATION = 5, 0x14
_ENTRY_ENABLED = 1 << 31
#: Behind the capabilities, and of tests alone: a byte with a bit for each memory that is to be silent, and one for a
#: function that is to be gone until somebody looks for it again.
SILENT, _GONE = 0x80, 0b100
#: Of the message control word of MSI: enabled, and an address of 64 bits.
_ENABLED, _WIDE = 1, 0x80
#: The bits of a command register that a function of this kind has: memory, master, no pin as interrupt.
_COMMAND = 0x0406
_BARS = range(0x10, 0x28, 4)


class ConfigSpace:
    """The 256 bytes. ``bars`` has the number and the size of each BAR, a power of two; each is of 32 bits.

    ``placed`` has the address and the size of those that nobody moves, by a capability in place of their registers.
    """

    def __init__(self, bars: Mapping[int, int], placed: Mapping[int, tuple[int, int]] = {}) -> None:
        self._bytes = bytearray(256)
        struct.pack_into("<HHHHI", self._bytes, 0, _VENDOR, _DEVICE, 0, 0x10, _CLASS << 8)
        self._bytes[0x34] = _CAPABILITIES
        struct.pack_into("<BBH", self._bytes, _CAPABILITIES, _MSI, _PLACES if placed else 0, _WIDE)
        if placed:
            struct.pack_into("<BBH", self._bytes, _PLACES, _ENHANCED_ALLOCATION, 0, len(placed))
        for at, (bar, (address, size)) in enumerate(placed.items()):
            entry = _ENTRY_ENABLED | bar << 4 | 2
            struct.pack_into("<III", self._bytes, _PLACES + 4 + 12 * at, entry, address, size - 4)
        #: The bits of each register that software may change.
        self._changeable = {0x04: _COMMAND, 0x3C: 0xFF, _CAPABILITIES: _ENABLED << 16, SILENT: 0b111}
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
        return self._bytes[SILENT] & ~_GONE

    @property
    def gone(self) -> bool:
        """Whether the guest wants the function to be gone."""
        return bool(self._bytes[SILENT] & _GONE)

    def forget(self) -> None:
        """It has been without power."""
        self._bytes[SILENT] = self._bytes[_CAPABILITIES + 2] = self._bytes[0x04] = 0

    @property
    def message(self) -> tuple[int, int] | None:
        """The address and the data that the function sends as interrupt; None while it is to send none."""
        if not self._bytes[_CAPABILITIES + 2] & _ENABLED:
            return None
        address, data = struct.unpack_from("<QH", self._bytes, _CAPABILITIES + 4)
        return address, data


#: The BARs.
REGISTERS, MEMORY = 0, 2


class Registers(Protocol):
    """The register port of the engine."""

    async def read(self, offset: int) -> bytes:
        """The four bytes of a register; all ones where it is answered with an error, as PCI has it."""

    async def write(self, offset: int, data: bytes) -> None:
        """Writes bytes of a register."""


class Function:
    """The function; ``memory`` is the accelerator's, and a power of two long, as ``span``, the bytes of its registers.

    ``placed``: BARs that lie in the guest's memory, if the accelerator's does, as :class:`ConfigSpace` has them.
    """

    def __init__(
        self,
        registers: Registers,
        memory: bytearray | mmap.mmap,
        placed: Mapping[int, tuple[int, int]] = {},
        span: int = 4096,
    ) -> None:
        others = {} if placed else {MEMORY: len(memory)}
        self.config = ConfigSpace({REGISTERS: span, **others}, placed)
        self._registers, self._memory, self._span = registers, memory, span
        #: Whether the function is there; what is read of one that is not is all ones.
        self.present = True
        #: Accesses to registers, and interrupts.
        self.accesses = self.interrupts = 0

    async def answer(self, access: Access) -> bytes:
        """Does what the guest has asked for, and returns what it reads."""
        code, address, size = access.code, access.address, access.size
        if self.config.gone and code == CONFIG_READ and address == 0:
            self.present = True
        if not self.present:
            return b"\xff" * size if code in (CONFIG_READ, READ) else b""
        if code == CONFIG_READ:
            return self.config.read(address, size)
        if code == CONFIG_WRITE:
            self.config.write(address, access.data)
            self.present &= not self.config.gone
        elif code == READ:
            return await self._read(access.bar, address, size)
        elif code == WRITE:
            await self._write(access.bar, address, access.data)
        elif code == FILL:
            await self._write(access.bar, address, access.data[:1] * size)
        else:
            raise ValueError(f"the guest sends message {code}")
        return b""

    async def _read(self, bar: int, address: int, size: int) -> bytes:
        if bar == MEMORY:
            return bytes(self._memory[address : address + size])
        self.accesses += 1
        place = address % self._span
        return await self._registers.read(place) if size == 4 and place % 4 == 0 else b"\xff" * size

    async def _write(self, bar: int, address: int, data: bytes) -> None:
        if bar == MEMORY:
            self._memory[address : address + len(data)] = data
        elif address % 4 + len(data) <= 4:
            self.accesses += 1
            await self._registers.write(address % self._span, data)

    def interrupt(self) -> tuple[int, int] | None:
        """The message of an interrupt, unless the guest does not want it or the function is gone."""
        message = self.config.message if self.present else None
        self.interrupts += message is not None
        return message
