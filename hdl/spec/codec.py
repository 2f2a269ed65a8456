"""Codecs and their configuration: a ``Codec`` names the format, hardware, model and bench; ``CodecConfig`` sizes one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cdma.base.errors import ParameterError

from .format import Format, StreamFormat
from .options import check_slices, slices_row, slices_setting
from .settings import check_settings, own_settings, setting, split_settings

#: The two blocks of a codec.
BLOCKS = ("compressor", "decompressor")

#: The codec where none is named.
DEFAULT = "frequent-value"

#: Codecs of a user's own, which need no change of this package: ``name=module:attribute``, separated by commas.
VARIABLE = "CDMA_CODECS"


def _of_the_user(text: str) -> dict[str, str]:
    """The codecs that the environment names."""
    lines = {}
    for line in filter(None, text.split(",")):
        name, equals, reference = line.partition("=")
        if not equals or ":" not in reference:
            raise ParameterError(
                f"{VARIABLE} has {line!r}; it must be name=module:attribute, separated by commas"
            )
        lines[name.strip()] = reference.strip()
    return lines


#: Each codec by name: the module and the name of its :class:`Codec`. A new codec is a line here.
CODECS: dict[str, str] = {DEFAULT: "cdma.hdl.spec.codec:CODEC", **_of_the_user(os.environ.get(VARIABLE, ""))}


@dataclass(frozen=True)
class Codec:
    """One codec: its format, its hardware, its model, and what its tests need to know.

    What stands above plain data is named as ``module:name`` and loaded where it is needed: software loads no
    hardware, and hardware no model.

    ``name``: The name in :data:`CODECS`.
    ``summary``: What it does, in a phrase.
    ``format``: The class of its formats, whose :func:`~.settings.setting` fields the command line offers.
    ``runtime_table``: Whether its hardware can take its table on a port. An engine then has a table per channel.
    ``pipelined``: Whether its hardware can be built for FPGAs.
    ``small_queue``: Whether its codecs can be built smaller, with a queue of less than two beats.
    ``check``: Refuses a :class:`CodecConfig` that the hardware cannot be built for.
    ``compressor``, ``decompressor``: Components made from a :class:`CodecConfig`, with the ports of
        ``cdma.hdl.codec.parts.interface``. Each packet has one report: the words that came in and went out, the literals
        and an error, in packet order.
    ``model``: The :class:`cdma.sim.codec.model.CodecModel` that its hardware must agree with.
    ``bench``: The :class:`cdma.verif.stream.codec.codec_bench.CodecBench` of its regression: stimuli and limits.
    """

    name: str
    summary: str
    format: type[StreamFormat]
    runtime_table: bool
    pipelined: bool
    small_queue: bool
    check: Callable[[CodecConfig], None]
    compressor: str
    decompressor: str
    model: str
    bench: str

    def load(self, part: str) -> Any:
        """What the field ``part`` names: the class or object itself."""
        return _load(getattr(self, part))


def _load(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def codec_named(name: object) -> Codec:
    """The codec of that name in :data:`CODECS`."""
    if not isinstance(name, str) or name not in CODECS:
        raise ParameterError(f"codec is {name!r}; it must be one of {', '.join(CODECS)}")
    codec: Codec = _load(CODECS[name])
    return codec


def codec_of(format: StreamFormat) -> Codec:
    """The codec that a format belongs to."""
    return codec_named(format.codec)


#: The queue that a compressor needs to lose no cycle, whatever its data.
_WORK_CONSERVING = 2


def queue_setting() -> Any:
    """The field of the parameter ``queue``, which an engine has too."""
    return setting(
        _WORK_CONSERVING,
        "finished beats that a compressor stores: 2 for full throughput on any data, 1 or 0 for less area, also of a "
        "decompressor",
        allowed=(0, 1, _WORK_CONSERVING),
        why="the finished beats that a compressor stores",
    )


def clock_gates_setting() -> Any:
    """The field of the parameter ``clock_gates``, which an engine has too."""
    return setting(
        False,
        "with cells that stop the clock of what rests, in a module of their own, and a scan_enable that opens them",
    )


@dataclass(frozen=True)
class CodecConfig:
    """What one compressor or decompressor is generated from: a format and the shape of its datapath.

    ``format``: The format of the stream, which says which codec it is.
    ``runtime_values``: True for a table of frequent values on an input port with ``2**code_bits - 1`` entries, false
        for constants. A bench drives that port with ``format.values``.
    ``pipelined``: True for FPGAs: more registers and memories leave more of a cycle for wires. The first beat out comes
        some cycles later, and a window needs at least four beats.
    ``register_slices``: The streams of the generated module with a register slice, which costs a cycle and two
        registers for each bit: ``"in"`` for ``s_axis`` and ``s_length``, ``"out"`` for ``m_axis`` and ``m_report``,
        ``"in,out"`` for all, after which no combinational path crosses the module; or ``"none"``. The Amaranth
        components have none.
    ``queue``: Finished beats that a plain compressor stores. With 2 it never loses a cycle; a header of several words
        takes three. With 1 its output comes from a register, and with 0 from logic; in both cases it fills one beat per
        cycle, so that a window whose first words fill two beats costs one cycle more. A plain decompressor with 0 or 1
        stores one beat instead of two or three; a window of literals alone may then cost one cycle more.
    ``clock_gates``: True for a clock that stops while the codec waits. The Amaranth components have none.
    """

    format: StreamFormat = Format()
    lanes: int = setting(
        8,
        "words of one beat: a power of two, 1 to 64",
        allowed=(1, 2, 4, 8, 16, 32, 64),
        why="a beat has a power of two of words, at most 64",
    )
    runtime_values: bool = setting(False, "the frequent values come in on a port instead of being fixed")
    pipelined: bool = setting(False, "more registers and memories for a faster clock on an FPGA")
    register_slices: str = slices_setting()
    queue: int = queue_setting()
    clock_gates: bool = clock_gates_setting()

    def __post_init__(self) -> None:
        if not isinstance(self.format, StreamFormat):
            raise ParameterError(f"format is {self.format!r}; it must be a Format")
        codec = codec_of(self.format)
        check_settings(self)
        for flag, offered in (("runtime_values", codec.runtime_table), ("pipelined", codec.pipelined)):
            if getattr(self, flag) and not offered:
                raise ParameterError(f"{flag} is true; the codec {codec.name} is not built so")
        check_slices(self.register_slices)
        if not self.work_conserving:
            if not codec.small_queue:
                raise ParameterError(f"queue is {self.queue}; the codec {codec.name} is built with 2 only")
            if self.pipelined:
                raise ParameterError(
                    f"queue is {self.queue} with pipelined; it must be 2, because a pipelined codec keeps its finished "
                    "beats in memories"
                )
        if self.clock_gates and self.pipelined:
            raise ParameterError(
                "clock_gates is on with pipelined; it must be off, because on an FPGA gates of logic make no clock"
            )
        if self.format.levels == 2 and not self.work_conserving:
            raise ParameterError(f"queue is {self.queue}; codecs of two levels are built with 2 only")
        codec.check(self)

    @property
    def work_conserving(self) -> bool:
        """Whether a codec never loses a cycle, whatever its data."""
        return self.queue == _WORK_CONSERVING

    @property
    def beats(self) -> int:
        """Beats of a whole window of raw words."""
        return self.format.window // self.lanes

    @property
    def units(self) -> int:
        """Stream words of one beat of the compressed stream, which has as many bits as a beat of raw words."""
        return self.lanes * self.format.parts

    @property
    def header_beats(self) -> int:
        """Beats that a header fills, the last of them perhaps in part."""
        return -(-self.format.header_words // self.units)

    @property
    def header_reads(self) -> int:
        """Parts that a decompressor reads a header in, all of one size and none longer than a beat."""
        reads = max(1, self.header_beats)
        while self.format.header_words % reads:
            reads += 1
        return reads

    @property
    def window_cycles(self) -> int:
        """The fewest cycles from one window to the next in a pipelined decompressor. Where a window has a beat to spare,
        and its header is read at once, the header has a cycle to come out of the memories."""
        return 5 if self.beats > 4 and self.header_reads == 1 else 4

    @property
    def data_bits(self) -> int:
        """Bits of one beat."""
        return self.lanes * self.format.word_bits

    @property
    def table_size(self) -> int:
        """Entries of the frequent-value table that the hardware compares with."""
        return self.format.table_size(at_run_time=self.runtime_values)

    def settings(self) -> dict[str, Any]:
        """All parameters, those of the format among them, as plain values; :meth:`from_settings` reads them back."""
        return own_settings(self) | format_settings(self.format)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> CodecConfig:
        """The configuration that :meth:`settings` describes; what is left out has its default."""
        shape, rest = split_settings(settings, cls)
        return cls(format_from_settings(rest), **shape)

    def describe(self) -> dict[str, object]:
        """The rows for the head of generated files, in the order in which one reads them."""
        rows = {**_codec_row(self.format), "word bits": self.format.word_bits, "lanes": self.lanes}
        rows |= self.format.describe()
        if self.runtime_values:
            rows["values"] = f"{self.table_size} at run time"
        if self.pipelined:
            rows["pipelined"] = "yes"
        if not self.work_conserving:
            rows["queue"] = self.queue
        if self.clock_gates:
            rows["clock gates"] = "yes"
        return rows | slices_row(self.register_slices)

    def summary(self) -> str:
        """The configuration in a few words, for the title of a report."""
        shape = (
            f"{self.lanes}x{self.format.word_bits}, {self.format.summary(at_run_time=self.runtime_values)}"
        )
        shape += ", pipelined" if self.pipelined else ""
        shape += "" if self.work_conserving else f", queue of {self.queue}"
        shape += ", clock gates" if self.clock_gates else ""
        return shape + (f", slices {self.register_slices}" if slices_row(self.register_slices) else "")


def format_settings(format: StreamFormat) -> dict[str, Any]:
    """The parameters of a format as plain values; names the codec where it is not the default one."""
    return _codec_row(format) | format.settings()


def format_from_settings(settings: Mapping[str, Any]) -> StreamFormat:
    """The format that :func:`format_settings` describes; what is left out has its default."""
    rest = dict(settings)
    return codec_named(rest.pop("codec", DEFAULT)).format.from_settings(rest)


def _codec_row(format: StreamFormat) -> dict[str, Any]:
    """Names the codec where it is not the default one."""
    return {} if format.codec == DEFAULT else {"codec": format.codec}


#: The most stream words of a beat.
_MOST_UNITS = 64
#: The fewest beats of a window of a pipelined codec: the cycles that its hardware takes from one header to the next.
_PIPELINE_BEATS = 4


def _check(config: CodecConfig) -> None:
    form = config.format
    if form.mask_words:
        _check_levels(config)
    if config.units < form.align_words:
        raise ParameterError(
            f"lanes is {config.lanes}, a beat of {config.units * form.stream_bits / 8:g} bytes, with windows padded to "
            "more; a beat must be at least as long as what windows are padded to"
        )
    if config.units > _MOST_UNITS:
        raise ParameterError(
            f"lanes is {config.lanes} with a field in words of {form.word_bits} bits; a beat has at most {_MOST_UNITS} "
            "bytes of such words"
        )
    if config.pipelined:
        _check_pipelined(config)
    if config.runtime_values and not form.table_size(at_run_time=True):
        raise ParameterError("runtime_values is true; with one code bit and zero the format has no table")
    if config.lanes > config.format.window:
        raise ParameterError(
            f"lanes is {config.lanes}; it must not exceed the window of {config.format.window} words, "
            "because a beat never spans two windows"
        )
    if config.pipelined and config.beats < _PIPELINE_BEATS:
        raise ParameterError(
            f"lanes is {config.lanes} with a window of {config.format.window} words; a pipelined codec needs windows of "
            f"at least {_PIPELINE_BEATS} beats, because it takes so many cycles from one header to the next"
        )


def _check_levels(config: CodecConfig) -> None:
    form = config.format
    if config.pipelined or not isinstance(form, Format) or form.field_bits or form.padded:
        raise ParameterError(
            "levels is 2; codecs of two levels are plain, with codes of whole words and windows without padding"
        )
    if form.mask_words != form.header_words:
        raise ParameterError(
            f"group is {form.group}; in hardware the mask of a group is as long as a header, "
            f"{form.window * form.code_bits} bits"
        )
    if 2 * form.header_words > config.units:
        raise ParameterError(
            f"lanes is {config.lanes}, a beat of {config.units} words; with two levels a beat must be as long as a mask and "
            f"a header, {2 * form.header_words} words"
        )


def _check_pipelined(config: CodecConfig) -> None:
    form = config.format
    if form.parts > 1 and not form.zero:
        raise ParameterError(
            "zero is false in a format with a field; pipelined codecs are built for such formats with zero only"
        )
    if form.align_words > 1 and form.header_words // config.header_reads + form.align_words > config.units:
        raise ParameterError(
            f"lanes is {config.lanes}, a beat of {config.units * form.stream_bits / 8:g} bytes; in a pipelined codec a beat "
            "must be as long as a header and what windows are padded to"
        )


CODEC = Codec(
    name=DEFAULT,
    summary="zeros, or a few frequent values, cost a code in a header and nothing else",
    format=Format,
    runtime_table=True,
    pipelined=True,
    small_queue=True,
    check=_check,
    compressor="cdma.hdl.codec.generate:Compressor",
    decompressor="cdma.hdl.codec.generate:Decompressor",
    model="cdma.sim.codec.frequent_value:MODEL",
    bench="cdma.verif.stream.codec.codec_bench:BENCH",
)
