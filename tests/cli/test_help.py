"""Help: what ``cdma`` alone prints, examples of every command, how much a command says, and completion."""

import shlex
import shutil
import subprocess
import sys

import pytest

from cdma.app import main, parser
from cdma.examples import all_examples
from cdma.streams import commands_of

PARSER = parser()
EXAMPLES = all_examples()
COMMANDS = [command.prog.removeprefix("cdma ") for command in commands_of(PARSER)]


def test_bare_command_is_help(capsys) -> None:
    assert main([]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("usage: cdma")
    assert captured.err == ""


def test_every_command_has_examples() -> None:
    assert sorted(EXAMPLES) == sorted(COMMANDS)


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_are_understood_and_shown(command: str, capsys) -> None:
    with pytest.raises(SystemExit):
        PARSER.parse_args([*command.split(), "--help"])
    shown = capsys.readouterr().out.splitlines()
    for line in EXAMPLES[command]:
        example = f"cdma {command} {line}".rstrip()
        assert f"  {example}" in shown
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

    def use(arguments: object) -> int:
        kept_text("verilog", "0" * 64, ".v", lambda: "")
        return 0

    monkeypatch.setattr("cdma.commands.formats._run", use)
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


def test_tables_in_a_pipe_are_whole(tmp_path) -> None:
    """No line is broken where no terminal has a width, also with one of the environment."""
    command = "study model step --network vgg16 --policy cdma --algorithm zv"
    said = subprocess.run(
        [sys.executable, "-m", "cdma", *command.split()],
        capture_output=True,
        text=True,
        env={"COLUMNS": "40", "PATH": "/usr/bin"},
        check=True,
    ).stdout.splitlines()
    # A line of titles, a row, and the verdict.
    assert len(said) == 3
    assert said[0].split()[-1] == "fits"
