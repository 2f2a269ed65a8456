"""The values that engine options may have: counters, shares, stripes, codes, slices, sideband, pages, owners, clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdma.base.errors import ParameterError

from .format import Format, StreamFormat
from .settings import check_range, check_settings, setting

#: The name and the meaning of each. They count modulo 2**64.
COUNTERS = (
    ("cycles", "Clock cycles with at least one descriptor in flight."),
    ("bytes_read", "Bytes read from sources, summed over completions."),
    ("bytes_written", "Bytes written to destinations, summed over completions."),
    ("literals", "Words stored as literals, summed over completions."),
    ("raw_words", "Raw words that were compressed or decompressed: literals / raw_words is the density."),
    ("descriptors", "Descriptors completed, whether well or not."),
    ("errors", "Descriptors that ended with an error, and completions that could not be written."),
    ("read_beats", "Beats of data taken from the read port."),
    ("write_beats", "Beats of data given to the write port."),
    (
        "stall_source",
        "Cycles with a descriptor in flight in which the codec could have taken a beat but none had been read.",
    ),
    (
        "stall_codec",
        "Cycles in which a beat was there but the codec, its output not blocked, did not take it.",
    ),
    ("stall_sink", "Cycles in which the codec had a beat but the write side did not take it."),
)


#: The most pairs of an engine, log2 of the bytes from the registers of one to those of the next, and log2 of the pairs whose
#: shares have registers at once.
MOST_PAIRS = 64
PAIR_SPAN_LOG2 = 12
BANK_LOG2 = 3
WEIGHT_BITS, LEVEL_BITS = 8, 2
#: Bits of a limit, in units, and of the cycles in which it holds.
LIMIT_BITS, PERIOD_BITS = 16, 20
#: log2 of the bytes of a unit, and of the units that a weight of 1 is worth.
UNIT_LOG2, TURN_LOG2 = 8, 4


def units_of(length: int) -> int:
    """The units that a descriptor of so many raw bytes costs."""
    return max(1, -(-length >> UNIT_LOG2))


def splittable(format: StreamFormat) -> str | None:
    """Why no hardware finds the windows of a stream of this format; None if there is such hardware."""
    if format.levels > 1:
        return "levels is 2; a stream is split by headers, and windows behind a mask may have none"
    if isinstance(format, Format):
        return None
    return f"the codec is {format.codec}; a stream is split by headers of the codec {Format.codec} only"


#: Bits of AxPROT that are looked at, and what they must be. Bit 0 is 1 in privileged accesses, bit 1 in those that are not
#: secure.
_RIGHTS = {"none": (0b000, 0b000), "privileged": (0b001, 0b001), "secure": (0b010, 0b000)}

#: What ``register_protection`` may be, in the order of the numbers by which the capability register says it.
PROTECTIONS = tuple(_RIGHTS)

#: What ``memories_protect`` may be, in the order of the numbers by which the capability register says it.
MEMORY_CODES = ("none", "parity", "secded")

#: AxPROT of software that may use every engine: privileged and secure.
USUAL_PROT = 0b001


def rights(protection: str) -> tuple[int, int]:
    """An access may use the registers if the bits of its AxPROT that the first number has are those of the second one."""
    return _RIGHTS[protection]


NO_SLICES = "none"
_CHOICES = (NO_SLICES, "in", "out", "in,out")


def slices_setting() -> Any:
    """The field of the parameter."""
    return setting(
        NO_SLICES,
        "handshakes with a register slice, by the direction of their data: none (the default), in, out, or in,out, after "
        "which no combinational path crosses the block",
        metavar="PORTS",
    )


def check_slices(value: object) -> None:
    """Refuses what names no ports."""
    if value not in _CHOICES:
        raise ParameterError(
            f"register_slices is {value!r}; it must be {', '.join(map(repr, _CHOICES[:-1]))} or {_CHOICES[-1]!r}: "
            "the handshakes that get a slice, by the direction of their data"
        )


def has_slices(value: str, direction: str) -> bool:
    """Whether the handshakes whose data go ``in`` or ``out`` have a slice."""
    return direction in value.split(",")


def slices_row(value: str) -> dict[str, object]:
    """The row for the head of generated files."""
    return {} if value == NO_SLICES else {"register slices": value}


#: What transactions are for: data in device memory, data in host memory, descriptors and completions.
SIDEBAND_TARGETS = ("dev", "host", "ring")
#: Where the registers have each signal, and the most bits of AxUSER that they have room for.
SIDEBAND_POSITIONS = {"cache": 0, "prot": 4, "qos": 8, "user": 16}
SIDEBAND_USER_BITS = 16

#: What AxCACHE may be: without the bit that says modifiable, AXI4 allows neither of the bits of allocation.
AXCACHE = (0, 1, 2, 3, 6, 7, 10, 11, 14, 15)


def _axcache(of: str) -> int:
    value: int = setting(
        0b0011, f"AxCACHE of {of}", allowed=AXCACHE, why="AXI4 reserves the other values of AxCACHE"
    )
    return value


@dataclass(frozen=True)
class Sideband:
    """The signals of AR and AW that the engine gives and does not use."""

    dev_axcache: int = _axcache("data in device memory")
    host_axcache: int = _axcache("data in host memory")
    ring_axcache: int = _axcache("descriptors and completions")
    axprot: int = setting(0, "AxPROT of all transactions", allowed=range(8), why="AxPROT has 3 bits")
    axqos: int = setting(0, "AxQOS of all transactions", allowed=range(16), why="AxQOS has 4 bits")
    axuser_bits: int = setting(
        0, "width of AxUSER; 0: no such port", allowed=range(65), why="bits of AxUSER; 0: no port"
    )
    axuser: int = setting(0, "AxUSER of all transactions")

    def __post_init__(self) -> None:
        check_settings(self)
        check_range(
            "axuser", self.axuser, 0, (1 << self.axuser_bits) - 1, "axuser_bits says how many bits it has"
        )

    def values(self, target: str) -> dict[str, tuple[int, int]]:
        """Width and value of each signal for one of :data:`SIDEBAND_TARGETS`, by its name after ``aw`` or ``ar``."""
        cache = getattr(self, f"{target}_axcache")
        values = {"cache": (4, cache), "prot": (3, self.axprot), "qos": (4, self.axqos)}
        return values | ({"user": (self.axuser_bits, self.axuser)} if self.axuser_bits else {})

    def describe(self) -> dict[str, object]:
        """A row for the head of generated files, where anything is not as by default."""
        if self == Sideband():
            return {}
        user = f", AxUSER {self.axuser:#x} of {self.axuser_bits} bits" if self.axuser_bits else ""
        return {
            "sideband": f"AxCACHE dev {self.dev_axcache:04b}, host {self.host_axcache:04b}, rings {self.ring_axcache:04b}, "
            f"AxPROT {self.axprot:03b}, AxQOS {self.axqos:04b}{user}"
        }


PAGE_LOG2 = 12
PAGE_BYTES = 1 << PAGE_LOG2
#: Bytes of an entry of a list: the address of a page, little-endian.
ENTRY_BYTES = 8
#: The most bytes of host memory that a descriptor with a list moves: so its list is within a page.
MOST_PAGED = PAGE_BYTES // ENTRY_BYTES * PAGE_BYTES
#: Reads of a list in flight at once, of each channel.
LIST_BURSTS = 2
#: Bits of an address that tell its bytes apart.
LEAST_PAGED_BITS = (2 * MOST_PAGED - 1).bit_length()


def paged(runs: Sequence[tuple[int, int]]) -> tuple[int, int, list[int]]:
    """The first address, the bytes, and the further pages of runs of ``(address, bytes)``, in this order.

    A run is any number of pages that follow one another; only the first may begin, and only the last may end, within a page.
    """
    if not runs:
        raise ParameterError("a list of pages has no run of bytes; it must have one at least")
    pages: list[int] = []
    for number, (address, count) in enumerate(runs):
        if count < 1:
            raise ParameterError(
                f"run {number} of a list of pages has {count} bytes; it must have one at least"
            )
        if number and address % PAGE_BYTES:
            raise ParameterError(
                f"run {number} of a list of pages begins at {address:#x}; only the first may begin within a page"
            )
        if number < len(runs) - 1 and (address + count) % PAGE_BYTES:
            raise ParameterError(
                f"run {number} of a list of pages ends at {address + count:#x}; only the last may end within a page"
            )
        begin = address // PAGE_BYTES * PAGE_BYTES
        pages += range(begin, address + count, PAGE_BYTES)
    total = sum(count for _, count in runs)
    if total > MOST_PAGED:
        raise ParameterError(f"a list of pages has {total} bytes; at most {MOST_PAGED} are allowed")
    return runs[0][0], total, pages[1:]


def packed_pages(pages: Sequence[int]) -> bytes:
    """A list as it lies in memory."""
    return b"".join(page.to_bytes(ENTRY_BYTES, "little") for page in pages)


#: Where a word of 32 bits has them, and with how many bits at most.
OWNER_FIELDS = {"substream": (0, 20), "stream": (20, 11), "substream_valid": (31, 1)}
#: The signals of AXI5 that say them, after ``aw`` or ``ar``.
OWNER_PORTS = {"substream": "mmussid", "stream": "mmusid", "substream_valid": "mmussidv"}
MOST_SUBSTREAM_BITS, MOST_STREAM_BITS, _ = (bits for _, bits in OWNER_FIELDS.values())


def owner_fields(stream_bits: int, substream_bits: int) -> dict[str, tuple[int, int]]:
    """The first bit and the number of bits of each field that an engine with so many bits has."""
    has = {"substream": substream_bits, "stream": stream_bits, "substream_valid": int(substream_bits > 0)}
    return {name: (OWNER_FIELDS[name][0], bits) for name, bits in has.items() if bits}


def owner_mask(fields: Mapping[str, tuple[int, int]]) -> int:
    """The bits of a word that these fields are."""
    return sum(((1 << bits) - 1) << lsb for lsb, bits in fields.values())


@dataclass(frozen=True)
class Owner:
    """A stream ID, and a substream ID; None: it has none."""

    stream: int = 0
    substream: int | None = None

    def __post_init__(self) -> None:
        check_range("stream", self.stream, 0, (1 << MOST_STREAM_BITS) - 1, "a descriptor has so many bits")
        check_range(
            "substream",
            self.substream or 0,
            0,
            (1 << MOST_SUBSTREAM_BITS) - 1,
            "a descriptor has so many bits",
        )

    @property
    def word(self) -> int:
        """Both as descriptors and registers have them."""
        values = {
            "substream": self.substream or 0,
            "stream": self.stream,
            "substream_valid": int(self.substream is not None),
        }
        return sum(value << OWNER_FIELDS[name][0] for name, value in values.items())


#: Stream 0, without a substream: what a channel allows after a reset.
NOBODY = Owner()


NO_CLOCKS = "none"
#: The clock of what has none of its own.
ACLK = "aclk"
#: What may have a clock of its own, and the port of that.
PARTS = {"device": "dev_aclk", "host": "host_aclk", "registers": "s_axil_aclk"}


@dataclass(frozen=True)
class Clocks:
    """The clocks of an engine: ``core`` is that of the device ports, the codecs and all that is not at another port."""

    core: str = ACLK
    host: str = ACLK
    registers: str = ACLK

    @classmethod
    def of(cls, value: str) -> Clocks:
        """Those that the parameter names."""
        named = value.split(",")
        return cls(*(clock if part in named else ACLK for part, clock in PARTS.items()))

    @property
    def host_crosses(self) -> bool:
        """Whether the host port has another clock than the core."""
        return self.host != self.core

    @property
    def registers_cross(self) -> bool:
        """Whether the registers have another clock than the core."""
        return self.registers != self.core


def reset_of(clock: str) -> str:
    """The port of the reset that is synchronous to a clock."""
    return clock.replace("aclk", "aresetn")


def need_one_clock(config: object, what: str) -> None:
    """Refuses an engine with several clocks for what drives one."""
    if (value := getattr(config, "clocks", NO_CLOCKS)) != NO_CLOCKS:
        raise ParameterError(
            f"clocks is {value!r}; it must be {NO_CLOCKS!r} for {what}, which drives one clock"
        )


def clocks_setting() -> Any:
    """The field of the parameter."""
    return setting(
        NO_CLOCKS,
        f"parts with a clock and a reset of their own: {NO_CLOCKS} (the default), or any of {', '.join(PARTS)}, with commas "
        "between them",
        metavar="PARTS",
    )


def check_clocks(value: object) -> None:
    """Refuses what names no parts."""
    named = value.split(",") if isinstance(value, str) else []
    if value != NO_CLOCKS and named != [part for part in PARTS if part in named]:
        raise ParameterError(
            f"clocks is {value!r}; it must be {NO_CLOCKS!r}, or some of {','.join(PARTS)} in this order, which are what "
            "may have a clock of its own"
        )
