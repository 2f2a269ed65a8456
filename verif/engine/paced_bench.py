"""The bench that measures: its memories have a fixed latency, never hold back, and may be written everywhere."""

from __future__ import annotations

from .measure import MOST_BYTES
from .memory import Memory
from .ring import RingBench

__all__ = ["DESTINATION", "SIZE", "SOURCE", "PacedBench"]

#: Where data are read from, and where they are written to.
SOURCE = 0x100000
DESTINATION = SOURCE + MOST_BYTES
#: Of each memory.
SIZE = DESTINATION + MOST_BYTES


class PacedBench(RingBench):
    """The bench with memories that take an address, a beat and give a beat in every cycle."""

    def make_memory(self) -> Memory:
        memory = Memory(self.rng, SIZE)
        memory.allow(0, SIZE)
        return memory
