"""What drivers keep: an engine's geometry and registers by name, rings and page lists in host memory, and push registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cdma.base.errors import CdmaError
from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.options import MEMORY_CODES, PAGE_BYTES, PROTECTIONS, packed_pages, paged
from cdma.hdl.spec.records import (
    COMPLETION,
    DESCRIPTOR,
    RECORD_BYTES,
    SHAPE_RECORD,
    RecordOptions,
    Status,
    completion_fields,
)
from cdma.hdl.spec.registers.declare import record_parts
from cdma.hdl.spec.registers.map import IDENT, VERSION, register_map
from cdma.hdl.spec.registers.optional import push_words
from cdma.sim.engine.memory import Completion, Descriptor, pack, unpack


class DriverError(CdmaError):
    """A request that this engine, or its present state, does not allow."""


@dataclass(frozen=True)
class EngineError:
    """The first error since the error registers were cleared."""

    status: Status
    tag: int
    address: int


#: Offsets and field positions are the same for every engine, so any configuration serves.
_MAP = register_map(EngineConfig(), every=True)


class Backend(Protocol):
    """What reaches the registers: a memory map, a simulation, a debugger."""

    def read32(self, address: int, /) -> int:
        """Reads the register at ``address`` from the engine's base."""

    def write32(self, address: int, value: int, /) -> object:
        """Writes it; the write has reached the engine when the call returns."""


class Registers:
    """Reads and writes registers and their fields by name: those of a queue pair, whose page is at ``base``."""

    def __init__(self, backend: Backend, base: int = 0) -> None:
        self._backend = backend
        self.base = base

    def read(self, name: str) -> int:
        return self._backend.read32(self.base + _MAP[name].address)

    def write(self, name: str, value: int) -> None:
        self._backend.write32(self.base + _MAP[name].address, value)

    def write_array(self, name: str, index: int, value: int) -> None:
        self._backend.write32(self.base + _MAP[f"{name}[0]"].address + 4 * index, value)

    def fields(self, name: str) -> dict[str, int]:
        """Reads a register, and returns the values of its fields."""
        value = self.read(name)
        return {field.name: field.get(value) for field in _MAP[name].register.fields}

    def set(self, name: str, **fields: int) -> None:
        """Writes the named fields of a register, and 0 to the others."""
        self.write(name, _MAP[name].register.put(**fields))

    def read64(self, name: str) -> int:
        """Reads two registers as one number: the low half first, because a counter then latches the high half."""
        low = self.read(f"{name}_low")
        return self.read(f"{name}_high") << 32 | low

    def write64(self, name: str, value: int) -> None:
        """Writes one number to two registers."""
        self.write(f"{name}_low", value & 0xFFFFFFFF)
        self.write(f"{name}_high", value >> 32)


#: What engines say that have no guards.
_NO_GUARDS = dict.fromkeys(
    ("register_protection", "memories_protect", "stream_id_bits", "substream_id_bits"), 0
)


@dataclass(frozen=True)
class Geometry:
    """The parameters of an engine that software needs."""

    version: tuple[int, int]
    word_bits: int
    window: int
    code_bits: int
    table_size: int
    lanes: int
    field_bits: int
    rotate: int
    zero: int
    align: int
    levels: int
    any_length: bool
    dev_data_bits: int
    dev_address_bits: int
    dev_align: int
    host_data_bits: int
    host_address_bits: int
    host_align: int
    burst_beats: int
    outstanding: int
    ring_entries: int
    units: int
    stripe_bytes: int
    crc: bool
    lossy: str
    keep_nonzero: bool
    sideband: bool
    user_bits: int
    register_protection: str
    memories_protect: str
    dimensions: int
    pages: bool
    delta: bool
    stream_id_bits: int
    substream_id_bits: int
    pairs: int
    messages: bool

    @property
    def records(self) -> RecordOptions:
        """The options that descriptors and completions have fields of."""
        return RecordOptions(
            crc=self.crc,
            lossy=self.lossy != LOSSY[0],
            dimensions=self.dimensions,
            pages=self.pages,
            delta=self.delta,
            stream_id_bits=self.stream_id_bits,
            substream_id_bits=self.substream_id_bits,
        )

    @property
    def entry_bits(self) -> int:
        """Bits of an entry of a table: those of the field, or of a word."""
        return self.field_bits or self.word_bits


def read_geometry(registers: Registers) -> Geometry:
    """Reads the geometry; raises :class:`DriverError` if there is no engine, or one of another register map."""
    ident = registers.read("engine.ident")
    if ident != IDENT:
        raise DriverError(f"no engine here: the first register reads {ident:#010x} instead of {IDENT:#010x}")
    version = registers.fields("engine.version")
    if version["major"] != VERSION[0]:
        raise DriverError(
            f"the engine has version {version['major']}.{version['minor']} of the register map; "
            f"this driver knows version {VERSION[0]}"
        )
    form = registers.fields("engine.stream_format")
    fields = registers.fields("engine.stream_fields")
    dev, host = (registers.fields(f"engine.{port}_port") for port in ("dev", "host"))
    bursts, limits = registers.fields("engine.bursts"), registers.fields("engine.limits")
    guards = registers.fields("engine.guards") if host["guarded"] else _NO_GUARDS
    return Geometry(
        version=(version["major"], version["minor"]),
        **form,
        field_bits=fields["field_bits"],
        rotate=fields["rotate"],
        zero=fields["zero"],
        align=1 << fields["align_log2"],
        levels=1 + fields["two_levels"],
        any_length=bool(fields["any_length"]),
        dev_data_bits=dev["data_bits"],
        dev_address_bits=dev["address_bits"],
        dev_align=1 << dev["align_log2"],
        host_data_bits=host["data_bits"],
        host_address_bits=host["address_bits"],
        host_align=1 << host["align_log2"],
        burst_beats=bursts["beats"],
        outstanding=bursts["outstanding"],
        ring_entries=1 << limits["ring_log2"],
        units=limits["units"],
        stripe_bytes=1 << limits["stripe_log2"],
        crc=bool(limits["crc"]),
        lossy=LOSSY[limits["lossy"]],
        keep_nonzero=bool(limits["keep_nonzero"]),
        sideband=bool(host["sideband"]),
        user_bits=host["user_bits"],
        register_protection=PROTECTIONS[guards["register_protection"]],
        memories_protect=MEMORY_CODES[guards["memories_protect"]],
        dimensions=dev["dimensions"],
        pages=bool(host["pages"]),
        delta=bool(fields["delta"]),
        stream_id_bits=guards["stream_id_bits"],
        substream_id_bits=guards["substream_id_bits"],
        pairs=1 + fields["more_pairs"] + 8 * fields["pairs_beyond"],
        messages=bool(host["messages"]),
    )


@dataclass(frozen=True)
class Pages:
    """Host memory of a descriptor in pages: its first address, its bytes, and the address of the list of further pages, or
    0."""

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
