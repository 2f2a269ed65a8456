"""Builds Verilog into a four-state simulation that cocotb drives: Icarus Verilog, of the system."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from cdma.base.cache import content_key, kept_folder
from cdma.hdl.verilog.ports import Port

from .build import run_tool
from .four_state import four_state_name, four_state_text
from .toolchain import ToolchainError

__all__ = ["Icarus", "build_four_state", "find_icarus", "run_four_state"]

#: Part of every key: raise it when this module builds the same inputs differently.
_REVISION = "1"


@dataclass(frozen=True)
class Icarus:
    """An Icarus Verilog that runs."""

    compiler: str
    runner: str
    version: str


def find_icarus() -> Icarus:
    """The Icarus Verilog on PATH, checked to run."""
    return _find_icarus(os.environ.get("PATH"))


@lru_cache(maxsize=8)
def _find_icarus(_path: str | None) -> Icarus:
    install = "on Debian or Ubuntu with apt install iverilog"
    compiler, runner = shutil.which("iverilog"), shutil.which("vvp")
    if compiler is None or runner is None:
        missing = "iverilog" if compiler is None else "vvp"
        raise ToolchainError(f"Icarus Verilog is not installed: no {missing} on PATH; install it, {install}")
    done = subprocess.run([compiler, "-V"], capture_output=True, text=True, errors="replace")
    version = re.search(r"Icarus Verilog version (\d+)\.\S+", done.stdout)
    if version is None:
        raise ToolchainError(f"Icarus Verilog ({compiler}) does not run; reinstall it, {install}")
    return Icarus(compiler, runner, version[0])


def build_four_state(verilog: str, top: str, ports: Sequence[Port], *, trace: bool = False) -> Path:
    """The simulation of the module ``top`` of ``verilog`` in four states; :func:`run_four_state` has the command.

    With ``trace`` it can write a VCD of every signal.
    """
    tool = find_icarus()
    text = four_state_text(verilog, top, ports, trace=trace)
    key = content_key(_REVISION, tool.version, tool.compiler, text)

    def make(folder: Path) -> None:
        (folder / "design.v").write_text(text)
        command = [tool.compiler, "-g2012", "-s", four_state_name(top), "-o", "sim", "design.v"]
        run_tool(command, folder, f"Icarus Verilog on {top}")

    return kept_folder("four-state", key, make) / "sim"


def run_four_state(executable: Path) -> list[str]:
    """The beginning of the command that runs a simulation, with cocotb's library in it."""
    import cocotb_tools.config

    library = cocotb_tools.config.lib_entry("vpi", "icarus")
    return [find_icarus().runner, "-n", "-m", str(library), str(executable)]
