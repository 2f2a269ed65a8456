"""How a port of a memory answers, cycle by cycle: plain Python, for a bench of pins and for one of a simulator in Python.

In each cycle a bench says what has passed the port's channels, and asks what the port offers and takes next.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .memory import DATA, Memory

__all__ = ["CHANNELS", "Answer", "Beat", "Port"]

#: The channels of a port.
CHANNELS = ("ar", "r", "aw", "w", "b")


class Beat(NamedTuple):
    """A beat that is read."""

    id: int
    data: int
    response: int
    last: bool


class Answer(NamedTuple):
    """The response to a write."""

    id: int
    response: int


@dataclass
class _Burst:
    """A burst of which ``beats`` are left, the next of them at ``address``, in the cycle ``due`` at the earliest.

    ``delayed``
        Says that the delay of this beat has been drawn.
    """

    id: int
    address: int
    beats: int
    beat_bytes: int
    due: int
    response: int = 0
    delayed: bool = False

    def go_on(self) -> None:
        """Goes on to the next beat."""
        self.address += self.beat_bytes
        self.beats -= 1
        self.delayed = False


class Port:
    """A port of a memory, with a bus of ``bus_bytes`` bytes, which answers in the order of the addresses.

    ``pauses``
        The share of cycles in which each channel rests.
    ``owns``
        Says which addresses may come to this port.
    ``see_burst``
        Called with ``ar`` or ``aw``, the ID, the address, the beats and the bytes of a beat that have come to this port.
    ``slow``, ``silent``
        Cycles that this port alone stands still at every 256th byte; that it alone holds back its answers.
    """

    def __init__(self, memory: Memory, bus_bytes: int) -> None:
        self.memory, self.bus_bytes = memory, bus_bytes
        self.pauses = dict.fromkeys(CHANNELS, 0.0)
        self.owns: Callable[[int], bool] = lambda address: True
        self.see_burst: Callable[[str, int, int, int, int], None] = lambda *burst: None
        self.slow = 0
        self.silent = False
        self._rng = random.Random(memory.rng.random())
        self._reads: deque[_Burst] = deque()
        self._writes: deque[_Burst] = deque()
        self._answers: deque[_Burst] = deque()

    def forget_reads(self) -> None:
        """Forgets the reads that a reset has cut off."""
        self._reads.clear()

    def forget_writes(self) -> None:
        """Forgets the writes that a reset has cut off."""
        self._writes.clear()
        self._answers.clear()

    @property
    def reading(self) -> bool:
        """Whether data are owed."""
        return bool(self._reads)

    @property
    def writing(self) -> bool:
        """Whether data or a response are outstanding."""
        return bool(self._writes or self._answers)

    def rests(self, channel: str) -> bool:
        """Draws whether a channel rests in the next cycle."""
        share = self.pauses[channel]
        return share > 0 and self._rng.random() < share

    # ---- What has passed.

    def ask(self, way: str, cycle: int, id: int, address: int, beats: int, beat_bytes: int) -> None:
        """An address that was taken on ``ar`` or ``aw``."""
        self.see_burst(way, id, address, beats, beat_bytes)
        if way == "aw":
            self._writes.append(_Burst(id, address, beats, beat_bytes, cycle))
            return
        if self.memory.first_read is None and address >= DATA:
            self.memory.first_read = cycle
        self._reads.append(_Burst(id, address, beats, beat_bytes, cycle + self.memory.latency))

    def put(self, cycle: int, data: int, strobes: int) -> None:
        """A beat that was taken on W. One that is answered with an error is not stored."""
        burst, memory = self._writes[0], self.memory
        assert self.owns(burst.address), f"{burst.address:#x} is another port's"
        start = burst.address // self.bus_bytes * self.bus_bytes
        found = memory.response(burst.address, burst.beat_bytes)
        burst.response = burst.response or found
        whole = data.to_bytes(self.bus_bytes, "little")
        for first, end in _runs(strobes, self.bus_bytes):
            memory.guard(start + first, end - first)
            if not found:
                memory.put(start + first, whole[first:end])
        burst.go_on()
        if not burst.beats:
            burst.due = cycle + memory.latency
            self._answers.append(self._writes.popleft())
            if burst.address > DATA:
                memory.last_answer = max(memory.last_answer or 0, burst.due)

    # ---- What is offered and taken next.

    def takes_read(self) -> bool:
        """Whether AR is ready in the next cycle."""
        return self._has_room(len(self._reads)) and not self.rests("ar")

    def takes_write(self) -> bool:
        """Whether AW is ready in the next cycle."""
        return self._has_room(len(self._writes)) and not self.rests("aw")

    def takes_data(self, cycle: int) -> bool:
        """Whether W is ready in the next cycle, for data whose address has come."""
        return bool(self._writes) and self._is_due(self._writes[0], cycle) and not self.rests("w")

    def next_beat(self, cycle: int) -> Beat | None:
        """What R offers next; None where nothing is due."""
        if not self._reads or not self._is_due(self._reads[0], cycle) or self.rests("r"):
            return None
        burst = self._reads[0]
        assert self.owns(burst.address), f"{burst.address:#x} is another port's"
        response = self.memory.response(burst.address, burst.beat_bytes)
        start = burst.address // self.bus_bytes * self.bus_bytes
        data = 0 if response else int.from_bytes(self.memory.read(start, self.bus_bytes), "little")
        burst.go_on()
        if not burst.beats:
            self._reads.popleft()
        return Beat(burst.id, data, response, not burst.beats)

    def next_answer(self, cycle: int) -> Answer | None:
        """What B offers next; None where nothing is due."""
        held = self.memory.frozen or self.silent
        if not self._answers or held or self._answers[0].due > cycle or self.rests("b"):
            return None
        burst = self._answers.popleft()
        return Answer(burst.id, burst.response)

    def _has_room(self, in_flight: int) -> bool:
        return self.memory.depth is None or in_flight < self.memory.depth

    def _is_due(self, burst: _Burst, cycle: int) -> bool:
        """Whether the next beat of the oldest burst may pass."""
        if self.memory.frozen or self.silent:
            return False
        if not burst.delayed:
            burst.delayed = True
            if burst.address % 256 == 0 and (self.memory.delay or self.slow):
                burst.due = max(burst.due, cycle + self._rng.randint(0, self.memory.delay) + self.slow)
        return burst.due <= cycle


def _runs(strobes: int, lanes: int) -> Iterator[tuple[int, int]]:
    """The first lane, and that past the last, of each run of lanes that are written."""
    if strobes == (1 << lanes) - 1:
        yield 0, lanes
        return
    lane = 0
    while strobes >> lane:
        first = lane
        while strobes >> lane & 1:
            lane += 1
        if lane > first:
            yield first, lane
        lane += 1
