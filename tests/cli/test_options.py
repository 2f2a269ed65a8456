"""The format and codec options that commands share."""

from __future__ import annotations

import argparse
import dataclasses
import re

import pytest

from cdma import CdmaError, CodecConfig, Format, ParameterError
from cdma.command import add_options
from cdma.hdl.spec.codec import CODECS, DEFAULT
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import Sideband
from cdma.hdl.spec.profiles import PROFILES
from cdma.options import (
    block_options,
    codec_config_from,
    config_from,
    engine_config_from,
    format_from,
    format_options,
)
from tests.support.verbatim.description import LINE, Verbatim


@pytest.fixture
def parse():
    parser = argparse.ArgumentParser()
    add_options(parser, block_options("compressor"))
    return lambda *arguments: parser.parse_args([str(argument) for argument in arguments])


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "codec.toml"

    def write(text):
        path.write_text(text)
        return path

    return write


def test_defaults(parse):
    assert codec_config_from(parse()) == CodecConfig()
    assert format_from(parse(), word_bits=8) == Format(word_bits=8)


_WHOLE = "--word-bits 16 --window 64 --code-bits 2 --values 0 0x3c00 --lanes 16 --runtime-values --pipelined"
_FILE = "word_bits = 8\ncode_bits = 2\nvalues = [0, 0x7f]\nlanes = 32\nruntime_values = true\n"


@pytest.mark.parametrize(
    ("text", "options", "asked"),
    [
        ("", _WHOLE, CodecConfig(Format(16, 64, 2, (0, 0x3C00)), 16, True, True)),
        ("", "--queue 0", CodecConfig(queue=0)),
        ("queue = 1", "", CodecConfig(queue=1)),
        ("", "--pipelined", CodecConfig(pipelined=True)),
        ("lanes = 4\npipelined = true", "", CodecConfig(lanes=4, pipelined=True)),
        ("lanes = 4\npipelined = true", "--no-pipelined", CodecConfig(lanes=4)),
        (_FILE, "", CodecConfig(Format(8, 32, 2, (0, 127)), 32, True)),
        (_FILE, "--lanes 4 --values 9 --no-runtime-values", CodecConfig(Format(8, 32, 2, (9,)), 4)),
    ],
)
def test_the_command_line_wins_over_the_file(text, options, asked, parse, config):
    file = ["--config", config(text)] if text else []
    assert codec_config_from(parse(*file, *options.split())) == asked


