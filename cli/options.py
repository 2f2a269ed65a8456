"""Command-line options that say which format, which codec or which engine, alike in every command that takes them.

What the command line leaves open comes from its ``--format``, a preset, or else from the file of ``--config``, and what
none says has the default of the format, of :class:`~cdma.hdl.spec.codec.CodecConfig` or of
:class:`~cdma.hdl.spec.engine.EngineConfig`. The parameters of a format are those that its codec describes; with several
codecs the options of all are offered, and the format refuses the ones that it does not have.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.base.toml_table import read_toml
from cdma.hdl.spec.codec import CodecConfig, format_from_settings
from cdma.hdl.spec.codecs import CODECS, DEFAULT, codec_named
from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.presets import PRESETS
from cdma.hdl.spec.quantisation import NUMBERS, Quantisation
from cdma.hdl.spec.sideband import Sideband
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.hdl.spec.stream_format import StreamFormat

__all__ = [
    "ENGINE",
    "add_block_options",
    "add_format_options",
    "add_spread_options",
    "check_jobs",
    "codec_config_from",
    "config_from",
    "engine_config_from",
    "format_from",
    "settings_given",
    "stage_config_from",
]

#: The block that is no codec.
ENGINE = "engine"


@dataclass(frozen=True)
class _Setting:
    """One parameter that the command line and the file of ``--config`` can set.

    ``name``
        The name of the parameter; the option has hyphens instead of underscores.
    ``help``
        What it means.
    ``kind``
        The type of its values: ``int``, ``bool``, ``str``, or ``list`` for one or more whole numbers.
    ``default``
        The default that the help text says; None where ``help`` says it, or where it depends on the data.
    ``metavar``
        What stands for a value in the help text.
    """

    name: str
    help: str
    kind: type = int
    default: object = None
    metavar: str = "N"


_SLICES = _Setting(
    "register_slices",
    "handshakes with a register slice, by the direction of their data: none (the default), in, out, or in,out, after "
    "which no combinational path crosses the block",
    str,
    metavar="PORTS",
)
_QUEUE = (
    "finished beats that a compressor stores: 2 for full throughput on any data, 1 or 0 for less area, also of a "
    "decompressor"
)
_CODEC = (
    _Setting("lanes", "words of one beat: a power of two, 1 to 64", default=CodecConfig.lanes),
    _Setting("runtime_values", "the frequent values come in on a port instead of being fixed", bool),
    _Setting("pipelined", "more registers and memories for a faster clock on an FPGA", bool),
    _SLICES,
    _Setting("queue", _QUEUE, default=CodecConfig.queue),
)

_ENGINE_NUMBERS = {
    "lanes": "words of one beat of the codec",
    "dev_data_bits": "width of the device port's data",
    "host_data_bits": "width of the host port's data",
    "dev_address_bits": "width of the device port's addresses",
    "host_address_bits": "width of the host port's addresses",
    "burst_beats": "beats of the longest burst",
    "outstanding": "bursts of data in flight at once, per port and direction",
    "latency": "cycles of memory latency that the read buffer hides",
    "read_buffer_beats": "the read buffer itself; 0: a beat for each cycle of latency, up to a power of two",
    "write_buffer_beats": "the write buffer; 0: four bursts",
    "descriptors": "descriptors in flight at once, per channel",
    "units": "device ports, each with a compressor and a decompressor: 1, 2, 4, 6 or 8",
    "stripe_bytes": "bytes of device memory that lie at one of several device ports before the next one's",
    "ring_entries": "entries of the largest ring",
}
_SIDEBAND = {
    "dev_axcache": "AxCACHE of data in device memory",
    "host_axcache": "AxCACHE of data in host memory",
    "ring_axcache": "AxCACHE of descriptors and completions",
    "axprot": "AxPROT of all transactions",
    "axqos": "AxQOS of all transactions",
    "axuser_bits": "width of AxUSER; 0: no such port",
    "axuser": "AxUSER of all transactions",
}
_ENGINE = (
    *(_Setting(name, help, default=getattr(EngineConfig, name)) for name, help in _ENGINE_NUMBERS.items()),
    *(_Setting(name, help, default=getattr(Sideband, name)) for name, help in _SIDEBAND.items()),
    _Setting(
        "alignment",
        "what sources and destinations are multiples of: beat (of their port, the default) or word",
        str,
        metavar="UNIT",
    ),
    _Setting(
        "registers",
        "with registers, rings and interrupt (the default), or with descriptor and completion streams",
        bool,
    ),
    _Setting(
        "sideband_registers", "with registers of AxCACHE, AxPROT, AxQOS and AxUSER in each channel", bool
    ),
    _Setting("pipelined", "with codecs that are made for FPGAs, of more registers and memories", bool),
    _SLICES,
    _Setting("queue", _QUEUE, default=EngineConfig.queue),
    _Setting(
        "lossy",
        "with an error-bounded stage, which makes words of numbers of this type where a descriptor has a step: "
        f"{', '.join(LOSSY)}",
        str,
        LOSSY[0],
        "TYPE",
    ),
    _Setting("keep_nonzero", "no number but zero becomes the integer 0", bool),
    _Setting("crc", "with a CRC-32C of the raw bytes of each transfer, checked on request", bool),
)

_STAGE = (
    _Setting("number", f"type of the numbers: {', '.join(NUMBERS)}", str, Quantisation.number, "TYPE"),
    _Setting(
        "bits", "bits of an integer: 4, 8 or 16, fewer than those of a number", default=Quantisation.bits
    ),
    _Setting("keep_nonzero", "no number but zero becomes the integer 0", bool),
    _Setting("lanes", "numbers of one beat: a power of two, 1 to 64", default=StageConfig.lanes),
)


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`format_from` reads. The file may set the hardware too, which is ignored here."""
    settings = _format_settings()
    # Commands that read data take the width of a word from them.
    shown = [replace(each, default=None) if each.name == "word_bits" else each for each in settings]
    names = ", ".join(each.name for each in (*settings, *_CODEC))
    _add(parser.add_argument_group("format"), shown, f"TOML file with any of {names}")


