"""What ``make`` says on a machine that lacks something, before it tries anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

_TOOLS = ("sh", "python3", "c++", "make")

_SENTENCES = {
    "python3": "Python is missing (python3): install Python 3.10 or newer",
    "c++": "A C++ compiler is missing: install one, on Debian or Ubuntu with apt install g++.",
    "make": "make is missing: install it, on Debian or Ubuntu with apt install make.",
}


def _check(place: Path, tools: tuple[str, ...], **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the check with nothing but ``tools`` on PATH."""
    for tool in tools:
        found = sys.executable if tool == "python3" else shutil.which(tool)
        if found is None:
            pytest.skip(f"{tool} is not installed")
        # A script and not a link: an interpreter looks for its files beside the path it was called by.
        (place / tool).write_text(f'#!/bin/sh\nexec "{found}" "$@"\n')
        (place / tool).chmod(0o755)
    return subprocess.run(
        ["/bin/sh", ROOT / ".ci" / "check"],
        env={"PATH": str(place), **variables},
        capture_output=True,
        text=True,
    )


def test_nothing_is_missing(tmp_path: Path) -> None:
    done = _check(tmp_path, _TOOLS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("missing", _SENTENCES)
def test_each_missing_tool_is_one_sentence(tmp_path: Path, missing: str) -> None:
    done = _check(tmp_path, tuple(tool for tool in _TOOLS if tool != missing))
    assert done.returncode == 1
    assert done.stderr.startswith(_SENTENCES[missing])
    assert done.stderr.count("\n") == 1


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "python3.9").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3.9").chmod(0o755)
    done = _check(tmp_path, _TOOLS, PYTHON="python3.9")
    assert done.returncode == 1
    assert done.stderr.startswith("Python is too old (python3.9): install 3.10 or newer")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_stops_at_what_is_missing(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    (tmp_path / "pyproject.toml").touch()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(
        ["make", "test", "PYTHON=no-such-python"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "Python is missing (no-such-python)" in done.stderr
    assert not (tmp_path / ".venv").exists()
