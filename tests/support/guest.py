"""A guest of a vhost-user PCI device, in Python: what a kernel in user mode does at its end of the socket."""

from __future__ import annotations

import array
import mmap
import os
import select
import socket
import struct
from collections.abc import Callable

#: The shared part of its memory.
FIRST, SIZE = 0x2000, 0x2E000
COMMANDS, INTERRUPTS = 0, 1
CONFIG_READ, CONFIG_WRITE, READ, WRITE, FILL = range(1, 6)
_ENTRIES = 16
#: Seconds within which the device answers.
_PATIENCE = 20


class Guest:
    """Its memory in a file, its two queues, and its end of the socket.

    ``turn``
        Is called when it is the device's turn, for a device in the same thread.
    """

    def __init__(self, connection: socket.socket, turn: Callable[[], None] = lambda: None) -> None:
        self._socket, self._turn = connection, turn
        self._file = os.memfd_create("guest")
        os.ftruncate(self._file, FIRST + SIZE)
        self.bytes = mmap.mmap(self._file, FIRST + SIZE)
        self.kicks = [os.eventfd(0), os.eventfd(0)]
        self.calls = [os.eventfd(0), os.eventfd(0)]
        self.given = [0, 0]

    def end(self) -> None:
        """Closes everything."""
        self._socket.close()
        for file in (self._file, *self.kicks, *self.calls):
            os.close(file)

    def tell(self, code: int, payload: bytes, *files: int, needs_reply: bool = True) -> bytes:
        """Sends a message, and returns the payload of the answer."""
        header = struct.pack("<III", code, 1 | 8 * needs_reply, len(payload))
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        self._socket.sendmsg([header + payload], beside)
        self._turn()
        got, flags, size = struct.unpack("<III", self._socket.recv(12))
        assert (got, flags) == (code, 1 | 4)
        return self._socket.recv(size)

    def _places(self, number: int) -> tuple[int, int, int]:
        """Where the parts of a queue are: descriptors, available, used."""
        base = FIRST + 0x1000 * number
        return base, base + 0x400, base + 0x800

    def begin(self) -> None:
        """Does what a kernel does before it uses the device."""
        (features,) = struct.unpack("<Q", self.tell(1, b"", needs_reply=False))
        assert features >> 30 & 1
        assert features >> 32 & 1
        assert struct.unpack("<Q", self.tell(15, b"", needs_reply=False)) == (1 << 3 | 1 << 5,)
        self.tell(5, struct.pack("<IIQQQQ", 1, 0, FIRST, SIZE, FIRST, FIRST), self._file)
        for number in (COMMANDS, INTERRUPTS):
            descriptors, available, used = self._places(number)
            self.tell(8, struct.pack("<II", number, _ENTRIES))
            self.tell(9, struct.pack("<IIQQQQ", number, 0, descriptors, used, available, 0))
            self.tell(10, struct.pack("<II", number, 0))
            self.tell(12, struct.pack("<Q", number), self.kicks[number])
            self.tell(13, struct.pack("<Q", number), self.calls[number])

    def offer(self, number: int, data: bytes, room: int) -> int:
        """Gives the device a chain: data to read, if any, and room to write; returns where this is."""
        descriptors, available, _ = self._places(number)
        index = self.given[number]
        head = 2 * index % _ENTRIES
        source = FIRST + 0x2000 + 0x1000 * number + 0x100 * (index % (_ENTRIES // 2))
        target = source + 0x80
        self.bytes[source : source + len(data)] = data
        chain = struct.pack("<QIHH", source, len(data), 1, head + 1) if data else b""
        chain += struct.pack("<QIHH", target, room, 2, 0)
        self.bytes[descriptors + 16 * head : descriptors + 16 * head + len(chain)] = chain
        struct.pack_into("<H", self.bytes, available + 4 + 2 * (index % _ENTRIES), head)
        self.given[number] += 1
        struct.pack_into("<H", self.bytes, available + 2, self.given[number])
        return target

    def used(self, number: int) -> int:
        """How many chains the device has given back."""
        count: int = struct.unpack_from("<H", self.bytes, self._places(number)[2] + 2)[0]
        return count

    def wait(self, number: int) -> None:
        """Waits until the device says that it has given something back."""
        ready, _, _ = select.select([self.calls[number]], [], [], _PATIENCE)
        assert ready, f"the device gives nothing back in queue {number}"
        os.eventfd_read(self.calls[number])

    def ask(self, code: int, bar: int, address: int, size: int, data: bytes = b"") -> bytes:
        """Reads or writes a BAR, or the configuration space; returns what is read."""
        reads = code in (CONFIG_READ, READ)
        message = struct.pack("<BBHIQ", code, bar, 0, size, address) + data
        target = self.offer(COMMANDS, message, size * reads)
        os.eventfd_write(self.kicks[COMMANDS], 1)
        self._turn()
        self.wait(COMMANDS)
        assert self.used(COMMANDS) == self.given[COMMANDS] & 0xFFFF
        return self.bytes[target : target + size] if reads else b""