def add_block_options(parser: argparse.ArgumentParser, block: str) -> None:
    """Adds the options that :func:`config_from` reads for a block."""
    parser.set_defaults(block=block)
    if block in STAGES:
        group = parser.add_argument_group("stage")
        _add(group, _STAGE)
        _add_file(group, "TOML file with any of these, with underscores")
    elif block == ENGINE:
        settings = (*_format_settings(engine=True), *_ENGINE)
        _add(parser.add_argument_group("engine"), settings, "TOML file with any of these, with underscores")
    else:
        add_format_options(parser)
        _add(parser.add_argument_group("hardware"), _CODEC)


def add_spread_options(group: Any, *aliases: str) -> None:
    """Adds the options that say who shares the work, alike in every command that can spread it; ``scheduler`` is what
    :func:`cdma.base.spread.spread` takes."""
    group.add_argument(
        "--dask",
        *aliases,
        dest="scheduler",
        metavar="ADDRESS",
        help="spread the work over the workers of a Dask scheduler, such as tcp://host:8786",
    )


def format_from(arguments: argparse.Namespace, **otherwise: int) -> StreamFormat:
    """The format that the parsed ``arguments`` ask for, with the settings ``otherwise`` where they do not say."""
    given = _given(arguments, (*_format_settings(), *_CODEC))
    shape = [setting.name for setting in _CODEC]
    rest = {name: value for name, value in given.items() if name not in shape}
    return format_from_settings(otherwise | rest)


def codec_config_from(arguments: argparse.Namespace, **otherwise: int) -> CodecConfig:
    """The codec that the parsed ``arguments`` ask for, with the settings ``otherwise`` where they do not say."""
    return CodecConfig.from_settings(otherwise | _given(arguments, (*_format_settings(), *_CODEC)))


def engine_config_from(arguments: argparse.Namespace) -> EngineConfig:
    """The engine that the parsed ``arguments`` ask for."""
    return EngineConfig.from_settings(_given(arguments, (*_format_settings(engine=True), *_ENGINE)))


def config_from(arguments: argparse.Namespace) -> CodecConfig | StageConfig | EngineConfig:
    """The codec, the quantiser, the dequantiser or the engine that the parsed ``arguments`` ask for."""
    if arguments.block in STAGES:
        return stage_config_from(arguments)
    return (engine_config_from if arguments.block == ENGINE else codec_config_from)(arguments)


