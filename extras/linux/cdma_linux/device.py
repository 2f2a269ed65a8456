"""The engine behind ``/dev/cdmaN`` for a program in Python: arrays leave, and come back.

An array goes through the accelerator's memory: it is put there, and the engine offloads it to a buffer of this process; a
prefetch goes the other way. Large arrays go in parts, several of which are in flight.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.records import Mode, Status
from cdma.hdl.spec.settings import check_choice, check_range

from .requests import (
    ALLOCATE,
    CHECK_CRC,
    INFO,
    NO_FAULT,
    REAP,
    SUBMIT,
    Batch,
    Direction,
    Info,
    Range,
    Reply,
    Request,
)

Bytes = NDArray[np.uint8]

_PAGE = 4096
#: Places that a process takes of the accelerator's memory, and the part of this that they are at most.
_PLACES, _SHARE = 8, 8
#: Seconds between two tries to submit while transfers of others have all the room.
_PAUSE = 1e-3
#: Where the system's own words do not say what to do.
_ADVICE = {
    errno.ENOENT: "is not there: load cdma.ko where there is an engine, or have cdma linux --run simulate one",
    errno.ENOTTY: "is no engine: the driver's files are /dev/cdma0 and so on",
    errno.ENOSPC: "has no memory of the accelerator left: other processes have all of it",
    errno.ENODEV: "has lost its engine: it was taken away while the file was open",
}


class DeviceError(CdmaError):
    """The engine's file refuses something, or a transfer has ended in an error: ``status`` says in which."""

    def __init__(self, message: str, status: Status = Status.OK) -> None:
        super().__init__(message)
        self.status = status


def _aligned(size: int) -> Bytes:
    """So many bytes from the beginning of a page on, which an engine that takes lists of pages reaches itself."""
    room = np.empty(size + _PAGE, np.uint8)
    return room[-room.ctypes.data % _PAGE :][:size]


@dataclass(eq=False)
class _Transfer:
    """Bytes on their way between a place in the accelerator's memory and a buffer, or what has become of them."""

    direction: Direction
    mode: Mode
    bytes: int
    place: int
    buffer: Bytes
    step: int = 0
    table: tuple[int, ...] = ()
    crc: int | None = None
    reply: Reply | None = None


