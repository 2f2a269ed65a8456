"""The wheel alone gives a working ``cdma``, away from the checkout."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.native import compiler
from tests.support.paths import PACKAGES, ROOT
from tests.support.wheel import SOURCES

pytestmark = pytest.mark.slow

#: What ``cdma intake`` quotes.
_DOCUMENTS = (
    "README.md",
    "SECURITY.md",
    *("docs/engine.md", "docs/integration.md", "docs/verification.md", "docs/results/records.json"),
)


def test_the_wheel_holds_every_module_and_data_file(wheel: Path) -> None:
    expected = {
        f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, package in PACKAGES.items()
        if package != "cdma_linux"
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    expected -= {"cdma/study/README.md"}
    expected |= {f"cdma/documents/{name}" for name in _DOCUMENTS}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    kernels = {name for name in held if name.endswith(".so")}
    assert held - kernels == expected
    # One file for every version of Python, where there is a compiler.
    assert kernels == ({"cdma/sim/codec/_native.abi3.so"} if compiler() else set())
    assert "cdma/hdl/deliver/waivers.vlt" in held


def test_a_build_leaves_the_checkout_as_it_was(wheel: Path) -> None:
    """No ``build/`` but the one from before, and no ``*.egg-info``."""
    source = wheel.parent / "source"
    assert {path.name for path in source.iterdir()} == {*SOURCES, "build"}
    left = [path.name for path in source.rglob("*") if path.is_file() and "build" in path.parts]
    assert set(left) == {"stale.py"}


def test_the_installed_wheel_generates_verilog(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    packages = Path(subprocess.check_output([python, "-c", code], text=True).strip())
    # The dependencies are those of this environment; cdma itself is only what the wheel brings. The path file
    # of an editable install is not followed, because only directories given to site are searched for those.
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel],
        check=True,
        capture_output=True,
    )
    (packages / "dependencies.pth").write_text("".join(f"{path}\n" for path in site.getsitepackages()))
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=elsewhere, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = run(python, "-c", "import cdma; print(cdma.__file__)").strip()
    assert Path(where).is_relative_to(packages)
    small = ("--word-bits", "8", "--window", "8", "--lanes", "2")
    said = run(environment / "bin" / "cdma", "generate", "compressor", *small, "-o", "rtl")
    assert said.startswith("rtl/cdma_compressor.v: module cdma_compressor, ")
    assert (elsewhere / "rtl" / "cdma_compressor.v").read_text().count("endmodule") > 1
    backend = run(python, "-c", "import cdma; print(cdma.backend())").strip()
    assert (backend == "numpy") == (compiler() is None)
    assert "usage: cdma" in run(environment / "bin" / "cdma", "--help")
