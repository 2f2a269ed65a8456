"""The memory and ports of the engine model, and descriptors and completions as objects and as 64 bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from cdma.base.errors import ParameterError
from cdma.hdl.spec.options import OWNER_FIELDS, Owner, owner_mask
from cdma.hdl.spec.records import (
    COMPLETION,
    DESCRIPTOR,
    RECORD_BYTES,
    SHAPE_RECORD,
    Mode,
    RecordField,
    Status,
    shape_values,
)
from cdma.hdl.spec.shape import Shape

Response = Literal["SLVERR", "DECERR"]


class BusError(Exception):
    """An access was answered with an error: ``response``, by the byte at ``address``."""

    def __init__(self, response: Response, address: int) -> None:
        super().__init__(f"{response} at {address:#x}")
        self.response: Response = response
        self.address = address


class Memory:
    """``buffer`` at ``base``. An access outside answers DECERR, one to an address in ``faults`` the response there."""

    def __init__(self, buffer: bytearray | memoryview, base: int = 0) -> None:
        self.buffer = memoryview(buffer)
        self.base = base
        self.faults: dict[int, Response] = {}

    def _slice(self, address: int, count: int) -> slice:
        first = address - self.base
        for fault in sorted(self.faults):
            if address <= fault < address + count:
                raise BusError(self.faults[fault], fault)
        if first < 0:
            raise BusError("DECERR", address)
        if first + count > len(self.buffer):
            raise BusError("DECERR", max(address, self.base + len(self.buffer)))
        return slice(first, first + count)

    def read(self, address: int, count: int) -> bytes:
        """Reads ``count`` bytes from ``address`` on, or raises :class:`BusError`."""
        return bytes(self.buffer[self._slice(address, count)])

    def write(self, address: int, data: bytes) -> None:
        """Writes ``data`` from ``address`` on, or raises :class:`BusError` and writes nothing."""
        self.buffer[self._slice(address, len(data))] = data


_PAGE = 4096


@dataclass(frozen=True)
class AddressSpace:
    """The addresses of a port, and the window that its registers allow: pages from ``base`` to ``limit``, both included."""

    address_bits: int
    base: int = 0
    limit: int = (1 << 64) - 1

    def allows(self, address: int, count: int) -> bool:
        """Whether the pages of ``count`` bytes from ``address`` on lie in the window and the address space."""
        first, last = address // _PAGE, (address + count - 1) // _PAGE
        lowest, highest = self.base // _PAGE, self.limit // _PAGE
        return lowest <= first and last <= highest and last < 1 << (self.address_bits - 12)


@dataclass
class Port:
    """One AXI4 port; ``window()`` returns base and limit as the window registers have them."""

    memory: Memory
    data_bits: int
    address_bits: int
    window: Callable[[], tuple[int, int]]

    @property
    def beat(self) -> int:
        return self.data_bits // 8

    @property
    def space(self) -> AddressSpace:
        """The addresses that the port may use now."""
        return AddressSpace(self.address_bits, *self.window())

    def beats(self, address: int, count: int) -> int:
        """Counts the beats that ``count`` bytes from ``address`` on touch."""
        return -(-(address % self.beat + count) // self.beat) if count else 0

    def read(self, address: int, count: int) -> bytes:
        """Reads ``count`` bytes, in whole beats; raises :class:`BusError` with the address of the first bad beat."""
        before = address % self.beat
        try:
            data = self.memory.read(address - before, self.beats(address, count) * self.beat)
        except BusError as error:
            raise BusError(error.response, error.address // self.beat * self.beat) from None
        return data[before : before + count]

    def write(self, address: int, data: bytes, burst_beats: int) -> BusError | None:
        """Writes all bursts of ``data``; returns the error of the first one that failed, with the burst's address."""
        longest = min(burst_beats * self.beat, _PAGE)
        failed = None
        position = 0
        while position < len(data):
            start = address + position
            count = min(longest - start % longest, len(data) - position)
            try:
                self.memory.write(start, data[position : position + count])
            except BusError as error:
                failed = failed or BusError(error.response, start)
            position += count
        return failed


def pack(record: tuple[RecordField, ...], values: Mapping[str, int]) -> bytes:
    """Returns the record as it lies in memory; fields without a value are 0."""
    if unknown := set(values) - {field.name for field in record}:
        raise ParameterError(f"a record is given a value of {min(unknown)!r}, which is none of its fields")
    number, lsb = 0, 0
    for field in record:
        value = values.get(field.name, 0)
        if not 0 <= value < 1 << field.bits:
            raise ParameterError(
                f"{field.name} is {value!r}; the field has {field.bits} bits, so 0 to {(1 << field.bits) - 1}"
            )
        number |= value << lsb
        lsb += field.bits
    return number.to_bytes(RECORD_BYTES, "little")


