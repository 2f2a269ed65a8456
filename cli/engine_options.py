"""Command-line options that say which engine; what they leave open the file of ``--config`` says."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.errors import ParameterError
from cdma.hdl.spec.format import Format

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["add_engine_options", "engine_config_from"]

_FORMAT = {
    "word_bits": "bits of a word: 8, 16 or 32",
    "window": "words per header: 32 or 64",
    "code_bits": "bits of a code: 1, 2 or 4",
}
_ENGINE = {
    "lanes": "words of one beat of the codec",
    "dev_data_bits": "width of the device port's data",
    "host_data_bits": "width of the host port's data",
    "dev_address_bits": "width of the device port's addresses",
    "host_address_bits": "width of the host port's addresses",
    "burst_beats": "beats of the longest burst",
    "outstanding": "bursts under way at once, per port and direction",
    "latency": "cycles of memory latency that the read buffer hides",
    "read_buffer_beats": "the read buffer itself; 0: a beat for each cycle of latency, up to a power of two",
    "write_buffer_beats": "the write buffer; 0: four bursts",
    "descriptors": "descriptors under way at once, per channel",
    "ring_entries": "entries of the largest ring",
}


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`engine_config_from` reads."""
    defaults: dict[str, Any] = {
        field.name: field.default for owner in (Format, EngineConfig) for field in dataclasses.fields(owner)
    }
    group = parser.add_argument_group("engine")
    for name, meaning in {**_FORMAT, **_ENGINE}.items():
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, type=int, metavar="N", help=f"{meaning} (default {defaults[name]})")
    group.add_argument(
        "--alignment",
        metavar="UNIT",
        help="what sources and destinations are multiples of: beat (of their port, the default) or word",
    )
    group.add_argument(
        "--registers",
        action=argparse.BooleanOptionalAction,
        help="with registers, rings and interrupt (the default), or with descriptor and completion streams",
    )
    group.add_argument(
        "--pipelined",
        action=argparse.BooleanOptionalAction,
        help="with codecs that are made for FPGAs, of more registers and memories",
    )
    group.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file with any of these, with underscores; the command line wins over it",
    )


def engine_config_from(arguments: argparse.Namespace) -> EngineConfig:
    """The engine that the parsed ``arguments`` ask for."""
    known = (*_FORMAT, *_ENGINE, "alignment", "registers", "pipelined")
    settings: dict[str, Any] = {}
    if arguments.config is not None:
        path = arguments.config
        try:
            settings = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise ParameterError(f"cannot read {path}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ParameterError(f"{path} is not a TOML file: {error}") from None
        if unknown := [key for key in settings if key not in known]:
            raise ParameterError(f"{path} has the unknown key {unknown[0]!r}; it may have {', '.join(known)}")
    settings |= {key: value for key in known if (value := getattr(arguments, key)) is not None}
    form = Format(**{key: settings.pop(key) for key in _FORMAT if key in settings})
    return EngineConfig(format=form, **settings)
