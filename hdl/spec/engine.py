"""What one engine is generated from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cdma.base.errors import ParameterError

from .checks import check_choice
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
    LEAST_PAGED_BITS,
    LIST_BURSTS,
    MEMORY_CODES,
    MOST_PAIRS,
    MOST_STREAM_BITS,
    MOST_SUBSTREAM_BITS,
    NO_CLOCKS,
    PAIR_SPAN_LOG2,
    PROTECTIONS,
    SIDEBAND_USER_BITS,
    Clocks,
    Sideband,
    check_clocks,
    check_slices,
    clocks_setting,
    slices_row,
    slices_setting,
    splittable,
)
from .records import MAX_BYTES, RecordOptions, most_bytes
from .settings import check_settings, own_settings, setting, split_settings
from .shape import MAX_DIMENSIONS, queued_rows
from .stage import NUMBERS, Quantisation

__all__ = ["LOSSY", "EngineConfig"]

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


def _power_at_least(value: int) -> int:
    """The smallest power of two that is not below ``value``."""
    return 1 << (value - 1).bit_length()


@dataclass(frozen=True)
class EngineConfig:
    """What one engine is generated from; every part of it can stand in a TOML file.

    ``format``, ``lanes``
        The codec of each channel: its stream format, and the words of one beat of its datapath. Choose
        ``lanes`` such that ``lanes * word_bits`` is not below the port widths, or the codec limits the rate.
    ``alignment``
        What the source and the destination of a descriptor are multiples of: a ``"beat"`` of their port, or a
        ``"word"`` (of a stream, which is a byte in a format with a field, and with words of 4 bits), which costs a shifter
        at each end of a channel; or they are any ``"byte"``, and so are lengths of raw data. With several units, of host
        memory.
    ``burst_beats``
        The longest burst. A burst never crosses a multiple of its own longest length, nor 4 KiB.
    ``outstanding``
        The most bursts of data in flight at once, per port and direction. The rings have ``ring_reads`` and
        ``ring_writes`` in flight on the host port besides.
    ``latency``
        Cycles of memory latency that a reader hides. The rule for its buffer is bandwidth times latency: a beat for
        each of these cycles, rounded up to a power of two. (At 200 GB/s and 350 ns that is 70 KB.)
    ``read_buffer_beats``
        Beats of the reader's buffer, a power of two and at least two bursts; 0 takes the rule.
    ``write_buffer_beats``
        Beats of the writer's buffer, a power of two and at least two bursts; 0 takes four bursts.
    ``descriptors``
        The most descriptors in flight at once, per channel, and the most that are fetched ahead from a ring.
    ``register_slices``
        The channels of AXI4, AXI4-Lite and streams with a register slice: ``"in"`` for those whose payload goes into
        the engine (R and B of the memory ports, AW, W and AR of the registers, descriptors), ``"out"`` for the
        others (AR, AW and W, R and B of the registers, completions) and the interrupt, ``"in,out"`` for all; or
        ``"none"``.
    ``units``
        Device memory ports, each with a compressor and a decompressor: see docs/architecture.md. With more than one, device
        addresses belong to them in turn, ``stripe_bytes`` each, and a source or destination in device memory is a
        multiple of a window.
    ``stripe_bytes``
        Bytes of device memory that lie at one port before the next port's: a whole number of windows.
    ``sideband``
        The sideband signals of the AXI4 ports.
    ``sideband_registers``
        True for registers of the sideband in each channel; their reset values are those of ``sideband``.
    ``register_protection``
        What AxPROT of an access to registers must say: ``"privileged"``, ``"secure"``, or ``"none"`` for anything. See
        docs/security.md.
    ``open_windows``
        True for address windows that are open after a reset; otherwise the engine reaches nothing until software opens them.
    ``windows``
        Whether addresses are checked against windows; without them descriptors reach all of both memories. Off only without
        registers.
    ``times``
        Whether there are watchdogs, and completions say their cycles. Off only without registers.
    ``longest_bytes``
        The most raw bytes of a descriptor, a power of two. Fewer take smaller counters. All that lengths can say, with
        registers, several units or shapes.
    ``smallest_memory``
        Bits of the smallest memory: what would have fewer is flip-flops, as an ASIC has no use for a macro of a few words.
    ``quiescence``
        True for a Q-channel, by which a clock or power controller asks whether the engine is at rest.
    ``clock_gates``
        True for clocks of the channels, their codecs and the rest that stop while these have nothing to do, by cells in a
        module of their own, which ``scan_enable`` opens. See docs/options/power.md.
    ``clocks``
        Which of ``"device"`` (the device ports and all that works on data), ``"host"`` and ``"registers"`` have a clock and
        a reset of their own; the others have ``aclk``. See docs/options/clocks.md.
    ``memories_protect``
        Checks beside the words of memories: ``"secded"`` puts one wrong bit of a word right, and finds two; ``"parity"``
        does so for all memories but the buffers of data, in whose words it finds one. Or ``"none"``. See docs/security.md.
    ``lossy``
        The type of the numbers that an error-bounded stage makes integers of, as wide as words, where a descriptor has a
        step: ``"fp32"``, ``"bf16"`` or ``"fp16"``; or ``"none"`` for no stage. See docs/lossy.md.
    ``dimensions``
        The most dimensions of a tile in device memory, above its contiguous rows. See docs/tiles.md.
    ``pages``
        True for descriptors whose host memory may be a list of pages. See docs/options/pages.md.
    ``stream_id_bits``, ``substream_id_bits``
        Bits of the IDs by which addresses say whose a transfer is; 0 for none. See docs/options/owners.md.
    ``channels``
        Queue pairs: an offload and a prefetch channel with registers, rings, address windows and an interrupt of their
        own. They share the data path. See docs/options/pairs.md.
    ``msi``
        True for interrupts that are written to an address as well, one for each channel. See docs/options/messages.md.
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
        why="the registers of shares have room for so many",
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
        self._check_words()
        CodecConfig(
            self.format,
            self.lanes,
            pipelined=self.pipelined,
            queue=self.queue,
            clock_gates=self.clock_gates,
        )
        self._check_buffers()
        self._check_sideband_registers()
        self._check_guards()
        self._check_clocks()
        self._check_lossy()
        self._check_units()
        self._check_pages()
        self._check_channels()

    def _check_buffers(self) -> None:
        least = (2 * self.burst_beats - 1).bit_length()
        allowed = tuple(1 << log2 for log2 in range(least, 18))
        for name in ("read_buffer_beats", "write_buffer_beats"):
            value = getattr(self, name)
            if value != 0 or isinstance(value, bool):
                check_choice(name, value, allowed, "a power of two, at least two bursts; 0 takes the rule")

    def _check_words(self) -> None:
        """Memory has bytes: words of 4 bits are two to a byte in it, and the padding of windows fills the last byte."""
        form = self.format
        if form.word_bits >= 8:
            return
        if form.word_bits != 4:
            raise ParameterError(
                f"word_bits is {form.word_bits}; an engine needs words of 4, 8, 16 or 32 bits, as memory has bytes"
            )
        if form.align == 1:
            raise ParameterError(
                "align is 1 with word_bits 4; it must be 2, 4 or 8 in an engine, because memory has bytes and only padded "
                "windows are whole bytes"
            )
        if self.pipelined:
            raise ParameterError(
                "pipelined is on with word_bits 4; it must be off in an engine, because a pipelined codec with padded "
                "windows needs beats longer than a header, and windows of at least four such beats"
            )

    def _check_sideband_registers(self) -> None:
        if not self.sideband_registers:
            return
        if not self.registers:
            raise ParameterError(
                "sideband_registers is on without registers; it must be off, because there is no register block"
            )
        if self.sideband.axuser_bits > SIDEBAND_USER_BITS:
            raise ParameterError(
                f"axuser_bits is {self.sideband.axuser_bits} with sideband_registers; at most {SIDEBAND_USER_BITS} are "
                "allowed, because a register has room for so many"
            )

    def _check_guards(self) -> None:
        if self.register_protection != PROTECTIONS[0] and not self.registers:
            raise ParameterError(
                f"register_protection is {self.register_protection!r} without registers; it must be 'none', as there is "
                "nothing to protect"
            )

        if self.open_windows and not self.registers:
            raise ParameterError(
                "open_windows is on without registers; it must be off, because address windows are ports that logic drives"
            )

        if self.msi and not self.registers:
            raise ParameterError(
                "msi is on without registers; it must be off, because registers say where messages go"
            )

        for name, why in (("windows", "which open and close them"), ("times", "which count and watch them")):
            if self.registers and not getattr(self, name):
                raise ParameterError(
                    f"{name} is off with registers; it must be on, because there are registers {why}"
                )

        for name, value in (
            ("registers", self.registers),
            ("units", self.units > 1),
            ("dimensions", self.dimensions > 0),
        ):
            if self.longest_bytes < MAX_BYTES and value:
                raise ParameterError(
                    f"longest_bytes is {self.longest_bytes}, and {name} is {getattr(self, name)}; it must be {MAX_BYTES}, "
                    "because drivers, stripes and shapes know no smaller limit"
                )

        if self.coded_memories and not self.registers:
            raise ParameterError(
                f"memories_protect is {self.memories_protect!r} without registers; it must be 'none', because a register "
                "says what was found"
            )

    def _check_clocks(self) -> None:
        if "registers" in self.clocks and not self.registers:
            raise ParameterError(
                f"clocks is {self.clocks!r} without registers; it must not have 'registers', because there are none"
            )

    def _check_lossy(self) -> None:
        if self.lossy == LOSSY[0]:
            if self.keep_nonzero:
                raise ParameterError(
                    "keep_nonzero is on without lossy; it must be off, because no stage rounds"
                )
            return
        number_bits, word_bits = NUMBERS[self.lossy].bits, self.format.word_bits
        if word_bits >= number_bits:
            raise ParameterError(
                f"word_bits is {word_bits} with lossy {self.lossy}; a word is an integer then, and must have fewer "
                f"bits than a number, which has {number_bits}"
            )

    def _check_units(self) -> None:
        if self.units == 1:
            return
        if self.format.word_bits < 8:
            raise ParameterError(
                f"word_bits is {self.format.word_bits} with {self.units} units; it must be 8, 16 or 32, because what joins "
                "and splits the streams of units is built for words of whole bytes"
            )
        if self.crc:
            raise ParameterError(
                f"crc is on with {self.units} units; it must be off, because no place sees all raw bytes of a tensor"
            )
        if self.lossy != LOSSY[0]:
            raise ParameterError(
                f"lossy is {self.lossy} with {self.units} units; it must be none, because no place sees all numbers of a "
                "tensor"
            )
        if reason := splittable(self.format):
            raise ParameterError(f"units is {self.units}; it must be 1, because {reason}")

    def _check_pages(self) -> None:
        if not self.pages:
            return
        if not self.registers:
            raise ParameterError(
                "pages is on without registers; it must be off, because lists are read beside the rings of a host port"
            )
        if self.host_address_bits < LEAST_PAGED_BITS:
            raise ParameterError(
                f"pages is on, and host_address_bits is {self.host_address_bits}; it must be {LEAST_PAGED_BITS} at least, "
                "because so many tell apart all bytes of a list of pages"
            )

    def _check_channels(self) -> None:
        if self.channels == 1:
            return
        if not self.registers:
            raise ParameterError(
                f"channels is {self.channels} without registers; it must be 1, because what is multiplied is registers and "
                "rings"
            )
        if self.coded_memories and self.units > 1:
            raise ParameterError(
                f"channels is {self.channels}, and memories_protect is {self.memories_protect}, with {self.units} units; "
                "units must be 1, because all three are not tried together yet"
            )

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
        codec = {
            name: row for name, row in self.codec.describe().items() if name not in ("values", "pipelined")
        }
        return {
            **codec,
            "dev port": f"{self.dev_data_bits} bits of data, {self.dev_address_bits} of address",
            "host port": f"{self.host_data_bits} bits of data, {self.host_address_bits} of address",
            "alignment": f"to a {self.alignment}",
            "bursts": f"up to {self.burst_beats} beats, {self.outstanding} in flight",
            **(
                {"rings": f"{self.ring_reads} reads and {self.ring_writes} writes in flight on the host port"}
                if self.registers
                else {}
            ),
            "read buffer": f"{self.read_buffer} beats",
            "write buffer": f"{self.write_buffer} beats",
            **({"units": f"{self.units}, in stripes of {self.stripe_bytes} bytes"} if self.units > 1 else {}),
            **self.sideband.describe(),
            **({"sideband registers": "yes"} if self.sideband_registers else {}),
            **(
                {"register protection": f"{self.register_protection} accesses alone"}
                if self.register_protection != PROTECTIONS[0]
                else {}
            ),
            **({"windows": "open after a reset"} if self.open_windows else {}),
            **({"windows": "none: all addresses are reached"} if not self.windows else {}),
            **({"lengths": f"up to {self.longest_bytes} bytes"} if self.longest_bytes < MAX_BYTES else {}),
            **({"times": "neither watchdogs nor cycles of completions"} if not self.times else {}),
            **(
                {"smallest memory": f"{self.smallest_memory} bits; less is flip-flops"}
                if self.smallest_memory
                else {}
            ),
            **({"quiescence": "asked for by a Q-channel"} if self.quiescence else {}),
            **({"clocks of their own": self.clocks} if self.clocks != NO_CLOCKS else {}),
            **({"memories": f"words with checks, {self.memories_protect}"} if self.coded_memories else {}),
            **({"crc": "CRC-32C of raw bytes"} if self.crc else {}),
            **self._describe_lossy(),
            **({"shapes": f"dimensions above the row: {self.dimensions}"} if self.dimensions else {}),
            **({"pages": "host memory in lists of pages"} if self.pages else {}),
            **(
                {
                    "owners": f"{self.stream_id_bits} bits of stream ID, {self.substream_id_bits} of substream ID"
                }
                if self.records.owner_bits
                else {}
            ),
            **({"channels": f"{self.channels} pairs"} if self.channels > 1 else {}),
            **({"msi": "a message for each channel's interrupt"} if self.msi else {}),
            "registers": "yes" if self.registers else "no",
            **({"pipelined": "yes"} if self.pipelined else {}),
            **slices_row(self.register_slices),
        }

    def _describe_lossy(self) -> dict[str, object]:
        if self.quantisation is None:
            return {}
        kept = ", none but zero becomes 0" if self.keep_nonzero else ""
        return {"lossy": f"{self.lossy} to integers of {self.quantisation.bits} bits{kept}"}

    @property
    def read_buffer(self) -> int:
        """Beats of a reader's buffer: what was asked for, or latency in beats and at least two bursts."""
        return self.read_buffer_beats or _power_at_least(max(self.latency, 2 * self.burst_beats))

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

    def burst(self, port: str) -> int:
        """Beats of the longest burst on a port: 4 KiB is the most that AXI4 allows, and a stripe the most of one port."""
        most = self.stripe_bytes if self.striped(port) else 4096
        return min(self.burst_beats, most * 8 // self.data_bits(port))

    def striped(self, port: str) -> bool:
        """Whether a port is one of several that have a memory between them."""
        return port == "dev" and self.units > 1

    @property
    def dev_ports(self) -> tuple[str, ...]:
        """The names of the ports of device memory."""
        return tuple(f"dev{unit}" for unit in range(self.units)) if self.units > 1 else ("dev",)

    @property
    def window_bytes(self) -> int:
        """Bytes of raw data that share a header."""
        return self.format.window * self.format.word_bits // 8

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
