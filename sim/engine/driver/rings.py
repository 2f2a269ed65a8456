"""Host memory in pages, as software hands it to the engine. The descriptor ring and the completion ring of a channel, as
software keeps them in host memory. Descriptors and completions through registers, without rings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.spec.options import PAGE_BYTES, packed_pages, paged
from cdma.hdl.spec.records import (
    COMPLETION,
    DESCRIPTOR,
    RECORD_BYTES,
    SHAPE_RECORD,
    RecordOptions,
    completion_fields,
)
from cdma.hdl.spec.registers.declare import record_parts
from cdma.hdl.spec.registers.optional import push_words
from cdma.sim.engine.memory import Completion, Descriptor, pack, unpack

from .geometry import DriverError, Geometry, Registers

__all__ = [
    "Pages",
    "RingMemory",
    "Rings",
    "list_pages",
    "push_pending",
    "read_completion",
    "write_descriptor",
]


@dataclass(frozen=True)
class Pages:
    """What a descriptor says of host memory in pages.

    ``address``
        Where it begins: the destination of an offload, the source of a prefetch.
    ``bytes``
        What there is room for: the capacity of an offload.
    ``pages``
        Where the list of the further pages is; 0 if there are none.
    """

    address: int
    bytes: int
    pages: int


def list_pages(runs: Sequence[tuple[int, int]], memory: RingMemory) -> Pages:
    """Writes the list of ``(address, bytes)`` into a page of ``memory``, which stays until the transfer has ended.

    Only the first run may begin, and only the last may end, within a page.
    """
    address, count, further = paged(runs)
    if memory.address % PAGE_BYTES or len(memory.buffer) < PAGE_BYTES:
        raise DriverError(
            f"the list is to be at {memory.address:#x}, in {len(memory.buffer)} bytes; it needs a page of {PAGE_BYTES}"
        )
    data = packed_pages(further)
    memoryview(memory.buffer).cast("B")[: len(data)] = data
    return Pages(address, count, memory.address if further else 0)


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


def push_pending(registers: Registers) -> bool:
    """Whether the descriptor in the registers still waits for its channel, either one."""
    return bool(registers.fields("push.status")["pending"])


def write_descriptor(
    registers: Registers, channel: str, descriptor: Descriptor, options: RecordOptions
) -> None:
    """Hands a descriptor over to an engine with ``options``; none may be pending."""
    raw = descriptor.pack()
    extension = None if descriptor.shape is None else unpack(SHAPE_RECORD, raw[RECORD_BYTES:])
    for register, word in push_words(options, unpack(DESCRIPTOR, raw[:RECORD_BYTES]), extension).items():
        registers.write(register, word)
    registers.set("push.submit", **{channel: 1})


def read_completion(registers: Registers, channel: str, options: RecordOptions) -> Completion | None:
    """Takes the completion that waits in the registers of a channel; None if there is none."""
    if not registers.fields(f"{channel}.status")["completion_waiting"]:
        return None
    values: dict[str, int] = {}
    for part in record_parts(completion_fields(options), "result"):
        word = registers.read(f"{channel}.completion_{part.register}")
        bits = word >> part.lsb & (1 << part.bits) - 1
        values[part.record.name] = values.get(part.record.name, 0) | bits << part.start
    registers.set(f"{channel}.command", pop_completion=1)
    return Completion.unpack(pack(COMPLETION, values))