def stage_config_from(arguments: argparse.Namespace) -> StageConfig:
    """The quantiser or the dequantiser that the parsed ``arguments`` ask for."""
    return StageConfig.from_settings(_given(arguments, _STAGE, codec=False))


def check_jobs(jobs: int) -> None:
    """Refuses a number of processes that is none."""
    if jobs < 1:
        raise ParameterError(f"jobs is {jobs}; it must be 1 or more")


def settings_given(arguments: argparse.Namespace) -> bool:
    """Whether the parsed ``arguments`` say anything about a codec."""
    names = ("config", "format", "codec", *(setting.name for setting in (*_format_settings(), *_CODEC)))
    return any(getattr(arguments, name, None) is not None for name in names)


def _format_settings(*, engine: bool = False) -> list[_Setting]:
    """The parameters of the formats of all codecs, or those of them that an ``engine`` takes."""
    settings: dict[str, _Setting] = {}
    for name in CODECS:
        codec = codec_named(name)
        defaults = {field.name: field.default for field in dataclasses.fields(codec.format)}  # type: ignore[arg-type]
        for option in codec.options:
            if option.engine or not engine:
                default = defaults[option.name]
                kind: type = list if option.several else bool if isinstance(default, bool) else int
                metavar = "VALUE" if option.several else "N"
                default = None if kind is bool else default
                setting = _Setting(option.name, option.help, kind, default, metavar)
                settings.setdefault(option.name, setting)
    return list(settings.values())


def _add(group: Any, settings: Sequence[_Setting], file_help: str | None = None) -> None:
    """Adds an option for each setting, and, with ``file_help``, those that say which codec and which file."""
    if file_help is not None:
        group.add_argument(
            "--format",
            metavar="NAME",
            help=f"a format by name: {', '.join(PRESETS)} (cdma formats says what for); other options change it",
        )
        codecs = "; ".join(f"{name}: {codec_named(name).summary}" for name in CODECS)
        group.add_argument(
            "--codec",
            metavar="NAME",
            help=f"{codecs} (default {DEFAULT})" if len(CODECS) > 1 else argparse.SUPPRESS,
        )
    for setting in settings:
        option, help = f"--{setting.name.replace('_', '-')}", _help_of(setting)
        if setting.kind is bool:
            group.add_argument(option, action=argparse.BooleanOptionalAction, help=help)
        elif setting.kind is str:
            group.add_argument(option, metavar=setting.metavar, help=help)
        else:
            several = "+" if setting.kind is list else None
            group.add_argument(option, type=_whole_number, nargs=several, metavar=setting.metavar, help=help)
    if file_help is not None:
        _add_file(group, file_help)


def _add_file(group: Any, help: str) -> None:
    group.add_argument("--config", type=Path, metavar="FILE", help=f"{help}; the command line wins over it")


def _help_of(setting: _Setting) -> str:
    default = setting.default
    if default is None:
        return setting.help
    said = " ".join(map(str, default)) if isinstance(default, tuple) else default
    return f"{setting.help} (default {said})"


def _whole_number(text: str) -> int:
    """A whole number, decimal or with the prefix 0x, 0o or 0b."""
    try:
        return int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number such as 42 or 0x2a") from None


def _given(
    arguments: argparse.Namespace, settings: Sequence[_Setting], *, codec: bool = True
) -> dict[str, Any]:
    """What the command line or else the file says about ``settings``, and about which ``codec`` it is."""
    names = [*(setting.name for setting in settings), *(["codec"] if codec else [])]
    found = _read(arguments.config, settings, names) if arguments.config is not None else {}
    if (name := getattr(arguments, "format", None)) is not None:
        found |= Format.preset(name).settings()
    return found | {name: value for name in names if (value := getattr(arguments, name, None)) is not None}


def _read(path: Path, settings: Sequence[_Setting], names: Sequence[str]) -> dict[str, Any]:
    """The settings in a file; refuses unknown names, and lists and flags that are neither."""
    found = read_toml(path).settings(names)
    for setting in settings:
        value = found.get(setting.name)
        if value is None or setting.kind not in (list, bool) or isinstance(value, setting.kind):
            continue
        wanted = "a list, such as [0]" if setting.kind is list else "true or false"
        raise ParameterError(f"{path} has {setting.name} = {value!r}; it must be {wanted}")
    return found
