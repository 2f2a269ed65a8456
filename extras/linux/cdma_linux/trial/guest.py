"""The memory of the guest, mapped into this process, and the queues in it by which virtio devices and drivers talk. The
device's end of a vhost-user socket: the guest's kernel hands over its memory and its queues, and then uses these.
"""

from __future__ import annotations

import array
import mmap
import os
import select
import socket
import struct
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass
class Access:
    """What the guest does to the function: ``code`` is one of those below, ``data`` what it writes, and ``answer`` what it
    gets. Addresses are those of the configuration space, or of a BAR.
    """

    code: int
    bar: int
    address: int
    size: int
    data: bytes = b""
    answer: bytes = b""


#: The messages of ``include/uapi/linux/virtio_pcidev.h`` of the kernel.
_MESSAGE = struct.Struct("<BBHIQ")
CONFIG_READ, CONFIG_WRITE, READ, WRITE, FILL, _, _INTERRUPT = range(1, 8)
#: The numbers of the queues.
COMMANDS, INTERRUPTS = 0, 1

_HEADER = struct.Struct("<III")
_VERSION, _REPLY, _NEEDS_REPLY = 1, 4, 8
#: Protocol features can be asked for; the device is of virtio 1.
_FEATURES = 1 << 30 | 1 << 32
#: Each message is answered, and the guest gives the files that it is told by.
_PROTOCOL_FEATURES = 1 << 3 | 1 << 5
_GET_FEATURES, _SET_MEMORY = 1, 5
_SET_SIZE, _SET_PLACES, _SET_BASE, _GET_BASE, _SET_KICK, _SET_CALL = range(8, 14)
_GET_PROTOCOL_FEATURES = 15
#: Most files that come with a message.
_FILES = 8


class Gone(Exception):
    """The guest has closed its end."""


class VhostUser:
    """A connection.

    ``memory``: Is the guest's, once it has handed it over.
    ``queues``: By their numbers, as far as the guest has spoken of them.
    """

    #: No BAR lies in the guest's memory.
    placed: Mapping[int, tuple[int, int]] = {}

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.memory: GuestMemory | None = None
        self.queues: dict[int, Queue] = {}
        self._pending: deque[int] = deque()

    def wait(self, seconds: float | None, others: Sequence[int] = ()) -> Iterator[Access]:
        """Waits for the guest, without end if ``seconds`` is None; yields what it does, which is answered then.

        It ends, too, if there is something in one of the files ``others``.
        """
        kicks = {queue.kick: queue for queue in self.queues.values() if queue.kick >= 0}
        messages = self._connection.fileno()
        ready, _, _ = select.select([messages, *kicks, *others], [], [], seconds)
        for file in ready:
            if file == messages:
                self._receive()
            elif file in kicks:
                yield from self._taken(kicks[file], int.from_bytes(os.read(file, 8), sys.byteorder))

    def _taken(self, queue: Queue, count: int) -> Iterator[Access]:
        """What the guest has put into a queue, in order, as often as it has spoken of it.

        There may be more: but the kernel expects no answer to what it has not spoken of yet, and loses one that comes
        before.
        """
        if self.memory is None:
            raise ValueError("the guest uses a queue before it has handed over its memory")
        if queue is not self.queues[COMMANDS]:
            self._send()
            return
        for _ in range(count):
            chain = queue.take(self.memory)
            if chain is None:
                break
            code, bar, _, size, address = _MESSAGE.unpack_from(chain.data)
            access = Access(code, bar, address, size, chain.data[_MESSAGE.size :][:size])
            yield access
            queue.give(self.memory, chain, access.answer)

    def interrupt(self, _: int, data: int) -> None:
        """Sends the message of an interrupt, which waits for a buffer if the guest has none for it yet."""
        self._pending.append(data)
        self._send()

    def _send(self) -> None:
        queue, memory = self.queues.get(INTERRUPTS), self.memory
        while queue and memory and self._pending and (chain := queue.take(memory)) is not None:
            message = _MESSAGE.pack(_INTERRUPT, 0, 0, 4, 0) + struct.pack("<I", self._pending.popleft())
            queue.give(memory, chain, message)

    def _receive(self) -> None:
        header, files = self._read_header()
        code, flags, size = _HEADER.unpack(header)
        answer = self._do(code, self._read(size), files)
        if answer is None and flags & _NEEDS_REPLY:
            answer = struct.pack("<Q", 0)
        if answer is not None:
            self._connection.sendall(_HEADER.pack(code, _VERSION | _REPLY, len(answer)) + answer)

    def _read_header(self) -> tuple[bytes, list[int]]:
        files = array.array("i")
        room = socket.CMSG_SPACE(_FILES * files.itemsize)
        header, beside, _, _ = self._connection.recvmsg(_HEADER.size, room)
        if not header:
            raise Gone
        for _, _, data in beside:
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
        return header + self._read(_HEADER.size - len(header)), list(files)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._connection.recv(size - len(data))
            if not part:
                raise Gone
            data += part
        return data

    def _do(self, code: int, payload: bytes, files: list[int]) -> bytes | None:
        """Does what a message asks for, and returns the answer that it has beside its acknowledgement."""
        if code == _GET_FEATURES:
            return struct.pack("<Q", _FEATURES)
        if code == _GET_PROTOCOL_FEATURES:
            return struct.pack("<Q", _PROTOCOL_FEATURES)
        if code == _SET_MEMORY:
            self._map(payload, files)
        elif code in (_SET_SIZE, _SET_PLACES, _SET_BASE, _GET_BASE):
            index, value = struct.unpack_from("<II", payload)
            queue = self._queue(index)
            if code == _SET_SIZE:
                queue.size = value
            elif code == _SET_PLACES:
                queue.descriptors, queue.used, queue.available = struct.unpack_from("<QQQ", payload, 8)
            elif code == _SET_BASE:
                queue.taken = value
            else:
                return struct.pack("<II", index, queue.taken)
        elif code in (_SET_KICK, _SET_CALL) and files:
            queue = self._queue(payload[0])
            if code == _SET_KICK:
                (queue.kick,) = files
            else:
                (queue.call,) = files
        return None

    def _queue(self, index: int) -> Queue:
        return self.queues.setdefault(index, Queue())

    def _map(self, payload: bytes, files: list[int]) -> None:
        """Maps the guest's memory. Linux in user mode has one region, whose addresses are places in its file."""
        (count,) = struct.unpack_from("<I", payload)
        first, size, user, place = struct.unpack_from("<QQQQ", payload, 8)
        if count != 1 or not first == user == place:
            raise ValueError(
                f"the guest has {count} regions, the first at {first:#x} and {place:#x} of its file"
            )
        self.memory = GuestMemory(files[0], first, size)
        os.close(files[0])
