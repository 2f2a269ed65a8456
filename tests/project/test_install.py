"""The installed package is this repository, file by file, and type checkers find it from any folder. What ``make`` says
on a machine that lacks something, and when it installs the package again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
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
    """A folder with the Makefile and one module in each part of the package."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    for name in (
        "pyproject.toml",
        "setup.py",
        "base/one.py",
        "cli/one.py",
        "hdl/one.py",
        "sim/one.py",
        "verif/one.py",
        "synth/one.py",
        "extras/one/one.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
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


@pytest.fixture
def installed(project: Path) -> Path:
    """The same folder after an installation, with a command in place of Python that only prints a word."""
    links = project / "build" / "__editable__.cdma"
    links.mkdir(parents=True)
    fake = project / ".venv" / "bin" / "python"
    fake.parent.mkdir(parents=True)
    fake.write_text("#!/bin/sh\necho installed\n")
    fake.chmod(0o755)
    assert _install(project) == "installed\n"
    return project


def _install(folder: Path, extra: str = "dev") -> str:
    """Returns what the installation prints, which is nothing when it is up to date."""
    done = _make(folder, "--silent", f".venv/.installed-{extra}", "PYTHON=true")
    assert done.returncode == 0, done.stderr
    return done.stdout


def _add(folder: Path) -> None:
    (folder / "hdl" / "room").mkdir()
    (folder / "hdl" / "room" / "two.py").touch()


def _remove(folder: Path) -> None:
    (folder / "verif" / "one.py").unlink()


def _move(folder: Path) -> None:
    (folder / "sim" / "one.py").rename(folder / "synth" / "two.py")


def _lose_the_links(folder: Path) -> None:
    shutil.rmtree(folder / "build")


def _change_the_dependencies(folder: Path) -> None:
    later = (folder / ".venv" / ".installed-dev").stat().st_mtime + 10
    os.utime(folder / "pyproject.toml", (later, later))


@pytest.mark.parametrize("change", [_add, _remove, _move, _lose_the_links, _change_the_dependencies])
def test_make_installs_again_when_the_files_change(installed: Path, change: Callable[[Path], None]) -> None:
    assert _install(installed) == ""
    change(installed)
    assert _install(installed) == "installed\n"


def test_make_does_not_install_again_for_what_is_no_part_of_the_package(installed: Path) -> None:
    (installed / "hdl" / "__pycache__").mkdir()
    (installed / "hdl" / "__pycache__" / "one.pyc").touch()
    (installed / "hdl" / ".one.py.swp").touch()
    (installed / "hdl" / "one.py").write_text("changed = True\n")
    assert _install(installed) == ""


def test_the_demo_is_content_with_little(project: Path) -> None:
    assert "-e '.[verif]'" in _make(project, "-n", "demo").stdout
    assert "-e '.[dev]'" in _make(project, "-n", "test").stdout
