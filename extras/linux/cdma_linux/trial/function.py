"""The configuration space of the engine as a PCI function: what it is, its BARs, and its message as interrupt.

The engine as a PCI function of a guest in user mode: accesses come as messages in one queue, interrupts leave in another.

The messages are those of ``include/uapi/linux/virtio_pcidev.h`` of the kernel.
"""

from __future__ import annotations

import mmap
import struct
from collections import deque
from collections.abc import Mapping
from typing import Protocol

from .guest import Chain, GuestMemory, Queue

_VENDOR, _DEVICE = 0x1234, 0xCD4A
#: "Other system peripheral".
_CLASS = 0x088000
_CAPABILITIES = 0x40
_MSI = 5
#: Behind the capabilities, and of tests alone: a byte with a bit for each memory that is to be silent, and one for a
#: function that is to be gone until somebody looks for it again.
_SILENT, _GONE = 0x80, 0b100
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
        self._changeable = {0x04: _COMMAND, 0x3C: 0xFF, _CAPABILITIES: _ENABLED << 16, _SILENT: 0b111}
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
        return self._bytes[_SILENT] & ~_GONE

    @property
    def gone(self) -> bool:
        """Whether the guest wants the function to be gone."""
        return bool(self._bytes[_SILENT] & _GONE)

    def forget(self) -> None:
        """It has been without power."""
        self._bytes[_SILENT] = self._bytes[_CAPABILITIES + 2] = self._bytes[0x04] = 0

    @property
    def message(self) -> int | None:
        """What the function sends as interrupt; None while it is to send none."""
        if not self._bytes[_CAPABILITIES + 2] & _ENABLED:
            return None
        message: int
        (message,) = struct.unpack_from("<H", self._bytes, _CAPABILITIES + 12)
        return message


#: The numbers of the queues.
COMMANDS, INTERRUPTS = 0, 1
#: The BARs.
REGISTERS, MEMORY = 0, 2
_REGISTER_BYTES = 4096
_MESSAGE = struct.Struct("<BBHIQ")
_CONFIG_READ, _CONFIG_WRITE, _READ, _WRITE, _FILL, _PIN, _INTERRUPT = range(1, 8)


class Registers(Protocol):
    """The register port of the engine."""

    async def read(self, offset: int) -> bytes:
        """The four bytes of a register; all ones where it is answered with an error, as PCI has it."""

    async def write(self, offset: int, data: bytes) -> None:
        """Writes bytes of a register."""


class Function:
    """The function; ``memory`` is the accelerator's, and a power of two long.

    Its interrupt is sent once for each call of :meth:`interrupt`, also if the guest has no buffer for it yet.
    """

    def __init__(self, registers: Registers, memory: bytearray | mmap.mmap) -> None:
        self.config = ConfigSpace({REGISTERS: _REGISTER_BYTES, MEMORY: len(memory)})
        self._registers, self._memory = registers, memory
        self._pending: deque[int] = deque()
        #: Whether the function is there; what is read of one that is not is all ones.
        self.present = True
        #: Accesses to registers, and interrupts.
        self.accesses = self.interrupts = 0

    async def serve(self, queue: Queue, guest: GuestMemory, count: int) -> None:
        """Does what the guest has asked for ``count`` times, in order.

        There may be more in the queue: but the kernel expects no answer to what it has not spoken of yet, and loses one that
        comes before.
        """
        for _ in range(count):
            chain = queue.take(guest)
            if chain is None:
                break
            queue.give(guest, chain, await self._answer(chain))

    async def _answer(self, chain: Chain) -> bytes:
        code, bar, _, size, address = _MESSAGE.unpack_from(chain.data)
        data = chain.data[_MESSAGE.size :][:size]
        if self.config.gone and code == _CONFIG_READ and address == 0:
            self.present = True
        if not self.present:
            return b"\xff" * size if code in (_CONFIG_READ, _READ) else b""
        if code == _CONFIG_READ:
            return self.config.read(address, size)
        if code == _CONFIG_WRITE:
            self.config.write(address, data)
            self.present &= not self.config.gone
        elif code == _READ:
            return await self._read(bar, address, size)
        elif code == _WRITE:
            await self._write(bar, address, data)
        elif code == _FILL:
            await self._write(bar, address, data[:1] * size)
        else:
            raise ValueError(f"the guest sends message {code}")
        return b""

    async def _read(self, bar: int, address: int, size: int) -> bytes:
        if bar == MEMORY:
            return bytes(self._memory[address : address + size])
        self.accesses += 1
        return await self._registers.read(address) if size == 4 and address % 4 == 0 else b"\xff" * size

    async def _write(self, bar: int, address: int, data: bytes) -> None:
        if bar == MEMORY:
            self._memory[address : address + len(data)] = data
        elif address % 4 + len(data) <= 4:
            self.accesses += 1
            await self._registers.write(address, data)

    def interrupt(self) -> None:
        """Sends the message of the interrupt, unless the guest does not want it or the function is gone."""
        if self.present and (message := self.config.message) is not None:
            self.interrupts += 1
            self._pending.append(message)

    def send(self, queue: Queue, guest: GuestMemory) -> None:
        """Gives the guest the interrupts that it has buffers for."""
        while self._pending and (chain := queue.take(guest)) is not None:
            message = _MESSAGE.pack(_INTERRUPT, 0, 0, 4, 0) + struct.pack("<I", self._pending.popleft())
            queue.give(guest, chain, message)
