"""A machine that QEMU is, with several processors, and the engine as its device in another process.

QEMU hands over what the guest does to the function, by a socket, one access after another ("x-pci-proxy-dev"). It has no
way for the interrupts of such a device unless the host's kernel runs the guest: so they are written as the messages that
they are, by a second socket ("qtest"). And where two processors reach such a device at once it stands still for ever. So
registers alone, which the driver reaches by one processor at a time, are reached so; the accelerator's memory is a part of
the machine's own, which the guest's kernel leaves alone. So is a byte for the tests, as a BAR of its own.
"""

from __future__ import annotations

import array
import os
import re
import select
import shutil
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cdma.verif.engine.memory import SIZE

from .function import MEMORY, SILENT
from .guest import CONFIG_READ, CONFIG_WRITE, READ, WRITE, Access, Gone, GuestMemory
from .kernel import KernelError

#: Processors; the bytes of memory, and where the accelerator's begins, which is followed by that of the tests.
_PROCESSORS, BYTES, BEGIN = 2, 512 << 20, 256 << 20
_TESTS, _PAGE = 4, 4096
#: The device and the function of it that the engine is.
FUNCTION = "0000:00:05.0"
#: What the kernel is started with: it may preempt itself everywhere, takes the BARs where they are, and looks for accesses
#: to memory that is nobody's.
_KERNEL = (
    *("console=ttyS1", "rdinit=/init", "preempt=full", "pci=nocrs", "slub_debug=FZP", "panic=-1"),
    *("nokaslr", f"memmap={2 * SIZE}%{BEGIN}-1"),
)
_QEMU = "qemu-system-x86_64"

_HEADER = struct.Struct("<i4xQ")
_SHARE, _REPLY, _CONFIG_WRITE, _CONFIG_READ, _WRITE, _READ, _IRQ, _RESET = range(8)
_CONFIG = struct.Struct("<IIi")
_BAR = struct.Struct("<QQI4x")
#: Most files that come with a message.
_FILES = 8


class Qemu:
    """Its connection, and ``tester`` for interrupts; ``settings`` name the file that has the machine's memory."""

    placed: Mapping[int, tuple[int, int]] = {MEMORY: (BEGIN, SIZE), _TESTS: (BEGIN + SIZE, _PAGE)}

    def __init__(self, connection: socket.socket, tester: socket.socket, settings: Mapping[str, Any]) -> None:
        self._connection, self._tester = connection, tester
        with open(settings["memory"], "r+b") as file:
            self.memory = GuestMemory(file.fileno(), 0, BYTES)
        self._silent = 0

    def wait(self, seconds: float | None, others: Sequence[int] = ()) -> Iterator[Access]:
        """As that of :class:`.guest.VhostUser`."""
        messages = self._connection.fileno()
        ready, _, _ = select.select([messages, *others], [], [], seconds)
        silent = self.memory.bytes[BEGIN + SIZE]
        if silent != self._silent:
            self._silent = silent
            yield Access(CONFIG_WRITE, 0, SILENT, 1, bytes([silent]))
        if messages in ready:
            yield from self._receive()

    def _receive(self) -> Iterator[Access]:
        room = socket.CMSG_SPACE(_FILES * array.array("i").itemsize)
        header, beside, _, _ = self._connection.recvmsg(_HEADER.size, room, socket.MSG_WAITALL)
        if not header:
            raise Gone
        for _, _, data in beside:
            for file in array.array("i", data):
                os.close(file)
        code, size = _HEADER.unpack(header)
        payload = self._connection.recv(size, socket.MSG_WAITALL) if size else b""
        if code in (_SHARE, _IRQ):
            return
        answer = b""
        if code != _RESET:
            access = self._access(code, payload)
            yield access
            answer = access.answer
        self._connection.sendall(_HEADER.pack(_REPLY, 8) + answer[:8].ljust(8, b"\0"))

    def _access(self, code: int, payload: bytes) -> Access:
        if code in (_CONFIG_WRITE, _CONFIG_READ):
            address, value, size = _CONFIG.unpack(payload)
            known = CONFIG_WRITE if code == _CONFIG_WRITE else CONFIG_READ
        elif code in (_WRITE, _READ):
            address, value, size = _BAR.unpack(payload)
            known = WRITE if code == _WRITE else READ
        else:
            raise ValueError(f"QEMU sends message {code}")
        return Access(known, 0, address, size, value.to_bytes(8, "little")[:size])

    def interrupt(self, address: int, data: int) -> None:
        """Sends the message of an interrupt."""
        self._tester.sendall(f"writel {address:#x} {data:#x}\n".encode())
        # It is answered, which says nothing.
        if select.select([self._tester], [], [], 0)[0]:
            self._tester.recv(1 << 16)


def debian_kernel(version: str) -> tuple[Path, Path]:
    """The image of a kernel that Debian has installed here, of a version, as 6.1, or the newest, and what modules for it are
    built with.
    """
    pattern = f"vmlinuz-{version}[.-]*" if version else "vmlinuz-*"
    images = [path for path in Path("/boot").glob(pattern) if _build_of(path).is_dir()]
    if shutil.which(_QEMU) is None or not images:
        raise KernelError(
            "the machine is QEMU with a kernel of Debian's: on Debian apt install qemu-system-x86 linux-image-amd64 "
            "linux-headers-amd64"
        )
    newest = max(images, key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])
    return newest, _build_of(newest)


def _build_of(image: Path) -> Path:
    return Path("/lib/modules", image.name.partition("-")[2], "build")


def command(image: Path, initrd: Path, tester: Path, memory: str, connection: int) -> list[str]:
    """QEMU, whose first serial line is what the guest's program says, and whose second, a file, what its kernel does."""
    backend = f"memory-backend-file,id=memory,size={BYTES},mem-path={memory},share=on"
    device = f"x-pci-proxy-dev,fd={connection},addr={FUNCTION.rpartition(':')[2]}"
    return [
        *(_QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(_PROCESSORS), "-m", f"{BYTES >> 20}M"),
        *("-object", backend, "-machine", "pc,memory-backend=memory", "-device", device),
        *("-qtest", f"unix:{tester}", "-qtest-log", "none"),
        *("-serial", "stdio", "-serial", f"file:{initrd.with_name('log')}"),
        *("-kernel", str(image), "-initrd", str(initrd), "-append", " ".join(_KERNEL)),
    ]
