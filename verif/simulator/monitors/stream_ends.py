"""The bench's ends of a stream: a source and a sink that look at every clock edge, and patterns of their pauses.

All signals are read as the clock edge sees them, and driven just after it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from .rules import Beat, StreamRules, level, number

#: Called once per cycle with whether the other side is willing; returns whether to hold back in the next cycle.
Pause = Callable[[bool], bool]


def always(rng: random.Random) -> Pause:
    """Never pauses."""
    return lambda willing: False


def scattered(rng: random.Random) -> Pause:
    """Pauses in random cycles, rarely or often."""
    share = rng.choice((0.05, 0.3, 0.5, 0.8, 0.95))
    draw = rng.random
    return lambda willing: draw() < share


def bursts(rng: random.Random) -> Pause:
    """Runs of cycles on and off, each of random length."""
    longest = rng.choice((3, 8, 20))
    left, holding = 0, False

    def pause(willing: bool) -> bool:
        nonlocal left, holding
        if left == 0:
            left, holding = rng.randint(1, longest), not holding
        left -= 1
        return holding

    return pause


def long_stalls(rng: random.Random) -> Pause:
    """Free running with now and then a stall long enough to fill every buffer."""
    left = 0

    def pause(willing: bool) -> bool:
        nonlocal left
        if left:
            left -= 1
        elif rng.random() < 0.02:
            left = rng.randint(30, 150)
        return left > 0

    return pause


def never_first(rng: random.Random) -> Pause:
    """A sink that is ready only once it has seen valid, for one cycle: a valid that waits for it hangs."""
    waited = 0

    def pause(willing: bool) -> bool:
        nonlocal waited
        waited = waited + 1 if willing else 0
        return waited == 0 or waited % 2 == 0

    return pause


def once(first: int, cycles: int) -> Pause:
    """Pauses once, for some cycles, from the first-th beat on offer."""
    seen = 0

    def pause(willing: bool) -> bool:
        nonlocal seen
        seen += willing
        return first <= seen < first + cycles

    return pause


def spaced(cycles: int) -> Pause:
    """Offers a beat each so many ``cycles``."""
    seen = 0

    def pause(willing: bool) -> bool:
        nonlocal seen
        seen += 1
        return seen % cycles != 0

    return pause


def after_waiting(cycles: int) -> Pause:
    """Accepts each beat only when it has been on offer for ``cycles``."""
    waited = 0

    def pause(willing: bool) -> bool:
        nonlocal waited
        waited = waited + 1 if willing else 0
        return waited < cycles

    return pause


#: For sources and sinks alike; a source sees its own ready as the other side.
PATTERNS = {
    "always": always,
    "scattered": scattered,
    "bursts": bursts,
    "long_stalls": long_stalls,
    "never_first": never_first,
}


def pattern(rng: random.Random, *, sink: bool) -> tuple[str, Pause]:
    """A random pattern and its name. A source must not wait for ready, so ``never_first`` is for sinks."""
    names = [name for name in PATTERNS if sink or name != "never_first"]
    name = rng.choice(names)
    return name, PATTERNS[name](rng)


class StreamSource:
    """Drives one stream with the ``fields`` of each tuple of ``queue``; an accepted payload becomes zeros, ones or
    anything."""

    def __init__(self, dut: Any, name: str, fields: Sequence[str]) -> None:
        self.name = name
        self._fields = [getattr(dut, f"{name}_t{part}") for part in fields]
        self._valid = getattr(dut, f"{name}_tvalid")
        self._ready = level(getattr(dut, f"{name}_tready"))
        self.queue: deque[tuple[int, ...]] = deque()
        self.pause: Pause = always(random.Random())
        #: The cycles in which a transfer happened.
        self.taken: list[int] = []
        #: The cycles in which the design was ready and nothing was offered.
        self.held_back: list[int] = []
        #: May hold back the transfer at the head of the queue for as long as it says so.
        self.gate: Callable[[], bool] | None = None
        self._offering = False
        self._rng = random.Random(name)
        self._valid.value = 0

    def step(self, cycle: int) -> bool:
        """One clock edge; whether a transfer happened."""
        moved = False
        ready = self._ready()
        if self._offering and ready:
            self.queue.popleft()
            self.taken.append(cycle)
            moved = True
        elif ready and self.queue and not self._offering:
            self.held_back.append(cycle)
        if moved or not self._offering:
            offering = bool(self.queue) and not self.pause(ready) and (self.gate is None or not self.gate())
            if offering:
                self._drive(self.queue[0])
            elif self._offering:
                # What has no valid may be anything.
                bits = self._rng.choice((lambda bits: 0, lambda bits: (1 << bits) - 1, self._rng.getrandbits))
                self._drive([bits(len(signal)) for signal in self._fields])
            if offering != self._offering:
                self._valid.value = int(offering)
                self._offering = offering
        return moved

    def _drive(self, values: Sequence[int]) -> None:
        for signal, value in zip(self._fields, values, strict=True):
            signal.value = value

    def clear(self) -> None:
        self.queue.clear()
        self._offering = False
        self._valid.value = 0


class StreamSink:
    """Receives one stream, and watches its rules."""

    def __init__(self, dut: Any, name: str, rules: StreamRules, packed: bool) -> None:
        self.name = name
        self.rules = rules
        self._data = number(getattr(dut, f"{name}_tdata"))
        self._keep = number(getattr(dut, f"{name}_tkeep")) if packed else None
        self._last = level(getattr(dut, f"{name}_tlast")) if packed else None
        self._valid = level(getattr(dut, f"{name}_tvalid"))
        self._ready = getattr(dut, f"{name}_tready")
        self.pause: Pause = always(random.Random())
        self.received: list[tuple[int, Beat]] = []
        #: The cycles in which something was offered and not taken.
        self.held_back: list[int] = []
        self._willing = False
        self._ready.value = 0

    def step(self, cycle: int) -> Beat | None:
        """One clock edge; the beat on offer, whether accepted or not."""
        beat = None
        if self._valid():
            data = self._data()
            if self._keep is not None and self._last is not None:
                beat = Beat(data, self._keep(), self._last())
            else:
                beat = Beat(data)
        self.rules.sample(beat, self._willing)
        if beat is not None and self._willing:
            self.received.append((cycle, beat))
        elif beat is not None:
            self.held_back.append(cycle)
        willing = not self.pause(beat is not None)
        if willing != self._willing:
            self._ready.value = int(willing)
            self._willing = willing
        return beat

    def step_in_reset(self) -> None:
        """One clock edge with reset applied."""
        self.rules.reset(self._valid())

    def clear(self) -> None:
        self.received.clear()
        self._willing = False
        self._ready.value = 0
