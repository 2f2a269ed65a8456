"""What moves bytes between the memory of a device and that of the host, in order. A link in software: one thread for
each direction copies at a given rate. It computes no bit differently.

The link between a GPU and its host: a stream of copies for each direction, from and to pinned memory.

Events order what each stream does; the host waits for nothing but where it must know. All memory of the GPU is of the
stream that computes: what comes back is written once that stream has reached the place where its memory was taken. So the
allocator uses memory again in the order of that stream, and no tensor is recorded for another one, which would keep its
memory until the copies queued behind it have ended, too.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import torch
from torch import Tensor

#: The target of a copy whose bytes are somebody's.
NOTHING = torch.empty(0, dtype=torch.uint8)


class Ordered(Protocol):
    """Work that ends at some time, which what comes after it must wait for."""

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        ...

    def synchronize(self) -> None:
        """Returns when it has ended; raises what went wrong in it."""
        ...


class Copy(Ordered, Protocol):
    """Bytes on their way.

    ``target``: Where they arrive.
    ``nbytes``: How many they are.
    ``begin``, ``end``: Marks of the link's clock around the copy itself, without its time in the queue.
    """

    target: Tensor
    nbytes: int

    @property
    def begin(self) -> Any: ...

    @property
    def end(self) -> Any: ...

    def wait(self) -> None:
        """Has what this thread computes next wait for the bytes."""
        ...

    def take(self) -> Tensor:
        """Waits, and hands the target over: a copy that is kept for its times keeps no memory of the device."""
        ...


class Link(Protocol):
    """One queue of copies for each direction; both run beside each other and beside what computes.

    ``least_bytes``: Tensors of fewer bytes are not worth a copy.
    """

    least_bytes: int

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> Copy:
        """Copies bytes of the device to memory of the host, once what was computed until now is there.

        There are one or more sources and targets, and the first are those of the tensor. Sources must be held until the
        copy has ended.
        """
        ...

    def back(self, source: Tensor, after: Ordered | None) -> Copy:
        """Copies bytes of the host to new memory of the device, once ``after`` has ended.

        Source and target must be held until the copy has ended, or until what is computed waits for it.
        """
        ...

    def memory(self, size: int) -> Tensor:
        """Bytes of the host that the link can reach."""
        ...

    def mark(self) -> Any:
        """A mark of now, among what is computed."""
        ...

    def passed(self, mark: Any) -> bool:
        """Whether what was computed before a mark has ended."""
        ...

    def seconds(self, begin: Any, end: Any) -> float:
        """The seconds between two marks, once both have been passed."""
        ...


class PacedCopy:
    """Bytes on their way between two places in the same memory."""

    def __init__(self, target: Tensor) -> None:
        self.target, self.nbytes = target, target.numel()
        self.begin = self.end = 0.0
        self.job: Future[None] = Future()

    @property
    def finished(self) -> bool:
        """Whether the bytes have arrived."""
        return self.job.done()

    def synchronize(self) -> None:
        """Returns when the bytes have arrived; raises what went wrong on the way."""
        self.job.result()

    #: What computes is this thread.
    wait = synchronize

    def take(self) -> Tensor:
        """Returns the bytes, which have arrived and are the caller's alone."""
        self.wait()
        target, self.target = self.target, NOTHING
        return target


class PacedLink:
    """A link between two parts of the processor's memory.

    ``out_rate``, ``back_rate``: Bytes per second.
    ``delay``: Called before each copy, for the seconds that it waits besides.
    """

    least_bytes = 1024

    def __init__(self, out_rate: float, back_rate: float, delay: Callable[[], float] = lambda: 0.0) -> None:
        self._rates = out_rate, back_rate
        self._delay = delay
        self._threads = tuple(ThreadPoolExecutor(1, f"cdma-{way}") for way in ("out", "back"))

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> PacedCopy:
        """Copies bytes of the device to memory of the host."""
        return self._queue(0, pairs, None)

    def back(self, source: Tensor, after: Ordered | None) -> PacedCopy:
        """Copies bytes of the host to new memory of the device."""
        return self._queue(1, [(source, torch.empty_like(source))], after)

    def memory(self, size: int) -> Tensor:
        """Bytes of the host."""
        return torch.empty(size, dtype=torch.uint8)

    def mark(self) -> float:
        """A mark of now."""
        return time.perf_counter()

    def passed(self, mark: float) -> bool:
        """What was computed before a mark has ended."""
        return True

    def seconds(self, begin: float, end: float) -> float:
        """The seconds between two marks."""
        return end - begin

    def _queue(self, way: int, pairs: Sequence[tuple[Tensor, Tensor]], after: Ordered | None) -> PacedCopy:
        copy = PacedCopy(pairs[0][1])
        copy.job = self._threads[way].submit(self._copy, copy, pairs, after, self._rates[way])
        return copy

    def _copy(
        self, copy: PacedCopy, pairs: Sequence[tuple[Tensor, Tensor]], after: Ordered | None, rate: float
    ) -> None:
        if after is not None:
            after.synchronize()
        time.sleep(self._delay())
        copy.begin = time.perf_counter()
        for source, target in pairs:
            target.copy_(source)
        time.sleep(max(0.0, copy.begin + copy.nbytes / rate - time.perf_counter()))
        copy.end = time.perf_counter()


