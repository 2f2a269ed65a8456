"""How bytes go between the memory of a device and that of its host: one queue of copies each way, beside what computes.

On a GPU the queues are CUDA streams, from and to pinned memory. Events order what each does; the host waits for nothing but
where it must know. All memory of the GPU is of the stream that computes: what comes back is written once that stream has
reached the place where its memory was taken. So the allocator uses memory again in the order of that stream, and no tensor
is recorded for another one, which would keep its memory until the copies queued behind it have ended, too.

On a processor the queues are threads, which is a way to see what happens. They change no bit.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import CdmaError, ParameterError

#: The queues.
OUT, BACK = 0, 1
#: The target of a copy whose bytes are somebody's.
_NOTHING = torch.empty(0, dtype=torch.uint8)


class WrongReturn(CdmaError):
    """A tensor did not come back as it left."""


class Instant:
    """What an event of a GPU is on a processor: now, or when a thread has done its work."""

    def __init__(self, job: Future[None] | None = None) -> None:
        self.job, self.time = job, time.perf_counter()

    def query(self) -> bool:
        """Whether it has come."""
        return self.job is None or self.job.done()

    def synchronize(self) -> None:
        """Returns when it has come; raises what went wrong in the work."""
        if self.job is not None:
            self.job.result()

    def elapsed_time(self, end: Instant) -> float:
        """Milliseconds to another one."""
        return 1e3 * (end.time - self.time)


class Copy:
    """Bytes on their way.

    ``target``: Where they arrive.
    ``nbytes``: How many they are.
    ``begin``, ``end``: Events around the copy itself, without its time in the queue.
    """

    def __init__(self, pairs: Sequence[tuple[Tensor, Tensor]], begin: Any, end: Any, device: torch.device):
        self.target, self.nbytes = pairs[0][1], pairs[0][1].numel()
        self.begin, self.end = begin, end
        # Read or written until the copy has ended, whoever lets go of it.
        self._memory: Sequence[Any] = pairs if device.type == "cuda" else ()
        self._device = device
        # The CUDA stream in whose order the allocator uses the memory again.
        self._stream = torch.cuda.current_stream(device) if device.type == "cuda" else None

    def wait(self) -> None:
        """Has what is computed next come behind the copy."""
        if self._device.type == "cuda":
            reading = torch.cuda.current_stream(self._device)
            reading.wait_event(self.end)
            if reading != self._stream and self.target.is_cuda:
                self.target.record_stream(reading)
        else:
            self.end.synchronize()
        self.let_go()

    def take(self) -> Tensor:
        """Waits, and hands the target over: a copy that is kept for its times keeps no memory of the device."""
        self.wait()
        target, self.target = self.target, _NOTHING
        return target

    def let_go(self) -> None:
        """Memory is the allocator's again, if nobody else has it."""
        self._memory = ()


class Transport:
    """The way between a device and its host.

    ``least_bytes``: Tensors of fewer bytes are not worth a copy: launching one and two kernels takes as long as so many.
    """

    def __init__(self, device: torch.device) -> None:
        if device.type not in ("cpu", "cuda"):
            raise ParameterError(
                f"the device is {device}; tensors move from and to a CUDA GPU or the processor"
            )
        if device.type == "cuda" and not torch.cuda.is_available():
            raise ParameterError(f"the device is {device}; there is no GPU here that PyTorch can use")
        self.device, self._on_card = device, device.type == "cuda"
        self.least_bytes = 1 << 16 if self._on_card else 1 << 10
        self._queues = [
            torch.cuda.Stream(device) if self._on_card else ThreadPoolExecutor(1, f"cdma-{way}")
            for way in ("out", "back")
        ]
        self._under_way: deque[Copy] = deque()

    def __del__(self) -> None:
        for copy in getattr(self, "_under_way", ()):
            copy.end.synchronize()

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> Copy:
        """Copies bytes of the device to memory of the host, once what was computed until now is there.

        There are one or more sources and targets, and the first are those of the tensor.
        """
        return self._begin(OUT, pairs, None)

    def back(self, source: Tensor, after: Any = None) -> Copy:
        """Copies bytes of the host to new memory of the device, once the event ``after`` has come."""
        target = torch.empty(source.numel(), dtype=torch.uint8, device=self.device)
        return self._begin(BACK, [(source, target)], after)

    def memory(self, size: int) -> Tensor:
        """Bytes of the host that copies can reach."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=self._on_card)

    def mark(self) -> Any:
        """An event of now, among what is computed."""
        return self._event(torch.cuda.current_stream(self.device)) if self._on_card else Instant()

    def seconds(self, begin: Any, end: Any) -> float:
        """The seconds between two events; waits for the later one."""
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3

    def _begin(self, way: int, pairs: Sequence[tuple[Tensor, Tensor]], after: Any) -> Copy:
        queue: Any = self._queues[way]
        if not self._on_card:
            begin, end = Instant(), Instant()
            begin.job = end.job = queue.submit(self._ran, way, pairs, after, begin, end)
            return Copy(pairs, begin, end, self.device)
        while self._under_way and self._under_way[0].end.query():
            self._under_way.popleft().let_go()
        queue.wait_stream(torch.cuda.current_stream(self.device))
        if isinstance(after, torch.cuda.Event):
            queue.wait_event(after)
        elif after is not None:
            after.synchronize()
        first = self._event(queue)
        with torch.cuda.stream(queue):
            self._move(way, pairs)
        copy = Copy(pairs, first, self._event(queue), self.device)
        self._under_way.append(copy)
        return copy

    def _ran(
        self, way: int, pairs: Sequence[tuple[Tensor, Tensor]], after: Any, begin: Instant, end: Instant
    ) -> None:
        if after is not None:
            after.synchronize()
        begin.time = time.perf_counter()
        self._move(way, pairs)
        end.time = time.perf_counter()

    def _move(self, way: int, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
        for source, target in pairs:
            target.copy_(source, non_blocking=True)

    @staticmethod
    def _event(queue: Any) -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record(queue)
        return event
