"""The installed package is this repository, file by file, and type checkers find it from any folder. What ``make`` says
on a machine that lacks something.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.imports import modules_in
from tests.support.paths import PACKAGES, ROOT


def test_every_module_is_installed_and_is_the_file_of_this_repository() -> None:
    """A module that is missing here was added after the installation: ``make lint`` installs it."""
    installed = {}
    for module in modules_in(ROOT, PACKAGES):
        spec = find_spec(module)
        installed[module] = spec and spec.origin and Path(spec.origin).resolve()
    assert installed == {module: ROOT / file for module, file in modules_in(ROOT, PACKAGES).items()}


@pytest.mark.slow
def test_a_type_checker_finds_the_package_from_any_folder(tmp_path: Path) -> None:
    """Type checkers and editors follow links and folders; they do not run the import hooks of other editable installs."""
    code = "from cdma.hdl.spec.format import Format\nreveal_type(Format())"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", tmp_path, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert 'Revealed type is "cdma.hdl.spec.format.Format"' in done.stdout, done.stdout + done.stderr


_TOOLS = ("sh", "python3", "c++", "make", "perl")

_SENTENCES = {
    "python3": "Python is missing (python3): install Python 3.10 or newer",
    "c++": "A C++ compiler is missing: install one, on Debian or Ubuntu with apt install g++.",
    "make": "make is missing: install it, on Debian or Ubuntu with apt install make.",
    "perl": "perl with Pod::Usage is missing: install it, on Debian or Ubuntu with apt install perl.",
}


def _check(
    place: Path, tools: tuple[str, ...], *, extra: str = "dev", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs the check for what an extra is for, with nothing but ``tools`` on PATH."""
    for tool in tools:
        found = sys.executable if tool == "python3" else shutil.which(tool)
        if found is None:
            pytest.skip(f"{tool} is not installed")
        # A script and not a link: an interpreter looks for its files beside the path it was called by.
        (place / tool).write_text(f'#!/bin/sh\nexec "{found}" "$@"\n')
        (place / tool).chmod(0o755)
    return subprocess.run(
        ["/bin/sh", ROOT / ".ci" / "machine", extra],
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


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the Makefile and the parts of the package, which are empty."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    for folder in ("base", "cli", "hdl", "sim", "verif", "synth", "extras"):
        (tmp_path / folder).mkdir()
    for name in ("pyproject.toml", "setup.py"):
        (tmp_path / name).touch()
    return tmp_path


def _make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(["make", *words], cwd=folder, env=environment, capture_output=True, text=True)


def test_make_stops_at_what_is_missing(project: Path) -> None:
    done = _make(project, "test", "PYTHON=no-such-python")
    assert done.returncode != 0
    assert done.stderr.startswith("Python is missing (no-such-python)")
    assert not (project / ".venv").exists()


def test_the_demo_is_content_with_little(project: Path) -> None:
    assert "-e '.[verif]'" in _make(project, "-n", "demo").stdout
    assert "-e '.[dev]'" in _make(project, "-n", "test").stdout
