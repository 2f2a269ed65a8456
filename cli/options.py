"""Command-line options that say which format and which codec, alike in every command that takes them.

What the command line leaves open the file of ``--config`` says, and what neither says has the default of
:class:`~cdma.hdl.spec.format.Format` or :class:`~cdma.hdl.spec.codec.CodecConfig`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.errors import ParameterError
from cdma.hdl.spec.format import Format

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["add_codec_options", "add_format_options", "codec_config_from", "format_from"]

_FORMAT_KEYS = ("word_bits", "window", "code_bits", "values")
_CODEC_KEYS = ("lanes", "runtime_values", "pipelined")


def _whole_number(text: str) -> int:
    """A whole number, decimal or with the prefix 0x, 0o or 0b."""
    try:
        return int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number such as 42 or 0x2a") from None


def add_format_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`format_from` reads."""
    group = parser.add_argument_group("format")
    group.add_argument("--word-bits", type=_whole_number, metavar="N", help="bits of a word: 8, 16 or 32")
    group.add_argument(
        "--window", type=_whole_number, metavar="N", help="words per header: 32 or 64 (default 32)"
    )
    group.add_argument(
        "--code-bits", type=_whole_number, metavar="N", help="bits of a code: 1, 2 or 4 (default 1)"
    )
    group.add_argument(
        "--values",
        type=_whole_number,
        nargs="+",
        metavar="VALUE",
        help="the frequent values, lowest code first, such as 0 0x3f800000; "
        "up to 2^N - 1 with N code bits (default 0)",
    )
    group.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file with any of "
        + ", ".join(_FORMAT_KEYS + _CODEC_KEYS)
        + "; the command line wins over it",
    )


def add_codec_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that :func:`codec_config_from` reads: the format's and its hardware's."""
    add_format_options(parser)
    group = parser.add_argument_group("hardware")
    group.add_argument(
        "--lanes",
        type=_whole_number,
        metavar="N",
        help="words of one beat: a power of two, 1 to 64 (default 8)",
    )
    group.add_argument(
        "--runtime-values",
        action=argparse.BooleanOptionalAction,
        help="the frequent values come in on a port instead of being fixed",
    )
    group.add_argument(
        "--pipelined",
        action=argparse.BooleanOptionalAction,
        help="more registers and memories for a faster clock on an FPGA",
    )


def format_from(arguments: argparse.Namespace, word_bits: int = Format.word_bits) -> Format:
    """The format that the parsed ``arguments`` ask for, with ``word_bits`` where they do not say."""
    settings = {"word_bits": word_bits} | _settings(arguments, _FORMAT_KEYS)
    return Format(**settings)


def codec_config_from(arguments: argparse.Namespace) -> CodecConfig:
    """The codec that the parsed ``arguments`` ask for."""
    settings = _settings(arguments, _CODEC_KEYS)
    return CodecConfig(format_from(arguments), **settings)


def _settings(arguments: argparse.Namespace, keys: tuple[str, ...]) -> dict[str, Any]:
    """The settings among ``keys`` that the command line or else the file gives."""
    settings: dict[str, Any] = {}
    if arguments.config is not None:
        settings |= _read(arguments.config)
    settings |= {key: value for key in keys if (value := getattr(arguments, key)) is not None}
    return {key: value for key, value in settings.items() if key in keys}


def _read(path: Path) -> Mapping[str, Any]:
    """The settings in a file; refuses keys that mean nothing, which are most often misspelt ones."""
    try:
        with path.open("rb") as file:
            settings = tomllib.load(file)
    except OSError as error:
        raise ParameterError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path} is not a TOML file: {error}") from None
    known = _FORMAT_KEYS + _CODEC_KEYS
    if unknown := [key for key in settings if key not in known]:
        raise ParameterError(f"{path} has the unknown key {unknown[0]!r}; it may have {', '.join(known)}")
    if not isinstance(settings.get("values", []), list):
        raise ParameterError(f"{path} has values = {settings['values']!r}; it must be a list, such as [0]")
    for flag in ("runtime_values", "pipelined"):
        if not isinstance(settings.get(flag, False), bool):
            raise ParameterError(f"{path} has {flag} = {settings[flag]!r}; it must be true or false")
    return settings
