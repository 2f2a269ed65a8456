"""Help: what ``cdma`` alone prints, examples of every command, how much a command says, and completion. What the command
does with words that it does not know, with files without an end, and with what users have grown.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cdma.app import main, parser
from cdma.commands import formats
from cdma.output import program_name
from cdma.result import Result
from cdma.streams import commands_of
from tests.support.commands import Refused, Shown

PARSER = parser()
COMMANDS = [command.prog for command in commands_of(PARSER)]


def test_bare_command_is_help(capsys) -> None:
    assert main([]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("usage: cdma")
    assert captured.err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_shown_and_understood(command: str, capsys) -> None:
    with pytest.raises(SystemExit):
        PARSER.parse_args([*command.split()[1:], "--help"])
    examples = capsys.readouterr().out.partition("\nexamples:\n")[2].splitlines()
    assert examples
    for example in examples:
        assert example.startswith(f"  {command}")
        assert PARSER.parse_args(shlex.split(example.partition(" > ")[0])[1:]).run is not None


def test_quiet(capsys, refused, tmp_path) -> None:
    small = ["generate", "compressor", "--lanes", "2", "--word-bits", "8", "-o", str(tmp_path)]
    assert main([*small, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "cdma_compressor.v").is_file()
    assert main(["formats", "--quiet", "--json"]) == 0
    assert capsys.readouterr().out.startswith("[")
    assert refused("generate", "compressor", "--lanes", "3", "-q").startswith("cdma: lanes is 3")


def test_verbose(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path / "cache"))
    from cdma.base.cache import kept_text

    def use(arguments: object) -> Result:
        kept_text("verilog", "0" * 64, ".v", lambda: "")
        return Result(None)

    monkeypatch.setattr("cdma.commands.formats.COMMAND", replace(formats.COMMAND, run=use))
    said = []
    for options in (["-v"], ["-v"], []):
        assert main(["formats", *options]) == 0
        said.append(capsys.readouterr().err)
    assert said[0].startswith(f"made {tmp_path / 'cache'}")
    assert said[1].startswith(f"kept {tmp_path / 'cache'}")
    assert said[2] == ""


def test_completion(shown, tmp_path) -> None:
    pytest.importorskip("shtab")
    for shell in ("bash", "zsh", "fish", "tcsh"):
        script = shown("completion", shell)
        assert "decompressor" in script
        if shell != "tcsh" and shutil.which(shell):
            file = tmp_path / shell
            file.write_text(script)
            assert subprocess.run([shell, "-n", str(file)], capture_output=True).returncode == 0


_SMALL = ("generate", "compressor", "--lanes", "2", "--word-bits", "8")


def _error(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            "generate compressor --nonsense",
            "cdma generate compressor: unrecognized arguments: --nonsense (try cdma generate compressor --help)",
        ),
        (
            "generate compressor --lane 4",
            "cdma generate compressor: unrecognized arguments: --lane 4; did you mean --lanes? (try cdma generate",
        ),
        ("formats more", "cdma formats: unrecognized arguments: more (try cdma formats --help)"),
        (
            "compress x.npy -",
            "cdma compress: argument output: '-' is no standard stream here; a file of this",
        ),
    ],
)
def test_errors_are_of_the_command_that_was_called(
    words: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _error(words, capsys).startswith(error)


@pytest.mark.parametrize(
    "words", ["-v verify compressor --list", "verify -v compressor --list", "verify compressor --list -v"]
)
def test_verbose_may_stand_anywhere(words: str) -> None:
    found = parser().parse_args(words.split())
    assert (found.verbose, found.quiet) == (True, False)
    assert not parser().parse_args(words.replace("-v ", "").removesuffix("-v").split()).verbose


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero, as Linux has it")
def test_a_file_without_an_end_is_refused(refused: Refused) -> None:
    assert "/dev/zero has more than 64 MiB" in refused(*_SMALL, "--config", "/dev/zero")


def test_a_tensor_without_elements_is_called_so(tmp_path: Path, refused: Refused) -> None:
    np.save(tmp_path / "none.npy", np.zeros((0, 4), np.float32))
    said = refused("wave", "compressor", "--input", tmp_path / "none.npy", "-o", tmp_path)
    assert said.endswith("none.npy: its shape is (0, 4), which has no element\n")


def test_an_edited_bench_is_overwritten_by_force_alone(
    tmp_path: Path, refused: Refused, shown: Shown
) -> None:
    bench, module = tmp_path / "cdma_compressor_tb.v", tmp_path / "cdma_compressor_cocotb.py"
    shown(*_SMALL, "-o", str(tmp_path))
    first = bench.read_text()
    # Of other parameters and not edited: another one takes its place in silence.
    shown(*_SMALL, "--window", "64", "-o", str(tmp_path))
    assert bench.read_text() != first
    module.write_text(module.read_text() + "# mine\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert f"{module} would be overwritten" in refused(*_SMALL, "-o", tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    # Nor is one that is older than digests, or of somebody else.
    bench.write_text("module mine;\nendmodule\n")
    assert f"{bench} and {module} would be overwritten" in refused(*_SMALL, "-o", tmp_path)
    shown(*_SMALL, "-o", str(tmp_path), "--force")
    assert bench.read_text() == first


def test_the_program_is_called_as_it_can_be_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / ".venv" / "bin" / "cdma"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_name() == ".venv/bin/cdma"
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{tmp_path}")
    assert program_name() == "cdma"
