"""The engine as a PCI function of a guest in user mode: accesses come as messages in one queue, interrupts leave in another.

The messages are those of ``include/uapi/linux/virtio_pcidev.h`` of the kernel.
"""

from __future__ import annotations

import mmap
import struct
from collections import deque
from typing import Protocol

from .config_space import ConfigSpace
from .guest import Chain, GuestMemory, Queue

__all__ = ["COMMANDS", "INTERRUPTS", "MEMORY", "REGISTERS", "Function", "Registers"]

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
        if not self.present:
            return b"\xff" * size if code in (_CONFIG_READ, _READ) else b""
        if code == _CONFIG_READ:
            return self.config.read(address, size)
        if code == _CONFIG_WRITE:
            self.config.write(address, data)
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
