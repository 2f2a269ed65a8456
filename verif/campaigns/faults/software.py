"""The software of one channel: it submits descriptors and collects completions, through rings or registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, completion_fields
from cdma.hdl.spec.registers.declare import record_parts
from cdma.hdl.spec.registers.optional import push_words
from cdma.sim.engine.memory import unpack

from .machine import Machine

#: How descriptors and completions travel.
WAYS = ("ring", "direct")

#: Where the descriptors of a channel lie; completions follow.
_RINGS = {"offload": 0x1000, "prefetch": 0x4000}
_LARGEST_LOG2 = 6
_PHASE = 1 << 31
#: Cycles in which a descriptor is taken from the registers.
_TAKEN = 500


@dataclass(frozen=True)
class ErrorRecord:
    status: int
    address: int
    tag: int


class Software:
    """One channel. After a reset of the engine, :meth:`start` begins anew.

    ``size``: The most descriptors that may be handed over at once.
    """

    def __init__(self, machine: Machine, channel: str, way: str) -> None:
        self.machine, self.channel, self.way = machine, channel, way
        self.log2 = min(_LARGEST_LOG2, machine.config.ring_entries.bit_length() - 1)
        self.size = 1 << self.log2 if way == "ring" else 1
        self.ring = _RINGS[channel]
        self.completions = self.ring + (RECORD_BYTES << _LARGEST_LOG2)
        self._mask = 2 * machine.config.ring_entries - 1
        self.submitted = self.done = 0

    def move(self, ring: int) -> None:
        self.completions += ring - self.ring
        self.ring = ring

    def start(self, *, halt: bool = False, table: Sequence[int] = ()) -> None:
        """Sets the channel up after a reset, with these frequent values."""
        machine, channel = self.machine, self.channel
        self.submitted = self.done = 0
        for index, value in enumerate(table):
            machine.poke(f"{channel}.table[{index}]", entry=value)
        ring = int(self.way == "ring")
        if ring:
            machine.fill("host", self.completions, RECORD_BYTES << self.log2, 0)
            machine.allow("host", self.completions, RECORD_BYTES << self.log2)
            machine.poke(f"{channel}.ring_size", log2=self.log2)
            machine.poke(f"{channel}.ring_base_low", line=self.ring >> 6)
            machine.poke(f"{channel}.completion_base_low", line=self.completions >> 6)
            machine.poke(f"{channel}.ring_tail", value=0)
            machine.poke(f"{channel}.completion_tail", value=0)
        machine.poke(
            f"{channel}.control",
            enable=1,
            ring_enable=ring,
            completion_ring_enable=ring,
            halt_on_error=int(halt),
        )

    def forbid(self) -> None:
        """Makes the completions' memory not writable."""
        self.machine.allow("host", self.completions, RECORD_BYTES << self.log2, False)

    def submit(self, records: Sequence[bytes]) -> None:
        """Submits descriptors: to the ring with one doorbell, or to the registers."""
        for record in records:
            if self.way == "ring":
                self.machine.write("host", self.slot(self.submitted), record)
            else:
                self._push(record)
            self.submitted += 1
        if self.way == "ring":
            self.machine.poke(f"{self.channel}.ring_tail", value=self.submitted & self._mask)

    def _push(self, record: bytes) -> None:
        values = unpack(DESCRIPTOR, record)
        self.machine.expect("push.status", _TAKEN, pending=0)
        for register, word in push_words(self.machine.config.records, values).items():
            self.machine.poke_at(self.machine.registers[register].address, word)
        self.machine.poke("push.submit", **{self.channel: 1})

    def slot(self, index: int) -> int:
        return self.ring + index % (1 << self.log2) * RECORD_BYTES

    def completion_slot(self, index: int) -> int:
        return self.completions + index % (1 << self.log2) * RECORD_BYTES

    def ready(self, index: int, limit: int) -> bool:
        """Waits until the completion with an index is in memory, or in the registers where there is no ring."""
        if self.way == "direct":
            return self.machine.expect(f"{self.channel}.status", limit, completion_waiting=1)
        phase = 0 if index >> self.log2 & 1 else _PHASE
        return self.machine.wait("host", self.completion_slot(index) + RECORD_BYTES - 4, _PHASE, phase, limit)

    def counted(self, count: int, limit: int) -> bool:
        """Waits until that many completions of the ring have been written, or lost to an error."""
        return self.machine.expect(f"{self.channel}.completion_head", limit, value=count & self._mask)

    def take(self) -> dict[str, int]:
        """Reads the :meth:`ready` completion."""
        if self.way == "direct":
            return self._pop()
        found = self.peek(self.done)
        self.skip()
        return found

    def peek(self, index: int) -> dict[str, int]:
        """A slot of the ring of completions."""
        return unpack(COMPLETION, self.machine.read("host", self.completion_slot(index), RECORD_BYTES))

    def look(self, index: int) -> int:
        """The status of a completion that is :meth:`ready`; without a ring, there is one."""
        if self.way == "direct":
            return self.machine.peek(f"{self.channel}.completion_result", "status")
        return self.peek(index)["status"]

    def skip(self, count: int = 1) -> None:
        """Frees slots of the ring of completions."""
        self.done += count
        self.machine.poke(f"{self.channel}.completion_tail", value=self.done & self._mask)

    def _pop(self) -> dict[str, int]:
        values = {field.name: 0 for field in COMPLETION}
        for part in record_parts(completion_fields(self.machine.config.records), "result"):
            bits = self.machine.peek(f"{self.channel}.completion_{part.register}", part.field)
            values[part.record.name] |= bits << part.start
        self.machine.poke(f"{self.channel}.command", pop_completion=1)
        self.done += 1
        return values

    def flag(self, name: str) -> bool:
        return bool(self.machine.peek(f"{self.channel}.status", name))

    def error(self) -> ErrorRecord | None:
        """The error registers, which are cleared; None if they are not valid."""
        machine, channel = self.machine, self.channel
        if not machine.peek(f"{channel}.error", "valid"):
            return None
        high, low = (machine.peek(f"{channel}.error_address_{half}") for half in ("high", "low"))
        found = ErrorRecord(
            machine.peek(f"{channel}.error", "status"), high << 32 | low, machine.peek(f"{channel}.error_tag")
        )
        machine.poke(f"{channel}.command", clear_error=1)
        return found

    def command(self, **fields: int) -> None:
        """Acts on the channel: ``abort_now`` or ``resume``."""
        self.machine.poke(f"{self.channel}.command", **fields)