def test_format_commands_read_codec_files(config):
    parser = argparse.ArgumentParser()
    add_options(parser, format_options())
    arguments = parser.parse_args(["--config", str(config("lanes = 32\nwindow = 64\n"))])
    assert format_from(arguments) == Format(window=64)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "word_bit = 8",
            "has the unknown key 'word_bit'; it may have "
            "word_bits, window, code_bits, values, field_bits, rotate, zero, align, levels, group, lanes, runtime",
        ),
        ("values = 0", "has values = 0; it must be a list, such as [0]"),
        ("runtime_values = 1", "has runtime_values = 1; it must be true or false"),
        ('pipelined = "yes"', "has pipelined = 'yes'; it must be true or false"),
        ("word_bits = ", "is not a TOML file: "),
        (None, "No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(text, message, parse, config, tmp_path):
    path = config(text) if text else tmp_path / "none.toml"
    with pytest.raises(CdmaError, match=rf"{re.escape(str(path))}:? {re.escape(message)}"):
        codec_config_from(parse("--config", path))


def test_values_are_whole_numbers(parse, capsys):
    with pytest.raises(SystemExit):
        parse("--values", "1.5")
    assert "argument --values: '1.5' is not a whole number such as 42 or 0x2a" in capsys.readouterr().err


@pytest.fixture
def two_codecs(monkeypatch):
    monkeypatch.setitem(CODECS, "verbatim", LINE["verbatim"])


def _parser(block):
    parser = argparse.ArgumentParser()
    add_options(parser, block_options(block))
    parser.set_defaults(block=block)
    return parser


def test_one_codec_is_no_choice():
    assert "--codec" not in _parser("compressor").format_help()
    assert codec_config_from(_parser("compressor").parse_args(["--codec", DEFAULT])) == CodecConfig()


@pytest.mark.usefixtures("two_codecs")
@pytest.mark.parametrize("block", ["compressor", "engine"])
def test_another_codec(block, config):
    parser = _parser(block)
    assert "--codec NAME" in parser.format_help()
    asked = config_from(parser.parse_args(["--codec", "verbatim", "--word-bits", "16"]))
    assert asked.format == Verbatim(word_bits=16)
    path = str(config('codec = "verbatim"\nlanes = 4\n'))
    asked = config_from(parser.parse_args(["--config", path]))
    assert (asked.format, asked.lanes) == (Verbatim(), 4)
    with pytest.raises(
        ParameterError, match=r"^the format has no parameter 'code_bits'; the codec verbatim has"
    ):
        config_from(parser.parse_args(["--config", path, "--code-bits", "2"]))
    with pytest.raises(ParameterError, match=r"^codec is 'zip'; it must be one of frequent-value, verbatim$"):
        config_from(parser.parse_args(["--codec", "zip"]))


@pytest.mark.usefixtures("two_codecs")
def test_a_codec_is_not_built_in_every_way():
    with pytest.raises(ParameterError, match=r"^pipelined is true; the codec verbatim is not built so"):
        codec_config_from(_parser("compressor").parse_args(["--codec", "verbatim", "--pipelined"]))


def test_an_engine_has_no_fixed_table(config):
    assert "--values" not in _parser("engine").format_help()
    path = config("values = [0]\n")
    with pytest.raises(CdmaError, match="has the unknown key 'values'; it may have word_bits, window,"):
        engine_config_from(_parser("engine").parse_args(["--config", str(path)]))


@pytest.mark.parametrize(
    ("text", "options", "asked"),
    [
        (
            "word_bits = 16\ndev_data_bits = 512\noutstanding = 4",
            "--outstanding 8",
            EngineConfig(Format(16), dev_data_bits=512, outstanding=8),
        ),
        ('alignment = "word"', "", EngineConfig(alignment="word")),
        ('alignment = "word"', "--alignment beat", EngineConfig()),
        ("pipelined = true", "", EngineConfig(pipelined=True)),
        ("pipelined = true", "--no-pipelined", EngineConfig()),
        ("axprot = 2", "--host-axcache 15", EngineConfig(sideband=Sideband(axprot=2, host_axcache=15))),
    ],
)
def test_an_engine_from_a_file(text, options, asked, config):
    arguments = _parser("engine").parse_args(["--config", str(config(text)), *options.split()])
    assert engine_config_from(arguments) == asked


def test_a_preset_and_what_changes_it(parse, config):
    assert format_from(parse("--format", "bf16")) == Format.preset("bf16")
    arguments = parse("--format", "aie-ml", "--align", "8", "--config", config("window = 64\nlanes = 4\n"))
    assert format_from(arguments) == Format(8, 32, align=8)
    with pytest.raises(ParameterError, match="format is 'bf15'; it must be one of zvc32"):
        format_from(parse("--format", "bf15"))


def test_a_profile_and_what_changes_it(config):
    def engine(*words):
        return engine_config_from(_parser("engine").parse_args([*map(str, words)]))

    assert engine("--profile", "default") == EngineConfig()
    minimal = engine("--profile", "minimal")
    assert (minimal.registers, minimal.queue) == (False, 0)
    file = config("descriptors = 8\nlanes = 4\n")
    changed = engine("--profile", "minimal", "--config", file, "--lanes", "2")
    assert changed == dataclasses.replace(minimal, descriptors=8, lanes=2)
    with pytest.raises(ParameterError, match="profile is 'tiny'; it must be one of minimal, default, full"):
        engine("--profile", "tiny")
    for name in PROFILES:
        assert engine("--profile", name).waste() == ()


@pytest.mark.parametrize("block", ["compressor", "engine", "quantiser"])
def test_every_parameter_of_a_block_is_an_option(block):
    parser = _parser(block)
    settings = config_from(parser.parse_args([])).settings()
    assert len(settings) > 3
    # The table of an engine comes in at run time.
    names = {name for name in settings if (block, name) != ("engine", "values")}
    assert names <= set(vars(parser.parse_args([])))
