"""The driver's distribution and ``cdma linux``, as far as they can be tried without a kernel that runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cdma_linux.trial import run as linux_run
from tests.support.commands import Refused
from tests.support.paths import ROOT

_PACKAGE = ROOT / "extras" / "linux" / "cdma_linux"


@pytest.mark.slow
def test_the_wheel_holds_every_file(tmp_path: Path) -> None:
    """The module with the headers of the C driver, and every licence."""
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


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--run", "no_such_program"], "the program is no_such_program, which is not there"),
        (["--run"], "--run is given without a program"),
        (["--control", "/nonexist/pipe"], "--control is /nonexist/pipe; there is no directory /nonexist"),
        (["--script", "missing"], "cannot read missing"),
        (["--script", "script"], "the command is 'explode'"),
        (["--control", "script"], "--control is script, which is there already"),
        (["--waves", "waves.png"], "has no ending .vcd"),
        (["--first", "0"], "first is 0; it must be 1 or more"),
        (["--measure", "-5"], "--measure is -5; it must be a number of transfers"),
        (["--json"], "--json is for what --measure has found"),
        (["--no-registers"], "no registers"),
    ],
)
def test_impossible_runs_are_refused_in_a_sentence(
    options: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refused: Refused,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(linux_run, "kernel", lambda *_: pytest.fail("it goes on"))
    Path("script").write_text("5 explode\n")
    assert sentence in refused("linux", *options)
