"""The configuration of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cdma.base.errors import ParameterError

from .codec import (
    CodecConfig,
    clock_gates_setting,
    codec_of,
    format_from_settings,
    format_settings,
    queue_setting,
)
from .format import Format, StreamFormat
from .options import (
    LIST_BURSTS,
    MEMORY_CODES,
    MOST_PAIRS,
    MOST_STREAM_BITS,
    MOST_SUBSTREAM_BITS,
    NO_CLOCKS,
    PAIR_SPAN_LOG2,
    PROTECTIONS,
    Clocks,
    Sideband,
    check_clocks,
    check_slices,
    clocks_setting,
    slices_row,
    slices_setting,
)
from .profiles import objections_to_options, objections_to_words
from .records import MAX_BYTES, RecordOptions, most_bytes
from .settings import check_choice, check_settings, own_settings, setting, split_settings
from .shape import MAX_DIMENSIONS, queued_rows
from .stage import NUMBERS, Quantisation

#: What ``group_ports`` may be, in words.
GROUP_PORTS = {"device": "a device port", "host": "the host port", "all": "every port"}
#: What ``lossy`` may be, in the order of the numbers by which the capability register says it.
LOSSY = ("none", *NUMBERS)


def _data_bits(port: str) -> Any:
    return setting(
        256,
        f"width of the {port} port's data",
        allowed=(64, 128, 256, 512, 1024),
        why="AXI4 port widths built here",
    )


def _address_bits(port: str) -> Any:
    return setting(
        64,
        f"width of the {port} port's addresses",
        allowed=range(13, 65),
        why="a descriptor holds 64 bits, and an address space has at least two pages of 4 KiB",
    )


@dataclass(frozen=True)
class EngineConfig:
    """What one engine is generated from; every part of it can stand in a TOML file.

    ``format``, ``lanes``: The codec of each channel: its stream format, and the words of one beat of its datapath.
        Choose ``lanes`` such that ``lanes * word_bits`` is not below the port widths, or the codec limits the rate.
    ``alignment``: Source and destination of a descriptor are multiples of a ``"beat"`` of their port, a ``"word"`` of
        the stream (a byte in a format with a field or words of 4 bits), or any ``"byte"``, as lengths of raw data are
        then. ``"word"`` and ``"byte"`` cost a shifter at each end of a channel. With several units, of host memory.
    ``burst_beats``: The longest burst. A burst never crosses a multiple of its own longest length, nor 4 KiB.
    ``group_bursts``, ``group_ports``: Where both channels are at work, reads and writes of these ports come in groups of so
        many bursts, as a DRAM likes it; 0: as they are. See docs/options/dram.md.
    ``outstanding``: The most bursts of data in flight at once, per port and direction. The rings have ``ring_reads``
        and ``ring_writes`` in flight on the host port besides.
    ``latency``: Cycles of memory latency that a reader hides: a beat of buffer for each, rounded up to a power of two.
        (At 200 GB/s and 350 ns that is 70 KB.)
    ``descriptors``: The most descriptors in flight at once, per channel, and the most that are fetched ahead from a
        ring; of three pairs or more: see ``fetched``.
    ``register_slices``: The channels of AXI4, AXI4-Lite and streams with a register slice: ``"in"`` for those whose
        payload goes into the engine (R and B of the memory ports, AW, W and AR of the registers, descriptors),
        ``"out"`` for the others (AR, AW and W, R and B of the registers, completions) and the interrupt, ``"in,out"``
        for all; or ``"none"``.
    ``units``: With more than one, device addresses belong to them in turn, ``stripe_bytes`` each, and a source or
        destination in device memory is a multiple of a window. See docs/architecture.md.
    ``sideband``: The sideband signals of the AXI4 ports.
    ``clock_gates``: Cells in a module of their own, which ``scan_enable`` opens. See docs/options/power.md.
    ``clocks``: Which of ``"device"`` (device ports and data path), ``"host"`` and ``"registers"`` have a clock and a
        reset of their own; the others have ``aclk``. See docs/options/clocks.md.
    ``memories_protect``: ``"secded"`` corrects one wrong bit of a memory's word and detects two; ``"parity"`` detects
        one. See docs/security.md.
    ``lossy``: The integers of the stage are as wide as words. See docs/lossy.md.

    ``docs/options/`` has what the other options are for.
    """

    format: StreamFormat = Format()
    lanes: int = setting(8, "words of one beat of the codec")
    dev_data_bits: int = _data_bits("device")
    host_data_bits: int = _data_bits("host")
    dev_address_bits: int = _address_bits("device")
    host_address_bits: int = _address_bits("host")
    alignment: str = setting(
        "beat",
        "what sources and destinations are multiples of: beat (of a port, the default), word, or byte, as lengths are then",
        allowed=("beat", "word", "byte"),
        why="what addresses are multiples of",
        metavar="UNIT",
    )
    burst_beats: int = setting(
        32,
        "beats of the longest burst",
        allowed=(4, 8, 16, 32, 64, 128, 256),
        why="a power of two, and AXI4 allows 256 beats",
    )
    outstanding: int = setting(
        16,
        "bursts of data in flight at once, per port and direction",
        allowed=range(1, 257),
        why="bursts in flight at once",
    )
    group_bursts: int = setting(
        0,
        "bursts that a port reads before it writes, and the other way, while both wait; 0: no groups",
        allowed=range(257),
        why="at most as many as are in flight",
    )
    group_ports: str = setting(
        "device",
        f"with --group-bursts: the ports that have groups: {', '.join(GROUP_PORTS)}",
        allowed=tuple(GROUP_PORTS),
        metavar="PORTS",
    )
    latency: int = setting(
        350,
        "cycles of memory latency that the read buffer hides",
        allowed=range(1, 65537),
        why="cycles that the read buffer hides",
    )
    read_buffer_beats: int = setting(
        0, "the read buffer itself; 0: a beat for each cycle of latency, up to a power of two"
    )
    write_buffer_beats: int = setting(0, "the write buffer; 0: four bursts")
    descriptors: int = setting(
        8,
        "descriptors in flight at once, per channel",
        allowed=(2, 4, 8, 16, 32),
        why="its queues are powers of two",
    )
    ring_entries: int = setting(
        1024,
        "entries of the largest ring",
        allowed=tuple(1 << log2 for log2 in range(1, 16)),
        why="a power of two, so that an index wraps by itself",
    )
    registers: bool = setting(
        True, "with registers, rings and interrupt (the default), or with descriptor and completion streams"
    )
    pipelined: bool = setting(False, "with codecs that are made for FPGAs, of more registers and memories")
    register_slices: str = slices_setting()
    queue: int = queue_setting()
    units: int = setting(
        1,
        "device ports, each with a compressor and a decompressor: 1, 2, 4, 6 or 8",
        allowed=(1, 2, 4, 6, 8),
        why="device memory ports, each with its codecs",
    )
    stripe_bytes: int = setting(
        4096,
        "bytes of device memory that lie at one of several device ports before the next one's",
        allowed=(256, 512, 1024, 2048, 4096),
        why="whole windows of every format, and no burst crosses 4 KiB",
    )
    crc: bool = setting(False, "with a CRC-32C of the raw bytes of each transfer, checked on request")
    sideband: Sideband = Sideband()
    sideband_registers: bool = setting(
        False, "with registers of AxCACHE, AxPROT, AxQOS and AxUSER in each channel"
    )
    register_protection: str = setting(
        PROTECTIONS[0],
        f"what an access to registers must be, or else it is refused: {', '.join(PROTECTIONS)}",
        allowed=PROTECTIONS,
        metavar="RIGHT",
    )
    open_windows: bool = setting(
        False, "the engine may touch all addresses after a reset, until software closes its address windows"
    )
    windows: bool = setting(
        True,
        "addresses of descriptors are checked against address windows (the default); without registers it may be off",
    )
    times: bool = setting(
        True,
        "with watchdogs, and completions say their cycles (the default); without registers it may be off",
    )
    longest_bytes: int = setting(
        MAX_BYTES,
        "the most raw bytes of a descriptor; fewer only without registers",
        allowed=tuple(1 << log2 for log2 in range(16, 33)),
        why="a power of two, so that lengths are compared by their upper bits",
        metavar="BYTES",
    )
    smallest_memory: int = setting(
        0,
        "bits of the smallest memory; those with fewer are flip-flops",
        allowed=range((1 << 20) + 1),
        why="0 leaves every memory one",
        metavar="BITS",
    )
    quiescence: bool = setting(
        False, "with a Q-channel: a controller asks before it takes the clock or the power"
    )
    clock_gates: bool = clock_gates_setting()
    clocks: str = clocks_setting()
    memories_protect: str = setting(
        MEMORY_CODES[0],
        f"checks of the words in memories, so that a flipped bit is noticed: {', '.join(MEMORY_CODES)}",
        allowed=MEMORY_CODES,
        metavar="CODE",
    )
    lossy: str = setting(
        LOSSY[0],
        "with an error-bounded stage, which makes words of numbers of this type where a descriptor has a step: "
        f"{', '.join(LOSSY)}",
        allowed=LOSSY,
        metavar="TYPE",
    )
    keep_nonzero: bool = setting(False, "no number but zero becomes the integer 0")
    dimensions: int = setting(
        0,
        "dimensions of a shape in device memory, above its row; 0: descriptors have none",
        allowed=range(MAX_DIMENSIONS + 1),
        why="the extension of a descriptor has room for so many",
    )
    pages: bool = setting(False, "host memory of a descriptor may be a list of pages")
    delta: bool = setting(
        False, "descriptors may name a base in device memory, and their streams have the data XOR that base"
    )
    stream_id_bits: int = setting(
        0,
        "bits of the stream ID that a descriptor says, for an SMMU; 0: none",
        allowed=range(MOST_STREAM_BITS + 1),
        why="a descriptor has room for so many",
        metavar="BITS",
    )
    substream_id_bits: int = setting(
        0,
        "bits of the substream ID (PASID) that a descriptor may say; 0: none",
        allowed=range(MOST_SUBSTREAM_BITS + 1),
        why="AXI5 has at most 20",
        metavar="BITS",
    )
    channels: int = setting(
        1,
        "queue pairs: two channels each, with registers, rings, address windows and an interrupt of their own",
        allowed=range(1, MOST_PAIRS + 1),
        why="so many pages of registers have an address, and so many pairs a number",
    )
    msi: bool = setting(False, "interrupts are also written, as a word to an address of each channel")

    def __post_init__(self) -> None:
        if not isinstance(self.format, StreamFormat):
            raise ParameterError(f"format is {self.format!r}; it must be a Format")
        if not isinstance(self.sideband, Sideband):
            raise ParameterError(f"sideband is {self.sideband!r}; it must be a Sideband")
        check_settings(self)
        check_slices(self.register_slices)
        check_clocks(self.clocks)
        for objection in objections_to_words(self):
            raise ParameterError(objection)
        CodecConfig(
            self.format, self.lanes, pipelined=self.pipelined, queue=self.queue, clock_gates=self.clock_gates
        )
        allowed = tuple(1 << log2 for log2 in range((2 * self.burst_beats - 1).bit_length(), 18))
        for name in ("read_buffer_beats", "write_buffer_beats"):
            value = getattr(self, name)
            if value != 0 or isinstance(value, bool):
                check_choice(name, value, allowed, "a power of two, at least two bursts; 0 takes the rule")
        for objection in objections_to_options(self):
            raise ParameterError(objection)

    def of_pair(self, number: int) -> EngineConfig:
        """What the registers and rings of a pair are made from. To its software each pair is an engine of its own; the first
        one has the registers of the shares besides."""
        return replace(self, channels=1) if number else self

    @property
    def register_address_bits(self) -> int:
        """Bits of an address at the register port: each pair has a page."""
        return PAIR_SPAN_LOG2 + (self.channels - 1).bit_length()

    @property
    def codec(self) -> CodecConfig:
        """The codec of a channel: its table, if any, is an input, because a channel chooses it per descriptor."""
        table = codec_of(self.format).runtime_table and self.format.table_size(at_run_time=True) > 0
        return CodecConfig(
            self.format, self.lanes, runtime_values=table, pipelined=self.pipelined, queue=self.queue
        )

    @property
    def quantisation(self) -> Quantisation | None:
        """What the error-bounded stage does to numbers; None without one."""
        if self.lossy == LOSSY[0]:
            return None
        return Quantisation(self.lossy, self.format.word_bits, self.keep_nonzero)

    @property
    def records(self) -> RecordOptions:
        """The options that descriptors and completions have fields of."""
        return RecordOptions(
            crc=self.crc,
            lossy=self.lossy != LOSSY[0],
            dimensions=self.dimensions,
            pages=self.pages,
            delta=self.delta,
            length_bits=self.longest_bytes.bit_length(),
            timed=self.times,
            stream_id_bits=self.stream_id_bits,
            substream_id_bits=self.substream_id_bits,
            pair_bits=(self.channels - 1).bit_length() if self.pages or self.sideband_registers else 0,
        )

    @property
    def most_bytes(self) -> int:
        """The longest length of a descriptor, in bytes."""
        return most_bytes(self.format.word_bits, self.longest_bytes)

    def settings(self) -> dict[str, Any]:
        """All parameters, those of the format and of the sideband among them, as plain values; :meth:`from_settings` reads
        them back."""
        return own_settings(self) | own_settings(self.sideband) | format_settings(self.format)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> EngineConfig:
        """The configuration that :meth:`settings` describes; what is left out has its default."""
        own, sideband, rest = split_settings(settings, cls, Sideband)
        return cls(format_from_settings(rest), sideband=Sideband(**sideband), **own)

    def describe(self) -> dict[str, object]:
        """The rows for the head of generated files, in the order in which one reads them."""
        kept = ", none but zero becomes 0" if self.keep_nonzero else ""
        rows = {
            **{
                name: row
                for name, row in self.codec.describe().items()
                if name not in ("values", "pipelined")
            },
            "dev port": f"{self.dev_data_bits} bits of data, {self.dev_address_bits} of address",
            "host port": f"{self.host_data_bits} bits of data, {self.host_address_bits} of address",
            "alignment": f"to a {self.alignment}",
            "bursts": f"up to {self.burst_beats} beats, {self.outstanding} in flight",
            "groups": self.group_bursts > 0
            and f"of {self.group_bursts} bursts at {GROUP_PORTS[self.group_ports]}",
            "rings": self.registers
            and f"{self.ring_reads} reads and {self.ring_writes} writes in flight on the host port",
            "read buffer": f"{self.read_buffer} beats",
            "write buffer": f"{self.write_buffer} beats",
            "units": self.units > 1 and f"{self.units}, in stripes of {self.stripe_bytes} bytes",
            **self.sideband.describe(),
            "sideband registers": self.sideband_registers and "yes",
            "register protection": self.register_protection != PROTECTIONS[0]
            and f"{self.register_protection} accesses alone",
            "windows": (self.open_windows and "open after a reset")
            or (not self.windows and "none: all addresses are reached"),
            "lengths": self.longest_bytes < MAX_BYTES and f"up to {self.longest_bytes} bytes",
            "times": not self.times and "neither watchdogs nor cycles of completions",
            "smallest memory": self.smallest_memory > 0
            and f"{self.smallest_memory} bits; less is flip-flops",
            "quiescence": self.quiescence and "asked for by a Q-channel",
            "clocks of their own": self.clocks != NO_CLOCKS and self.clocks,
            "memories": self.coded_memories and f"words with checks, {self.memories_protect}",
            "crc": self.crc and "CRC-32C of raw bytes",
            "lossy": self.lossy != LOSSY[0]
            and f"{self.lossy} to integers of {self.format.word_bits} bits{kept}",
            "shapes": self.dimensions > 0 and f"dimensions above the row: {self.dimensions}",
            "pages": self.pages and "host memory in lists of pages",
            "deltas": self.delta and "raw data XOR a base in device memory",
            "owners": self.records.owner_bits > 0
            and f"{self.stream_id_bits} bits of stream ID, {self.substream_id_bits} of substream ID",
            "channels": self.channels > 1 and f"{self.channels} pairs",
            "msi": self.msi and "a message for each channel's interrupt",
            "registers": "yes" if self.registers else "no",
            "pipelined": self.pipelined and "yes",
            **slices_row(self.register_slices),
        }
        return {name: row for name, row in rows.items() if row is not False}

    @property
    def read_buffer(self) -> int:
        """Beats of a reader's buffer: what was asked for, or latency in beats and at least two bursts."""
        return self.read_buffer_beats or 1 << (max(self.latency, 2 * self.burst_beats) - 1).bit_length()

    @property
    def write_buffer(self) -> int:
        """Beats of a writer's buffer."""
        return self.write_buffer_beats or 4 * self.burst_beats

    @property
    def domains(self) -> Clocks:
        """The clocks of the parts."""
        return Clocks.of(self.clocks)

    @property
    def coded_memories(self) -> bool:
        """Whether words in memories have checks."""
        return self.memories_protect != MEMORY_CODES[0]

    @property
    def memory_code(self) -> str:
        """The code of words in memories; empty without one."""
        return self.memories_protect if self.coded_memories else ""

    @property
    def fetched(self) -> int:
        """The most descriptors that are fetched ahead from a ring. More than two pairs share the places of two, but four or
        more are each ring's."""
        pairs = 1 << (self.channels - 1).bit_length()
        return min(self.descriptors, max(2 * self.descriptors // pairs, 4))

    @property
    def ring_completions(self) -> int:
        """The most completions of a ring in flight at once."""
        return min(4, self.ring_entries)

    @property
    def ring_reads(self) -> int:
        """The most reads of descriptors in flight at once, of both rings."""
        return 2 * min(self.descriptors, self.ring_entries) if self.registers else 0

    @property
    def list_reads(self) -> int:
        """The most reads of lists of pages in flight at once, of both channels."""
        return 2 * LIST_BURSTS if self.pages else 0

    @property
    def ring_writes(self) -> int:
        """The most writes of completions in flight at once, of both rings."""
        return 2 * self.ring_completions if self.registers else 0

    @property
    def first_entry(self) -> int:
        """What every entry of a channel's table is after a reset."""
        return (self.format.values or (0,))[0]

    @property
    def run_rows(self) -> int:
        """The most rows that touch and are read or written as one run; 1 where rows begin with any word, or are cut into
        stripes."""
        return 1 if self.realign or self.units > 1 else queued_rows(self.outstanding)

    @property
    def realign(self) -> bool:
        """Whether sources and destinations may lie amid a beat."""
        return self.alignment != "beat"

    @property
    def moved_bits(self) -> int:
        """Bits of what memories move whole: a byte, or what the format says."""
        return 8 if self.alignment == "byte" else self.format.moved_bits

    @property
    def passed_bits(self) -> int:
        """Bits of what raw data are counted in on their way: a stream word, or a byte of it."""
        return min(self.moved_bits, self.format.stream_bits)

    @property
    def tail_bits(self) -> int:
        """Bits that say how many bytes of a last word are meant; 0 where raw data are whole words."""
        return (self.format.raw_bytes - 1).bit_length() if self.alignment == "byte" else 0

    def waste(self) -> tuple[str, ...]:
        """Says what of the engine no data can use, a sentence for each cause."""
        codec, port = self.codec.data_bits, self.dev_data_bits
        found = []
        if codec > port:
            found.append(
                f"the codec takes {codec} bits per cycle and its device port gives {port}: {port // self.format.word_bits} "
                "lanes are as fast, in less area"
            )
        if 2 * codec < port:
            found.append(
                f"the codec takes {codec // 8} of the {port // 8} bytes per cycle of its device port; more lanes, or a "
                "narrower port, fit one another"
            )
        for name, side in (("device", "dev"), ("host", "host")):
            in_flight, size = self.outstanding * self.burst(side), self.data_bits(side) // 8
            if in_flight < self.latency:
                found.append(
                    f"reads of the {name} port have {in_flight} beats in flight, and memory answers after {self.latency} "
                    f"cycles (latency): {size * in_flight / self.latency:.2g} of {size} bytes per cycle; outstanding and "
                    "burst_beats say how many"
                )
        return tuple(found)

    def data_bits(self, port: str) -> int:
        """Bits of the data of the port ``"dev"`` or ``"host"``."""
        return self.dev_data_bits if port == "dev" else self.host_data_bits

    def align(self, port: str) -> int:
        """Bytes of which source and destination on a port are multiples."""
        beat = self.data_bits(port) // 8
        if self.striped(port):
            return max(beat, self.window_bytes)
        return self.moved_bits // 8 if self.realign else beat

    @property
    def base_align(self) -> int:
        """Bytes of which the distance between a base and the tensor is a multiple: in several units both lie alike."""
        return self.units * self.stripe_bytes if self.units > 1 else self.align("dev")

    def burst(self, port: str) -> int:
        """Beats of the longest burst on a port: 4 KiB is the most that AXI4 allows, and a stripe the most of one port."""
        most = self.stripe_bytes if self.striped(port) else 4096
        return min(self.burst_beats, most * 8 // self.data_bits(port))

    def striped(self, port: str) -> bool:
        """Whether a port is one of several that have a memory between them."""
        return port == "dev" and self.units > 1

    def most_open(self, port: str) -> int:
        """The most reads, and writes, in flight at once at a port, "dev" or "host"."""
        if port == "dev":
            return self.dev_reads * self.outstanding
        of_pair = max(self.ring_reads, self.ring_writes + self.msi)
        return self.outstanding + self.list_reads + self.channels * of_pair

    @property
    def dev_ports(self) -> tuple[str, ...]:
        """The names of the ports of device memory."""
        return tuple(f"dev{unit}" for unit in range(self.units)) if self.units > 1 else ("dev",)

    @property
    def window_bytes(self) -> int:
        """Bytes of raw data that share a header."""
        return self.format.window * self.format.word_bits // 8

    @property
    def dev_reads(self) -> int:
        """The readers at a device port: of the data of offloads and, with bases, of those of offloads and of prefetches."""
        return 3 if self.delta else 1

    @property
    def piece_beats(self) -> int:
        """Beats of the codec that a unit's buffer of compressed words has: a power of two, and half a raw stripe.

        While a piece crosses the link, the units after it go on. With a stripe of s words and a ratio of r, that takes
        s / r * (1 - 1 / r) words of each, at most a quarter of s.
        """
        return max(16, self.stripe_bytes // 2 * 8 // (self.lanes * self.format.word_bits))

    @property
    def index_bits(self) -> int:
        """Bits of a ring index, which runs to twice the entries so that full and empty differ."""
        return self.ring_entries.bit_length()
