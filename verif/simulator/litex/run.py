"""Builds the SoC and its firmware, and runs it under Verilator."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from cdma.base.errors import CdmaError, install_command
from cdma.verif.simulator.build import build_with_main

_COMPILER = "riscv64-unknown-elf-gcc"
_PACKAGES = ("litex", "migen", "pythondata_cpu_vexriscv")
_HERE = Path(__file__).parent
#: The older specification has the CSR instructions in the base, and so the compiler finds its library for rv32im.
_FLAGS = ("-march=rv32im", "-misa-spec=2.2", "-mabi=ilp32", "-Os", "-std=c99", "-Wall", "-Wextra", "-Werror")
_FREE = ("-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", "-static")
_CYCLES = 3_000_000


class LitexError(CdmaError):
    """Something that the SoC is built with is missing or failed."""


def missing() -> list[str]:
    """What this machine lacks for the SoC, each with how it is installed."""
    packages = [name for name in _PACKAGES if find_spec(name) is None]
    found = [f"the Python packages {', '.join(packages)} ({install_command('litex')})"] if packages else []
    if shutil.which(_COMPILER) is None:
        found.append(f"the compiler {_COMPILER} (on Debian or Ubuntu apt install gcc-riscv64-unknown-elf)")
    return found


def run() -> int:
    """Builds and runs it, prints what the CPU says, and returns 0 if the tensor came back."""
    if lacking := missing():
        raise LitexError(f"the LiteX SoC needs {' and '.join(lacking)}")
    # LiteX is there only where somebody asked for it.
    from .soc import TOP, soc_sources

    with tempfile.TemporaryDirectory(prefix="cdma-litex-") as name:
        folder = Path(name)
        sources = soc_sources(folder, _firmware)
        for file, text in sources.memories.items():
            (folder / file).write_text(text, encoding="utf-8")
        main = (_HERE / "main.cpp").read_text(encoding="utf-8")
        program = build_with_main(sources.verilog, TOP, main)
        return subprocess.run([program, str(_CYCLES)], cwd=folder).returncode


def _firmware(folder: Path) -> bytes:
    """The firmware for the SoC whose headers are in ``folder``, as it lies in the ROM."""
    driver = resources.files("cdma.sim.engine.driver")
    with resources.as_file(driver / "cdma.h") as header:
        includes = [f"-I{path}" for path in (folder, _HERE, header.parent)]
        sources = [str(_HERE / "start.S"), str(_HERE / "firmware.c")]
        link = ["-T", str(_HERE / "link.ld"), "-Wl,--build-id=none", "-lgcc", "-o", "firmware.elf"]
        _call(folder, [_COMPILER, *_FLAGS, *_FREE, *includes, *sources, *link])
    objcopy = _COMPILER.replace("gcc", "objcopy")
    _call(folder, [objcopy, "-O", "binary", "-j", ".text", "firmware.elf", "firmware.bin"])
    return (folder / "firmware.bin").read_bytes()


def _call(folder: Path, command: list[str]) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise LitexError(f"{command[0]} failed with status {done.returncode}:\n{done.stderr.strip()}")