class Handle:
    """An array that has left, or is leaving. Its streams stay here, so it may come back more than once.

    ``shape``, ``dtype``: Those of the array.
    """

    def __init__(self, device: Device, array: NDArray[Any], parts: list[_Transfer]) -> None:
        self._device, self._parts = device, parts
        self.shape, self.dtype = array.shape, array.dtype
        self.raw_bytes = array.nbytes

    @property
    def streams(self) -> list[Bytes]:
        """What the engine has written for each part; waits for it."""
        return [part.buffer for part in self._left()]

    @property
    def nbytes(self) -> int:
        """Bytes of the streams; waits for them."""
        return sum(map(len, self.streams))

    def prefetch(self, *, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Has the engine bring the array back to the accelerator's memory, and returns what is there then.

        ``out``: An array of the same type and shape, in C order, for the elements.
        """
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif (out.shape, out.dtype) != (self.shape, self.dtype) or not out.flags.c_contiguous:
            raise ParameterError(
                f"out has {out.dtype} of shape {out.shape}; it must have {self.dtype} of shape {self.shape}, in C order"
            )
        self._device._bring_back(list(self._left()), out.reshape(-1).view(np.uint8))
        return out

    def _left(self) -> Iterator[_Transfer]:
        """The parts, each once it has left."""
        for part in self._parts:
            self._device._end(part)
            yield part


class Device:
    """An open engine, for one thread at a time.

    ``path``: Its file.
    """

    def __init__(self, path: str = "/dev/cdma0") -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise self._refusal(error) from None
        #: What the engine is, as the driver says.
        self.info = Info()
        try:
            self._ask(INFO, self.info)
            own = Range(bytes=_PLACES * self._most)
            self._ask(ALLOCATE, own)
        except DeviceError:
            os.close(self._file)
            raise
        #: Where in the accelerator's memory nothing is.
        self._places = list(range(own.address, own.address + own.bytes, self._most))
        self._running: dict[int, _Transfer] = {}
        self._submitted = 0

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; arrays that have not left by then do not come back."""
        os.close(self._file)

    def offload(
        self, array: NDArray[Any], *, mode: str = "zvc", table: Sequence[int] = (), step: int = 0
    ) -> Handle:
        """Sends an array to host memory, and returns before it is there.

        ``mode``: ``zvc`` leaves zeros out, ``fvc`` the values of the ``table``, ``raw`` copies.
        ``table``: The frequent values of mode ``fvc``, as words.
        ``step``: Of an engine with an error-bounded stage: the exponent of the step as a number stores it, or 0 for no
            loss. Not with ``raw``.
        """
        check_choice("mode", mode, ("zvc", "fvc", "raw"), "a mode")
        self._check_table(mode, table)
        self._check_step(mode, step)
        data, most, parts = np.ascontiguousarray(array).reshape(-1).view(np.uint8), self._most, []
        for begin in range(0, len(data), most):
            part = data[begin : begin + most]
            size = self._in_words(len(part))
            place = self._place()
            self._copy(os.pwritev, part, place)
            room = _aligned(size if mode == "raw" else self._bound(size))
            parts.append(
                _Transfer(Direction.OFFLOAD, Mode[mode.upper()], size, place, room, step, tuple(table))
            )
            self._submit(parts[-1])
        return Handle(self, array, parts)

    def _check_table(self, mode: str, table: Sequence[int]) -> None:
        if (mode == "fvc") != bool(table) or len(table) > self.info.table:
            raise ParameterError(
                f"table has {len(table)} values with mode {mode!r}; it must have 1 to {self.info.table} with 'fvc', none "
                "with others"
            )

    def _check_step(self, mode: str, step: int) -> None:
        if step and (mode == "raw" or not self.info.lossy):
            why = "a raw copy is exact" if self.info.lossy else "the engine has no error-bounded stage"
            raise ParameterError(f"step is {step} with mode {mode!r}; it must be 0, because {why}")
        check_range("step", step, 0, 255, "an exponent has 8 bits at most")

    def _bring_back(self, parts: list[_Transfer], out: Bytes) -> None:
        coming: list[tuple[_Transfer, Bytes]] = []
        for number, part in enumerate(parts):
            if len(coming) == _PLACES // 2:
                self._receive(*coming.pop(0))
            assert part.reply is not None
            crc = part.reply.crc if self.info.crc else None
            back = replace(part, direction=Direction.PREFETCH, place=self._place(), crc=crc, reply=None)
            self._submit(back)
            coming.append((back, out[number * self._most :][: self._most]))
        for each in coming:
            self._receive(*each)

    def _receive(self, back: _Transfer, target: Bytes) -> None:
        """Takes what has come back from the accelerator's memory."""
        self._end(back)
        self._copy(os.preadv, target, back.place)
        self._places.append(back.place)

    @property
    def _most(self) -> int:
        """The most bytes of a part: as many parts as there are places have room on both sides."""
        most = min(
            self.info.device_bytes // (_PLACES * _SHARE),
            self.info.host_bytes // (2 * _PLACES),
        )
        return max(most // _PAGE, 1) * _PAGE

    def _in_words(self, size: int) -> int:
        word = max(self.info.word_bits // 8, 1)
        return -(-size // word) * word

    def _bound(self, size: int) -> int:
        """The most bytes that a tensor of so many can become, as ``libcdma.h`` has it."""
        info = self.info
        windows = -(-(size * 8 // info.word_bits) // info.window)
        return size + windows * (info.window * info.code_bits // 8 + info.padding)

    def _place(self) -> int:
        """A place in the accelerator's memory with nothing in it."""
        while not self._places:
            self._take()
        return self._places.pop()

    def _submit(self, transfer: _Transfer) -> None:
        table = (ctypes.c_uint32 * len(transfer.table))(*transfer.table)
        request = Request(
            direction=transfer.direction,
            mode=transfer.mode,
            device=transfer.place,
            bytes=transfer.bytes,
            host=transfer.buffer.ctypes.data,
            host_bytes=len(transfer.buffer),
            cookie=self._submitted,
            flags=0 if transfer.crc is None else CHECK_CRC,
            crc=transfer.crc or 0,
            step=transfer.step,
            table=ctypes.addressof(table) if transfer.table else 0,
            entries=len(transfer.table),
        )
        while not self._ask(SUBMIT, Batch.of(request), errno.EAGAIN):
            if self._running:
                self._take()
            else:
                time.sleep(_PAUSE)
        self._running[self._submitted] = transfer
        self._submitted += 1

    def _end(self, transfer: _Transfer) -> None:
        """Waits for a transfer, and objects if it has ended in an error."""
        while transfer.reply is None:
            self._take()
        status = Status(transfer.reply.status)
        if status is not Status.OK:
            where = "" if transfer.reply.fault == NO_FAULT else f", at byte {transfer.reply.fault} of it"
            raise DeviceError(
                f"the {transfer.direction.name.lower()} of {transfer.bytes} bytes by {self.path} ended as "
                f"{status.name}{where}",
                status,
            )

    def _take(self) -> None:
        """Takes the next reply."""
        reply = Reply()
        self._ask(REAP, Batch.of(reply))
        transfer = self._running.pop(reply.cookie)
        transfer.reply = reply
        if transfer.direction is Direction.OFFLOAD:
            # What was not needed of the room goes.
            stream = _aligned(reply.bytes_written)
            stream[:] = transfer.buffer[: reply.bytes_written]
            transfer.buffer = stream
            self._places.append(transfer.place)

    def _ask(self, code: int, argument: ctypes.Structure, harmless: int = 0) -> bool:
        """Asks the driver; whether it has done so, if it may refuse with one error that is ``harmless``.

        What a signal interrupts goes on when its handler has returned.
        """
        while True:
            try:
                fcntl.ioctl(self._file, code, argument)
            except InterruptedError:
                continue
            except OSError as error:
                if error.errno == harmless:
                    return False
                raise self._refusal(error) from None
            return True

    def _copy(self, by: Any, data: Bytes, place: int) -> None:
        """Copies to the accelerator's memory, or from there."""
        try:
            by(self._file, [data], place)
        except OSError as error:
            raise self._refusal(error) from None

    def _refusal(self, error: OSError) -> DeviceError:
        code = error.errno or 0
        return DeviceError(f"{self.path} {_ADVICE.get(code, f'refuses: {os.strerror(code)}')}")