class CardCopy:
    """Bytes on their way in a stream of copies.

    ``coming``: Copies back that nothing has waited for yet.
    """

    def __init__(
        self, target: Tensor, begin: torch.cuda.Event, end: torch.cuda.Event, coming: set[CardCopy]
    ) -> None:
        self.target, self.nbytes = target, target.numel()
        self.begin, self.end = begin, end
        self._device, self._coming = target.device, coming

    @property
    def finished(self) -> bool:
        """Whether the bytes have arrived."""
        return bool(self.end.query())

    def synchronize(self) -> None:
        """Returns when the bytes have arrived."""
        self.end.synchronize()

    def wait(self) -> None:
        """Has what is computed next wait for the bytes."""
        torch.cuda.current_stream(self._device).wait_event(self.end)
        self._coming.discard(self)

    def take(self) -> Tensor:
        """Has what is computed next wait for the bytes, which are the caller's alone."""
        self.wait()
        target, self.target = self.target, NOTHING
        return target


class CardLink:
    """The link of a GPU."""

    #: Launching a copy and two kernels takes as long as these bytes.
    least_bytes = 1 << 16

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._out, self._back = torch.cuda.Stream(device), torch.cuda.Stream(device)
        # Memory that is being read or written, whoever lets go of it.
        self._leaving: deque[tuple[torch.cuda.Event, list[Tensor]]] = deque()
        self._coming: set[CardCopy] = set()

    def __del__(self) -> None:
        for copy in self._coming:
            copy.synchronize()
        for event, _ in self._leaving:
            event.synchronize()

    def out(self, pairs: Sequence[tuple[Tensor, Tensor]]) -> CardCopy:
        """Copies bytes of the GPU to pinned memory."""
        self._out.wait_stream(torch.cuda.current_stream(self._device))
        begin = self._mark(self._out)
        with torch.cuda.stream(self._out):
            for source, target in pairs:
                target.copy_(source, non_blocking=True)
        end = self._mark(self._out)
        self._let_go()
        self._leaving.append((end, [source for source, _ in pairs]))
        return CardCopy(pairs[0][1], begin, end, self._coming)

    def back(self, source: Tensor, after: Ordered | None) -> CardCopy:
        """Copies bytes of pinned memory to new memory of the GPU."""
        # A backward pass has no copies out that would do it.
        self._let_go()
        with torch.cuda.device(self._device):
            target = torch.empty(source.numel(), dtype=torch.uint8, device=self._device)
        self._back.wait_stream(torch.cuda.current_stream(self._device))
        if isinstance(after, CardCopy):
            self._back.wait_event(after.end)
        elif after is not None:
            after.synchronize()
        begin = self._mark(self._back)
        with torch.cuda.stream(self._back):
            target.copy_(source, non_blocking=True)
        end = self._mark(self._back)
        copy = CardCopy(target, begin, end, self._coming)
        self._coming.add(copy)
        return copy

    def memory(self, size: int) -> Tensor:
        """Pinned bytes of the host."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def mark(self) -> torch.cuda.Event:
        """An event in the stream that computes."""
        return self._mark(torch.cuda.current_stream(self._device))

    def passed(self, mark: torch.cuda.Event) -> bool:
        """Whether the GPU has come to an event."""
        return bool(mark.query())

    def seconds(self, begin: torch.cuda.Event, end: torch.cuda.Event) -> float:
        """The seconds between two events; waits for the later one."""
        end.synchronize()
        return float(begin.elapsed_time(end)) / 1e3

    def _let_go(self) -> None:
        """Has the allocator have memory again that has been read."""
        while self._leaving and self._leaving[0][0].query():
            self._leaving.popleft()

    @staticmethod
    def _mark(stream: torch.cuda.Stream) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record(stream)
        return event
