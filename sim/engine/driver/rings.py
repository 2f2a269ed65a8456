"""The descriptor ring and the completion ring of a channel, as software keeps them in host memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.spec.records import RECORD_BYTES
from cdma.sim.engine.descriptors import Completion

from .errors import DriverError
from .geometry import Geometry

__all__ = ["RingMemory", "Rings"]


@dataclass(frozen=True)
class RingMemory:
    """Host memory for the rings: the engine finds ``buffer`` at ``address``, which is a multiple of 64."""

    address: int
    buffer: bytearray | memoryview


class Rings:
    """Both rings, empty at first.

    Indexes run modulo twice the engine's largest ring, as in the engine. The slot of an index is the index modulo
    the number of entries, which both rings have.
    """

    def __init__(self, memory: RingMemory, entries: int | None, geometry: Geometry) -> None:
        most = geometry.ring_entries
        entries = min(64, most) if entries is None else entries
        if entries < 2 or entries > most or entries & (entries - 1):
            raise DriverError(
                f"the rings are to have {entries!r} entries; a power of two from 2 to {most} is allowed"
            )
        size = entries * RECORD_BYTES
        if memory.address % RECORD_BYTES or not 0 <= memory.address < 1 << geometry.host_address_bits:
            raise DriverError(
                f"the rings are to be at {memory.address:#x}; a multiple of {RECORD_BYTES} is needed, within "
                f"{geometry.host_address_bits} bits"
            )
        if len(memory.buffer) < 2 * size:
            raise DriverError(
                f"two rings of {entries} entries take {2 * size} bytes; the buffer has {len(memory.buffer)}"
            )
        self.entries = entries
        #: Where the engine finds each ring.
        self.base, self.completion_base = memory.address, memory.address + size
        #: The address behind both.
        self.end = self.completion_base + size
        #: The index of the next descriptor to submit, and of the next completion to take.
        self.tail = self.completion_tail = 0
        self._modulus = 2 * most
        buffer = memoryview(memory.buffer).cast("B")
        self._descriptors, self._completions = buffer[:size], buffer[size : 2 * size]

    def clear(self) -> None:
        """Gives every completion slot the phase 0, so that none looks written in the first pass."""
        self._completions[:] = bytes(len(self._completions))

    def put(self, records: Sequence[bytes]) -> None:
        """Writes descriptors into the next slots."""
        for record in records:
            slot = self._slot(self.tail)
            self._descriptors[slot : slot + RECORD_BYTES] = record
            self.tail = (self.tail + 1) % self._modulus

    def take(self, most: int, head: int | None = None) -> tuple[list[Completion], bool]:
        """Takes up to ``most`` completions, and says whether one was lost after them.

        Without ``head`` the phase in memory says which completions have been written. With ``head``, the engine's
        index of the next completion to write, one before it whose phase is old is lost: its write failed.
        """
        found: list[Completion] = []
        while len(found) < most:
            slot = self._slot(self.completion_tail)
            last = slot + RECORD_BYTES - 1
            # The last word is written last. Its phase vouches for the whole slot, which is read after it.
            phase = self._completions[last] >> 7
            due = 1 - (self.completion_tail // self.entries & 1)
            if self.completion_tail == head if head is not None else phase != due:
                break
            self.completion_tail = (self.completion_tail + 1) % self._modulus
            if phase != due:
                # The content of the slot would look new in the next pass of the ring.
                self._completions[last] = self._completions[last] & 0x7F | due << 7
                return found, True
            found.append(Completion.unpack(self._completions[slot : slot + RECORD_BYTES]))
        return found, False

    def _slot(self, index: int) -> int:
        return index % self.entries * RECORD_BYTES
