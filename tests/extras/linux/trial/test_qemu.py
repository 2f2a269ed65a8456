"""The device as QEMU sees it, without QEMU; and the driver on QEMU, with two processors."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.engine.memory import SIZE
from cdma_linux.trial import qemu
from cdma_linux.trial.function import SILENT, ConfigSpace
from cdma_linux.trial.guest import CONFIG_READ, CONFIG_WRITE, READ, WRITE, Access, Gone
from cdma_linux.trial.kernel import KernelError
from cdma_linux.trial.run import Trial, run
from tests.support.thorough import cases_of

#: What QEMU 7.2 calls its messages.
_SHARE, _REPLY, _CONFIG_WRITE, _CONFIG_READ, _BAR_WRITE, _BAR_READ, _IRQ, _RESET = range(8)


class _Machine:
    """QEMU's ends of the sockets; each access is answered with ``answer``."""

    def __init__(self, memory: Path) -> None:
        self.here, self._there = socket.socketpair()
        self.tester, self._other = socket.socketpair()
        self.device = qemu.Qemu(self._there, self._other, {"memory": str(memory)})
        self.answer = b"\1\2\3\4"

    def end(self) -> None:
        """Closes everything."""
        for end in (self.here, self._there, self.tester, self._other):
            end.close()

    def serve(self) -> list[Access]:
        """What the device is told by the next message."""
        found = []
        for access in self.device.wait(1):
            access.answer = self.answer
            found.append(access)
        return found

    def tell(self, code: int, payload: bytes = b"", files: tuple[int, ...] = ()) -> list[Access]:
        """Sends a message, in two parts."""
        socket.send_fds(self.here, [struct.pack("<i4xQ", code, len(payload))], files)
        rest = threading.Timer(0.02, self.here.sendall, [payload])
        rest.start()
        try:
            return self.serve()
        finally:
            rest.join()

    def reply(self) -> bytes:
        """What the device has answered."""
        code, size = struct.unpack("<i4xQ", self.here.recv(16))
        assert (code, size) == (_REPLY, 8)
        return self.here.recv(8)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[_Machine]:
    memory = tmp_path / "memory"
    with memory.open("wb") as file:
        file.truncate(qemu.BYTES)
    made = _Machine(memory)
    yield made
    made.end()


def test_accesses_are_handed_over_and_answered(machine: _Machine) -> None:
    (read,) = machine.tell(_CONFIG_READ, struct.pack("<IIi", 0x10, 0, 4))
    assert (read.code, read.address, read.size) == (CONFIG_READ, 0x10, 4)
    assert machine.reply() == b"\1\2\3\4\0\0\0\0"
    (write,) = machine.tell(_CONFIG_WRITE, struct.pack("<IIi", 0x42, 0x81, 2))
    assert (write.code, write.address, write.data) == (CONFIG_WRITE, 0x42, b"\x81\0")
    machine.reply()
    bar = struct.pack("<QQI?3x", 0xFEBF_F104, 0x12345678, 4, True)
    (read,), _ = machine.tell(_BAR_READ, bar), machine.reply()
    (write,), _ = machine.tell(_BAR_WRITE, bar), machine.reply()
    assert (read.code, read.address, write.code, write.address) == (READ, 0xFEBFF104, WRITE, 0xFEBFF104)
    assert write.data == b"\x78\x56\x34\x12"
    assert machine.tell(_RESET) == []
    machine.reply()


def test_files_are_closed_and_need_no_answer(machine: _Machine) -> None:
    read, write = os.pipe()
    assert machine.tell(_SHARE, bytes(192), (write,)) == []
    assert machine.tell(_IRQ, b"", (write,)) == []
    os.close(write)
    assert os.read(read, 1) == b""
    os.close(read)
    with pytest.raises(ValueError, match="QEMU sends message 8"):
        machine.tell(8)
    machine.here.close()
    with pytest.raises(Gone):
        machine.serve()


def test_the_byte_of_the_tests_and_interrupts_pass(machine: _Machine) -> None:
    machine.device.memory.write(qemu.BEGIN + SIZE, b"\3")
    machine.here.sendall(struct.pack("<i4xQ", _IRQ, 0))
    (silent,) = machine.serve()
    assert (silent.code, silent.address, silent.data) == (CONFIG_WRITE, SILENT, b"\3")
    for _ in range(2):
        machine.tester.sendall(b"OK\n")
        machine.device.interrupt(0xFEE01004, 0x25)
    assert machine.tester.recv(99) == 2 * b"writel 0xfee01004 0x25\n"


def test_bars_in_the_memory_of_the_machine_say_where_they_are() -> None:
    space = ConfigSpace({0: 4096}, qemu.Qemu.placed)
    at = space.read(space.read(0x34, 1)[0] + 1, 1)[0]
    assert space.read(at, 4) == b"\x14\0\2\0"
    assert struct.unpack("<3I", space.read(at + 4, 12)) == (1 << 31 | 2 << 4 | 2, qemu.BEGIN, SIZE - 4)
    assert struct.unpack("<3I", space.read(at + 16, 12)) == (1 << 31 | 4 << 4 | 2, qemu.BEGIN + SIZE, 4092)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(
        KernelError, match=r"apt install qemu-system-x86 linux-image-amd64 linux-headers-amd64$"
    ):
        qemu.debian_kernel("0.1")


@pytest.mark.verilator
@pytest.mark.parametrize("version", cases_of({"6.1": "6.1", "6.12": "6.12"}, thorough={"6.1", "6.12"}))
def test_the_driver_passes_its_tests_with_two_processors(version: str) -> None:
    try:
        qemu.debian_kernel(version)
    except KernelError as error:
        pytest.skip(str(error))
    said: list[str] = []
    assert run(EngineDesign(SMALL), Trial(version=version, qemu=True), say=said.append), "\n".join(said)
