"""The memory of the guest, mapped into this process, and the queues in it by which virtio devices and drivers talk."""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass, field

__all__ = ["Chain", "GuestMemory", "Queue"]

_DESCRIPTOR = struct.Struct("<QIHH")
_GOES_ON, _FOR_DEVICE_TO_WRITE = 1, 2
_USED = struct.Struct("<II")
_INDEX = struct.Struct("<H")


class GuestMemory:
    """A region of the guest's physical memory: ``first`` is its lowest address.

    What lies below is not shared, though the file has room for it, so that a place in the file is an address.
    """

    def __init__(self, file: int, first: int, size: int) -> None:
        self.first, self.end = first, first + size
        self.bytes = mmap.mmap(file, self.end)

    def _check(self, address: int, size: int) -> None:
        if address < self.first or address + size > self.end:
            raise ValueError(
                f"the guest names {size} bytes at {address:#x}; shared are {self.first:#x} to {self.end - 1:#x}"
            )

    def read(self, address: int, size: int) -> bytes:
        """What lies at an address."""
        self._check(address, size)
        return self.bytes[address : address + size]

    def write(self, address: int, data: bytes) -> None:
        """Puts bytes there."""
        self._check(address, len(data))
        self.bytes[address : address + len(data)] = data

    def index(self, address: int) -> int:
        """A number of 16 bits there."""
        number: int
        (number,) = _INDEX.unpack(self.read(address, _INDEX.size))
        return number


@dataclass(frozen=True)
class Chain:
    """Buffers that the driver gives as one: what is in those for the device to read, and where it is to write."""

    head: int
    data: bytes
    room: tuple[tuple[int, int], ...]


@dataclass
class Queue:
    """A split virtqueue as the device sees it. The driver says how many entries it has, and where its three parts are."""

    size: int = 0
    descriptors: int = 0
    available: int = 0
    used: int = 0
    taken: int = 0
    #: Where each side tells the other that there is something: files, or -1.
    kick: int = field(default=-1)
    call: int = field(default=-1)

    def take(self, memory: GuestMemory) -> Chain | None:
        """The next chain that the driver has given, if there is one."""
        if memory.index(self.available + 2) == self.taken:
            return None
        head = memory.index(self.available + 4 + 2 * (self.taken % self.size))
        self.taken = (self.taken + 1) & 0xFFFF
        data, room, index = b"", [], head
        while True:
            place = self.descriptors + _DESCRIPTOR.size * index
            address, size, flags, index = _DESCRIPTOR.unpack(memory.read(place, _DESCRIPTOR.size))
            if flags & _FOR_DEVICE_TO_WRITE:
                room.append((address, size))
            else:
                data += memory.read(address, size)
            if not flags & _GOES_ON:
                return Chain(head, data, tuple(room))

    def give(self, memory: GuestMemory, chain: Chain, answer: bytes = b"") -> None:
        """Gives a chain back, with an answer as far as there is room for it, and tells the driver."""
        left = answer
        for address, size in chain.room:
            memory.write(address, left[:size])
            left = left[size:]
        given = memory.index(self.used + 2)
        entry = self.used + 4 + _USED.size * (given % self.size)
        memory.write(entry, _USED.pack(chain.head, len(answer) - len(left)))
        # The index comes last: it says that the entry is there.
        memory.write(self.used + 2, _INDEX.pack((given + 1) & 0xFFFF))
        if self.call >= 0:
            os.write(self.call, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
