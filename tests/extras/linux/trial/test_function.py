"""The guest's file system. The device as a guest's kernel sees it: over a socket, with queues in shared memory, without
a kernel and an engine.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import struct
import threading
from collections.abc import Iterator

import pytest

from cdma_linux.trial.function import MEMORY, REGISTERS, ConfigSpace, Function
from cdma_linux.trial.guest import INTERRUPTS, Gone, GuestMemory, Queue, VhostUser
from cdma_linux.trial.kernel import archive
from tests.support.guest import COMMANDS, CONFIG_READ, CONFIG_WRITE, FILL, FIRST, READ, SIZE, WRITE, Guest


def _entries(text: bytes) -> dict[str, tuple[int, bytes, tuple[int, int]]]:
    """Reads an archive as the kernel does: the mode, the content and the device of each entry."""
    found, at = {}, 0
    while True:
        assert text[at : at + 6] == b"070701"
        fields = [int(text[at + 6 + 8 * k : at + 14 + 8 * k], 16) for k in range(13)]
        name = text[at + 110 : at + 110 + fields[11] - 1].decode()
        content = -(-(at + 110 + fields[11]) // 4) * 4
        if name == "TRAILER!!!":
            return found
        found[name] = fields[1], text[content : content + fields[6]], (fields[9], fields[10])
        at = -(-(content + fields[6]) // 4) * 4


def test_the_archive_has_its_files_their_folders_and_a_console() -> None:
    found = _entries(archive({"init": b"abcde", "vectors/x": b""}))
    assert found["init"] == (stat.S_IFREG | 0o755, b"abcde", (0, 0))
    assert found["vectors/x"][1] == b""
    assert found["dev/console"] == (stat.S_IFCHR | 0o600, b"", (5, 1))
    folders = {name for name, (mode, _, _) in found.items() if stat.S_ISDIR(mode)}
    assert folders == {"dev", "proc", "sys", "vectors"}
    assert list(found).index("vectors") < list(found).index("vectors/x")


_MSI_CONTROL, _MSI_DATA = 0x42, 0x4C


class _Registers:
    """Four registers; what is behind them answers with an error."""

    def __init__(self) -> None:
        self.bytes = bytearray(range(16))

    async def read(self, offset: int) -> bytes:
        return bytes(self.bytes[offset : offset + 4]) or b"\xff" * 4

    async def write(self, offset: int, data: bytes) -> None:
        self.bytes[offset : offset + len(data)] = data


class _Machine:
    """A guest and the device in one thread."""

    def __init__(self, function: Function) -> None:
        mine, self._other = socket.socketpair()
        self.function = function
        self.device = VhostUser(self._other)
        self.socket = mine
        self.guest = Guest(mine, self.serve)

    def serve(self) -> None:
        """Has the device do what it has been told."""
        for access in self.device.wait(1):
            access.answer = asyncio.run(self.function.answer(access))

    def interrupt(self) -> None:
        """Has the function send an interrupt, if it sends any."""
        if (message := self.function.interrupt()) is not None:
            self.device.interrupt(*message)

    def end(self) -> None:
        """Closes everything."""
        self.guest.end()
        self._other.close()


@pytest.fixture
def function() -> Function:
    return Function(_Registers(), bytearray(0x2000), span=0x4000)


@pytest.fixture
def machine(function: Function) -> Iterator[_Machine]:
    made = _Machine(function)
    made.guest.begin()
    yield made
    made.end()


@pytest.fixture
def guest(machine: _Machine) -> Guest:
    return machine.guest


def test_the_guest_reads_and_writes_registers(guest: Guest, function: Function) -> None:
    assert guest.ask(READ, REGISTERS, 4, 4) == bytes([4, 5, 6, 7])
    guest.ask(WRITE, REGISTERS, 4, 4, b"abcd")
    assert guest.ask(READ, REGISTERS, 4, 4) == b"abcd"
    # As QEMU has it, with the place of the BAR.
    assert guest.ask(READ, REGISTERS, 0xF000_0004, 4) == b"abcd"
    assert function.accesses == 4


def test_a_register_that_is_not_there_reads_as_ones(guest: Guest, function: Function) -> None:
    assert guest.ask(READ, REGISTERS, 16, 4) == b"\xff" * 4
    assert guest.ask(READ, REGISTERS, 0, 8) == b"\xff" * 8
    assert guest.ask(READ, REGISTERS, 2, 4) == b"\xff" * 4


def test_the_guest_reaches_the_accelerators_memory(guest: Guest, function: Function) -> None:
    guest.ask(WRITE, MEMORY, 0x1000, 5, b"hello")
    guest.ask(FILL, MEMORY, 0x1001, 2, b"-")
    assert guest.ask(READ, MEMORY, 0xFFF, 7) == b"\0h--lo\0"


def test_a_bar_says_its_size_and_keeps_its_place(guest: Guest, function: Function) -> None:
    for bar, size in ((REGISTERS, 0x4000), (MEMORY, 0x2000)):
        at = 0x10 + 4 * bar
        guest.ask(CONFIG_WRITE, 0, at, 4, b"\xff" * 4)
        assert guest.ask(CONFIG_READ, 0, at, 4) == struct.pack("<I", 0x1_0000_0000 - size)
        guest.ask(CONFIG_WRITE, 0, at, 4, struct.pack("<I", 0xF000_0000))
        assert guest.ask(CONFIG_READ, 0, at, 4) == struct.pack("<I", 0xF000_0000)
    guest.ask(CONFIG_WRITE, 0, 0x14, 4, b"\xff" * 4)
    assert guest.ask(CONFIG_READ, 0, 0x14, 4) == b"\0" * 4


def test_identification_and_class_are_not_changed_by_writes() -> None:
    space = ConfigSpace({0: 4096})
    before = space.read(0, 4) + space.read(8, 8)
    space.write(0, b"\xff" * 16)
    assert space.read(0, 4) + space.read(8, 8) == before
    assert space.read(4, 2) == b"\x06\x04"
    assert space.read(254, 4) == b"\0" * 4


def test_an_interrupt_is_sent_once_it_is_wanted(machine: _Machine, guest: Guest) -> None:
    target = guest.offer(INTERRUPTS, b"", 20)
    machine.interrupt()
    assert guest.used(INTERRUPTS) == 0
    guest.ask(CONFIG_WRITE, 0, _MSI_DATA, 2, struct.pack("<H", 7))
    guest.ask(CONFIG_WRITE, 0, _MSI_CONTROL, 2, struct.pack("<H", 0x81))
    machine.interrupt()
    assert guest.used(INTERRUPTS) == 1
    assert guest.bytes[target : target + 20] == struct.pack("<BBHIQI", 7, 0, 0, 4, 0, 7)


def test_an_interrupt_waits_for_a_buffer(machine: _Machine, guest: Guest) -> None:
    machine.function.config.write(_MSI_CONTROL, b"\x81")
    for _ in range(3):
        machine.interrupt()
    assert guest.used(INTERRUPTS) == 0
    for buffers in (2, 1):
        for _ in range(buffers):
            guest.offer(INTERRUPTS, b"", 20)
        os.eventfd_write(guest.kicks[INTERRUPTS], 1)
        machine.serve()
        assert guest.used(INTERRUPTS) == guest.given[INTERRUPTS]


def test_bytes_that_the_guest_has_not_spoken_of_wait(machine: _Machine, guest: Guest) -> None:
    read = struct.pack("<BBHIQ", READ, REGISTERS, 0, 4, 0)
    for _ in range(2):
        guest.offer(COMMANDS, read, 4)
    os.eventfd_write(guest.kicks[COMMANDS], 1)
    machine.serve()
    assert guest.used(COMMANDS) == 1
    os.eventfd_write(guest.kicks[COMMANDS], 1)
    machine.serve()
    assert guest.used(COMMANDS) == 2


def test_a_guest_that_goes_is_noticed(machine: _Machine) -> None:
    machine.socket.close()
    with pytest.raises(Gone):
        list(machine.device.wait(1))


def test_a_message_may_come_in_parts(machine: _Machine) -> None:
    message = struct.pack("<III", 8, 1 | 8, 8) + struct.pack("<II", 1, 2)
    machine.socket.send(message[:5])
    rest = threading.Timer(0.05, machine.socket.send, [message[5:]])
    rest.start()
    assert list(machine.device.wait(1)) == []
    rest.join()
    assert machine.device.queues[1].size == 2


def test_memory_that_is_not_shared_is_refused() -> None:
    file = os.memfd_create("guest")
    os.ftruncate(file, FIRST + SIZE)
    memory = GuestMemory(file, FIRST, SIZE)
    memory.write(FIRST + SIZE - 2, b"ab")
    assert memory.read(FIRST + SIZE - 2, 2) == b"ab"
    for address in (FIRST - 1, FIRST + SIZE - 1):
        with pytest.raises(ValueError, match=r"shared are 0x2000 to 0x2ffff"):
            memory.read(address, 2)


def test_a_queue_without_anything_gives_nothing() -> None:
    file = os.memfd_create("guest")
    os.ftruncate(file, FIRST + SIZE)
    queue = Queue(size=4, descriptors=FIRST, available=FIRST + 0x400, used=FIRST + 0x800)
    assert queue.take(GuestMemory(file, FIRST, SIZE)) is None
