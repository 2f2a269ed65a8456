"""What a driver refuses, and what an engine reports. The registers of an engine by name, through whatever reaches them.
What an engine says about itself, so that one driver serves every engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cdma.base.errors import CdmaError
from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.options import MEMORY_CODES, PROTECTIONS
from cdma.hdl.spec.records import RecordOptions, Status
from cdma.hdl.spec.registers.engine import IDENT, VERSION
from cdma.hdl.spec.registers.map import register_map

__all__ = ["Backend", "DriverError", "EngineError", "Geometry", "Registers", "read_geometry"]


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
        """Reads a register."""
        return self._backend.read32(self.base + _MAP[name].address)

    def write(self, name: str, value: int) -> None:
        """Writes a register."""
        self._backend.write32(self.base + _MAP[name].address, value)

    def write_array(self, name: str, index: int, value: int) -> None:
        """Writes one register of an array."""
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
        stream_id_bits=guards["stream_id_bits"],
        substream_id_bits=guards["substream_id_bits"],
        pairs=1 + fields["more_pairs"],
        messages=bool(host["messages"]),
    )
