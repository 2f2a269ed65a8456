"""What an engine says about itself, so that one driver serves every engine."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.spec.engine import LOSSY
from cdma.hdl.spec.protection import MEMORY_CODES, PROTECTIONS
from cdma.hdl.spec.records import RecordOptions
from cdma.hdl.spec.registers.engine import IDENT, VERSION

from .errors import DriverError
from .registers import Registers

__all__ = ["Geometry", "read_geometry"]

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