def unpack(record: tuple[RecordField, ...], raw: bytes | bytearray | memoryview) -> dict[str, int]:
    """Returns all fields of a record, the reserved ones too."""
    if len(raw) != RECORD_BYTES:
        raise ParameterError(f"a record has {RECORD_BYTES} bytes; these are {len(raw)}")
    number = int.from_bytes(raw, "little")
    values = {}
    for field in record:
        values[field.name] = number & ((1 << field.bits) - 1)
        number >>= field.bits
    return values


@dataclass(frozen=True)
class Descriptor:
    """One transfer; the fields are those of :data:`cdma.hdl.spec.records.DESCRIPTOR`.

    ``shape``: Says what lies in device memory, from the source of an offload or the destination of a prefetch on;
        ``length`` is the shape's.
    ``pages``: The address of the list of host pages after the first one, in which the destination of an offload or the
        source of a prefetch is; 0: host memory is one run of bytes.
    ``delta``: The stream has the data XOR a base in device memory, whose address is ``compressed_length`` of an offload and
        ``capacity`` of a prefetch: see :meth:`with_base`.
    ``owner``: Whose the transfer is; None: nobody's, which is stream 0.
    """

    source: int
    destination: int
    length: int
    capacity: int
    mode: Mode = Mode.ZVC
    compressed_length: int = 0
    tag: int = 0
    interrupt: bool = False
    check_crc: bool = False
    crc: int = 0
    step: int = 0
    shape: Shape | None = None
    pages: int = 0
    delta: bool = False
    owner: Owner | None = None

    def with_base(self, base: int, *, offload: bool) -> Descriptor:
        """Returns the same transfer with a base at an address."""
        if offload:
            return replace(self, delta=True, compressed_length=base)
        return replace(self, delta=True, capacity=base)

    def pack(self) -> bytes:
        """Returns the descriptor as it lies in memory, with the extension that says its shape, if it has one."""
        values = {
            field.name: int(getattr(self, field.name))
            for field in fields(self)
            if field.name not in ("shape", "pages", "owner")
        }
        if self.owner is not None:
            values |= {"owned": 1, "owner": self.owner.word}
        values |= {"pages_low": self.pages & 0xFFFFFFFF, "pages_high": self.pages >> 32}
        if self.shape is None:
            return pack(DESCRIPTOR, values)
        return pack(DESCRIPTOR, values | {"shaped": 1}) + pack(SHAPE_RECORD, shape_values(self.shape))


@dataclass(frozen=True)
class Completion:
    """How a transfer ended; the fields are those of :data:`cdma.hdl.spec.records.COMPLETION`."""

    tag: int
    status: Status
    bytes_read: int = 0
    bytes_written: int = 0
    literals: int = 0
    cycles: int = 0
    address: int = 0
    crc: int = 0
    range_count: int = 0
    range_first: int = 0

    @classmethod
    def unpack(cls, raw: bytes | bytearray | memoryview) -> Completion:
        """Returns the completion that lies in memory."""
        values = unpack(COMPLETION, raw)
        numbers = {field.name: values[field.name] for field in fields(cls) if field.name != "status"}
        return cls(status=Status(values["status"]), **numbers)

    def pack(self, phase: int) -> bytes:
        """Returns the completion as it lies in memory, written in a pass of the ring with that phase."""
        values = {field.name: int(getattr(self, field.name)) for field in fields(self)}
        return pack(COMPLETION, values | {"phase": phase})


@dataclass(frozen=True)
class OwnerRule:
    """What the owner of a descriptor must be, in the bits of ``mask``."""

    value: int = 0
    mask: int = 0

    def allows(self, owner: int) -> bool:
        return not (owner ^ self.value) & self.mask


#: Any owner is allowed.
EVERYBODY = OwnerRule()


def stray_owner(descriptor: Mapping[str, int], fields: Mapping[str, tuple[int, int]]) -> bool:
    """Whether a descriptor has an owner that an engine with these ``fields`` does not have, or a malformed one."""
    owner, owned = descriptor["owner"], descriptor["owned"]
    if owner & ~owner_mask(fields) or (owned and not fields) or (owner and not owned):
        return True
    valid = owner >> OWNER_FIELDS["substream_valid"][0]
    return bool(not valid and owner & (1 << OWNER_FIELDS["substream"][1]) - 1)
