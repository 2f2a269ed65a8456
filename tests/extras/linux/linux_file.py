"""The file of the driver for Linux without a kernel: it is a file, and the golden model moves what is asked for."""

from __future__ import annotations

import ctypes
import errno
import os
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import Mode, Status
from cdma.sim.codec.model import compress_words, decompress_words
from cdma.sim.codec.words import word_dtype, words_to_bytes
from cdma_linux import device, requests
from cdma_linux.requests import Batch, Direction, Info, Range, Reply, Request


class LinuxFile:
    """What ``ioctl`` does to such a file. Transfers are done when their replies are taken.

    ``fail``
        Statuses of the next transfers.
    ``most``
        Transfers in flight beyond which there is no room.
    ``interrupts``
        So many of the next calls are interrupted by a signal.
    """

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, *, most: int = 5, bytes: int = 1 << 20
    ) -> None:
        self.path = folder / "cdma0"
        self.path.write_bytes(bytearray(bytes))
        self.format = Format(word_bits=16, code_bits=2, values=(0,))
        self.info = Info(
            word_bits=16, window=32, code_bits=2, padding=1, table=3, device_bytes=bytes, host_bytes=1 << 20
        )
        self.most, self.allocated, self.interrupts = most, 0, 0
        self.fail: list[Status] = []
        self.running: deque[Request] = deque()
        #: The format of each transfer, by its cookie.
        self.tables: dict[int, Format] = {}
        self.done: list[Request] = []
        monkeypatch.setattr(device.fcntl, "ioctl", self._ioctl)

    def _ioctl(self, file: int, code: int, argument: Any) -> None:
        if self.interrupts:
            self.interrupts -= 1
            raise InterruptedError(errno.EINTR, "")
        if code == requests.INFO:
            ctypes.pointer(argument)[0] = self.info
        elif code == requests.ALLOCATE:
            self._allocate(argument)
        elif code == requests.SUBMIT:
            self._submit(Request.from_address(self._only(argument, Request)))
        else:
            assert code == requests.REAP
            ctypes.pointer(Reply.from_address(self._only(argument, Reply)))[0] = self._reap(file)

    def _only(self, batch: Batch, kind: type[ctypes.Structure]) -> int:
        """Where the only one of a row is."""
        assert (batch.count, batch.size) == (1, ctypes.sizeof(kind))
        return batch.first

    def _allocate(self, wanted: Range) -> None:
        if self.allocated + wanted.bytes > self.info.device_bytes:
            raise OSError(errno.ENOSPC, "")
        wanted.address = self.allocated
        self.allocated += wanted.bytes

    def _submit(self, request: Request) -> None:
        if len(self.running) == self.most:
            raise OSError(errno.EAGAIN, "")
        self.running.append(Request.from_buffer_copy(request))
        values = (ctypes.c_uint32 * request.entries).from_address(request.table) if request.entries else ()
        self.tables[request.cookie] = self.format.with_table(values) if values else self.format

    def _reap(self, file: int) -> Reply:
        if not self.running:
            raise OSError(errno.ENOENT, "")
        request = self.running.popleft()
        self.done.append(request)
        status = self.fail.pop(0) if self.fail else Status.OK
        if status is not Status.OK:
            return Reply(cookie=request.cookie, status=status, fault=12)
        dtype, form = word_dtype(self.format), self.tables[request.cookie]
        if request.direction == Direction.OFFLOAD:
            made = os.pread(file, request.bytes, request.device)
            if request.mode != Mode.RAW:
                made = words_to_bytes(compress_words(np.frombuffer(made, dtype), form))
            assert len(made) <= request.host_bytes
            ctypes.memmove(request.host, made, len(made))
        else:
            made = ctypes.string_at(request.host, request.host_bytes)
            if request.mode != Mode.RAW:
                words = request.bytes // dtype.itemsize
                made = words_to_bytes(decompress_words(np.frombuffer(made, dtype), words, form))
            os.pwrite(file, made, request.device)
        return Reply(cookie=request.cookie, bytes_written=len(made), fault=requests.NO_FAULT)
