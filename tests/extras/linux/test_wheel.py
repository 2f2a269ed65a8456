"""The driver's distribution has the module with the headers of the C driver, and every licence."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.paths import ROOT

_PACKAGE = ROOT / "extras" / "linux" / "cdma_linux"


@pytest.mark.slow
def test_the_wheel_holds_every_file(tmp_path: Path) -> None:
    # Links are followed: what is in the distribution needs no checkout.
    source = tmp_path / "linux"
    shutil.copytree(ROOT / "extras" / "linux", source, ignore=shutil.ignore_patterns("build", "__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, source]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
        licences = {Path(name).name for name in archive.namelist() if "/licenses/" in name}
        driver = archive.read("cdma_linux/module/cdma.h")
    assert held == {
        path.relative_to(_PACKAGE.parent).as_posix()
        for path in _PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert licences == {"LICENSE", "COPYING"}
    assert driver == (ROOT / "sim" / "engine" / "driver" / "cdma.h").read_bytes()
