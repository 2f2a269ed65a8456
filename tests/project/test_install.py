"""The installed package is this repository, file by file, and type checkers find it from any folder."""

from __future__ import annotations

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
