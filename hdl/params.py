"""Parameters shared by software and hardware: one frozen, validated object for both.

This module imports neither Amaranth nor numpy, so that software that only moves data stays light.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ParameterError

__all__ = ["CodecConfig", "EngineConfig", "Format"]

_WORD_BITS = (2, 4, 8, 16, 32)
_WINDOWS = (4, 8, 16, 32, 64)
_CODE_BITS = (1, 2, 4)
_LANES = (1, 2, 4, 8, 16, 32, 64)
#: Beats of a window of a pipelined codec, at least.
_PIPELINE_BEATS = 4


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _choice(name: str, value: object, allowed: tuple[int, ...], why: str) -> None:
    if not _is_int(value) or value not in allowed:
        choices = ", ".join(map(str, allowed))
        raise ParameterError(f"{name} is {value!r}; it must be one of {choices}: {why}")


def _flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ParameterError(f"{name} is {value!r}; it must be true or false")


@dataclass(frozen=True)
class Format:
    """The format of a compressed stream; see ``docs/format.md``.

    ``word_bits``
        Bits of one word, the unit that is frequent or not.
    ``window``
        Words that share one header.
    ``code_bits``
        Bits of one code in the header; code ``2**code_bits - 1`` says "literal".
    ``values``
        The frequent values, lowest code first; ``(0,)`` with one code bit is zero-value compression.
    """

    word_bits: int = 32
    window: int = 32
    code_bits: int = 1
    values: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        _choice(
            "word_bits", self.word_bits, _WORD_BITS, "formats for users have 8, 16 or 32, proofs use 2 and 4"
        )
        _choice("window", self.window, _WINDOWS, "formats for users have 32 or 64, proofs use 4, 8 and 16")
        _choice("code_bits", self.code_bits, _CODE_BITS, "a header packs codes of 1, 2 or 4 bits")
        try:
            values = tuple(self.values)
        except TypeError:
            raise ParameterError(f"values is {self.values!r}; it must be a sequence of words") from None
        object.__setattr__(self, "values", values)
        if not 1 <= len(values) <= self.literal_code:
            raise ParameterError(
                f"values has {len(values)} entries; {self.code_bits} code bits allow 1 to {self.literal_code}, "
                "because the all-ones code means literal"
            )
        for entry in values:
            if not _is_int(entry) or not 0 <= entry < 1 << self.word_bits:
                raise ParameterError(
                    f"values has the entry {entry!r}; an entry is an unsigned word of {self.word_bits} bits, "
                    f"0 to {(1 << self.word_bits) - 1}"
                )
        if (self.window * self.code_bits) % self.word_bits:
            raise ParameterError(
                f"a header of {self.window} codes of {self.code_bits} bits has {self.window * self.code_bits} bits, "
                f"which is not a whole number of words of {self.word_bits} bits"
            )

    @property
    def literal_code(self) -> int:
        """The all-ones code, which marks a literal."""
        return (1 << self.code_bits) - 1

    @property
    def header_words(self) -> int:
        """Words that one header takes."""
        return self.window * self.code_bits // self.word_bits

    def bound(self, words: int) -> int:
        """The most words that a packet of ``words`` words can become."""
        if not _is_int(words) or words < 0:
            raise ParameterError(f"words is {words!r}; it must be a whole number of words, 0 or more")
        return -(-words // self.window) * self.header_words + words


@dataclass(frozen=True)
class CodecConfig:
    """What one compressor or decompressor is generated from: a format and the shape of its datapath.

    ``lanes``
        Words of one bus beat: a power of two from 1 to 64, at most the window.
    ``runtime_values``
        The table of frequent values is an input port with ``2**code_bits - 1`` entries instead of constants;
        ``format.values`` then only says what a bench drives.
    ``pipelined``
        For FPGAs: more registers and memories, so that a cycle has time for wires. It takes some cycles more from the
        first beat in to the first beat out, and a window of at least four beats.
    """

    format: Format = Format()
    lanes: int = 8
    runtime_values: bool = False
    pipelined: bool = False

    def __post_init__(self) -> None:
        _choice("lanes", self.lanes, _LANES, "a beat has a power of two of words, at most 64")
        _flag("runtime_values", self.runtime_values)
        _flag("pipelined", self.pipelined)
        if self.lanes > self.format.window:
            raise ParameterError(
                f"lanes is {self.lanes}; it must not exceed the window of {self.format.window} words, "
                "because a beat never spans two windows"
            )
        _flag("runtime_values", self.runtime_values)
        _flag("pipelined", self.pipelined)
        if self.pipelined and self.beats < _PIPELINE_BEATS:
            raise ParameterError(
                f"lanes is {self.lanes} with a window of {self.format.window} words; a pipelined codec needs windows of "
                f"at least {_PIPELINE_BEATS} beats, because it takes so many cycles from one header to the next"
            )

    @property
    def beats(self) -> int:
        """Beats of a whole window of raw words."""
        return self.format.window // self.lanes

    @property
    def data_bits(self) -> int:
        """Bits of one beat."""
        return self.lanes * self.format.word_bits

    @property
    def table_size(self) -> int:
        """Entries of the frequent-value table that the hardware compares with."""
        return self.format.literal_code if self.runtime_values else len(self.format.values)


_PORT_BITS = (64, 128, 256, 512, 1024)
_BURST_BEATS = (4, 8, 16, 32, 64, 128, 256)
_ALIGNMENTS = ("beat", "word")
_RING_ENTRIES = tuple(1 << log2 for log2 in range(1, 16))


def _range(name: str, value: object, low: int, high: int, why: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ParameterError(f"{name} is {value!r}; it must be a whole number from {low} to {high}: {why}")


def _power_at_least(value: int) -> int:
    """The smallest power of two that is not below ``value``."""
    return 1 << (value - 1).bit_length()


@dataclass(frozen=True)
class EngineConfig:
    """What one engine is generated from; every part of it can stand in a TOML file.

    ``format``, ``lanes``
        The codec of each channel: its stream format, and the words of one beat of its datapath. Choose
        ``lanes`` such that ``lanes * word_bits`` is not below the port widths, or the codec limits the rate.
    ``dev_data_bits``, ``host_data_bits``
        Width of the AXI4 ports' data.
    ``dev_address_bits``, ``host_address_bits``
        Width of the AXI4 ports' addresses.
    ``alignment``
        What a descriptor's source and destination are multiples of: a ``"beat"`` of their port, or a ``"word"``, which
        costs a shifter at each end of a channel.
    ``burst_beats``
        The longest burst. A burst never crosses a multiple of its own longest length, nor 4 KiB.
    ``outstanding``
        Bursts that may be under way at once, per port and direction.
    ``latency``
        Cycles of memory latency that a reader hides. Its buffer follows the rule bandwidth times
        latency: a beat per cycle for so many cycles, rounded up to a power of two. (At 200 GB/s and 350 ns
        that is 70 KB.)
    ``read_buffer_beats``
        The reader's buffer itself, where the rule is not wanted; 0 takes the rule.
    ``write_buffer_beats``
        The writer's buffer, at least two bursts; 0 takes four bursts.
    ``descriptors``
        Descriptors that may be under way at once, per channel; also those fetched ahead from a ring.
    ``ring_entries``
        Entries of the largest descriptor ring.
    ``registers``
        With the register block, rings and interrupt, or with bare descriptor and completion streams.
    ``pipelined``
        With pipelined codecs; see :class:`CodecConfig`.
    """

    format: Format = Format()
    lanes: int = 8
    dev_data_bits: int = 256
    host_data_bits: int = 256
    dev_address_bits: int = 64
    host_address_bits: int = 64
    alignment: str = "beat"
    burst_beats: int = 32
    outstanding: int = 16
    latency: int = 350
    read_buffer_beats: int = 0
    write_buffer_beats: int = 0
    descriptors: int = 8
    ring_entries: int = 1024
    registers: bool = True
    pipelined: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.format, Format):
            raise ParameterError(f"format is {self.format!r}; it must be a Format")
        if self.format.word_bits < 8:
            raise ParameterError(
                f"word_bits is {self.format.word_bits}; an engine needs words of 8, 16 or 32 bits, as memory "
                "has bytes"
            )
        CodecConfig(self.format, self.lanes, pipelined=self.pipelined)
        for port in ("dev", "host"):
            _choice(
                f"{port}_data_bits",
                getattr(self, f"{port}_data_bits"),
                _PORT_BITS,
                "AXI4 port widths built here",
            )
            _range(
                f"{port}_address_bits",
                getattr(self, f"{port}_address_bits"),
                13,
                64,
                "a descriptor holds 64 bits, and an address space has at least two pages of 4 KiB",
            )
        if self.alignment not in _ALIGNMENTS:
            raise ParameterError(
                f"alignment is {self.alignment!r}; it must be one of {', '.join(_ALIGNMENTS)}: what addresses are "
                "multiples of"
            )
        _choice("burst_beats", self.burst_beats, _BURST_BEATS, "a power of two, and AXI4 allows 256 beats")
        _range("outstanding", self.outstanding, 1, 256, "bursts under way at once")
        _range("latency", self.latency, 1, 65536, "cycles that the read buffer hides")
        for name, least in (
            ("read_buffer_beats", 2 * self.burst_beats),
            ("write_buffer_beats", 2 * self.burst_beats),
        ):
            value = getattr(self, name)
            if value == 0 and not isinstance(value, bool):
                continue
            _choice(
                name,
                value,
                tuple(1 << log2 for log2 in range((least - 1).bit_length(), 18)),
                "a power of two, at least two bursts; 0 takes the rule",
            )
        _choice("descriptors", self.descriptors, (2, 4, 8, 16, 32), "its queues are powers of two")
        _choice(
            "ring_entries",
            self.ring_entries,
            _RING_ENTRIES,
            "a power of two, so that an index wraps by itself",
        )
        _flag("registers", self.registers)

    @property
    def codec(self) -> CodecConfig:
        """The codec of a channel: its table is an input, because a channel chooses it per descriptor."""
        return CodecConfig(self.format, self.lanes, runtime_values=True, pipelined=self.pipelined)

    @property
    def read_buffer(self) -> int:
        """Beats of a reader's buffer: what was asked for, or latency in beats and at least two bursts."""
        return self.read_buffer_beats or _power_at_least(max(self.latency, 2 * self.burst_beats))

    @property
    def write_buffer(self) -> int:
        """Beats of a writer's buffer."""
        return self.write_buffer_beats or 4 * self.burst_beats

    @property
    def realign(self) -> bool:
        """Whether sources and destinations may lie amid a beat."""
        return self.alignment == "word"

    def align(self, data_bits: int) -> int:
        """Bytes of which source and destination on a port of that width are multiples."""
        return (self.format.word_bits if self.realign else data_bits) // 8

    def burst(self, data_bits: int) -> int:
        """Beats of the longest burst on a port of that width: 4 KiB is the most that AXI4 allows."""
        return min(self.burst_beats, 4096 * 8 // data_bits)

    @property
    def index_bits(self) -> int:
        """Bits of a ring index, which runs to twice the entries so that full and empty differ."""
        return self.ring_entries.bit_length()
