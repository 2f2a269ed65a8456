"""Builds Verilog into a simulation that cocotb drives, and keeps what it built.

Most of the time of an ordinary Verilator build goes into its own runtime, which is the same for every design.
Here the runtime is compiled once per tool version and kept; a design is then one C++ file and one link, a few
seconds. Both are kept by content. Only
the ports of the top are visible to the bench; the rest of the design is optimised freely.

A design can also be built with a main program of its own in C++, for runs that are too long for a bench in
Python.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import cocotb_tools.config

from cdma.hdl.spec.errors import CdmaError
from cdma.hdl.verilog.cache import content_key, kept_folder

from . import toolchain

__all__ = ["BuildError", "build", "build_with_main"]

#: Part of every key: raise it when this module builds the same inputs differently.
_REVISION = "1"
_RUNTIME = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
_TRACE_RUNTIME = ("verilated_vcd_c",)
_OPTIMISE = "-O1"


class BuildError(CdmaError):
    """A simulation could not be built; the message carries what the tool said."""


def build(verilog: str, top: str, ports: Sequence[str], *, trace: bool = False) -> Path:
    """The executable simulation of the module ``top`` of ``verilog``, of which a bench sees ``ports``.

    With ``trace`` it can write a VCD of every signal. Registers without an initial value start at random.
    """
    tool = toolchain.find_verilator()
    flags = _flags(trace)
    libraries = str(cocotb_tools.config.libs_dir)
    runtime_key, runtime = _runtime(tool, flags, trace)
    key = content_key(runtime_key, version("cocotb"), libraries, top, *ports, verilog)

    def make(folder: Path) -> None:
        visible = "".join(f'public_flat_rw -module "{top}" -var "{port}"\n' for port in ports)
        (folder / "ports.vlt").write_text(f"`verilator_config\n{visible}")
        options = ["--vpi", "--x-assign", "unique", "--x-initial", "unique", "ports.vlt"]
        main = str(cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp")
        link = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lcocotbvpi_verilator"]
        _build_design(folder, runtime, tool, flags, verilog, top, trace, options, main, link)

    return kept_folder("sim", key, make) / "sim"


def build_with_main(verilog: str, top: str, main: str) -> Path:
    """The executable of the module ``top`` of ``verilog`` and of the C++ text ``main``, which instantiates
    ``Vtop`` and clocks it."""
    tool = toolchain.find_verilator()
    flags = _flags(trace=False)
    runtime_key, runtime = _runtime(tool, flags, trace=False)

    def make(folder: Path) -> None:
        (folder / "main.cpp").write_text(main)
        _build_design(folder, runtime, tool, flags, verilog, top, False, ["-O3"], "main.cpp", [])

    return kept_folder("main", content_key(runtime_key, top, verilog, main), make) / "sim"


def _runtime(tool: toolchain.Verilator, flags: Sequence[str], trace: bool) -> tuple[str, Path]:
    """The key of Verilator's own objects, and the folder that holds them."""
    key = content_key(_REVISION, tool.version, tool.compiler_version, str(tool.include), *flags)
    return key, kept_folder("runtime", key, lambda folder: _build_runtime(folder, tool, flags, trace))


def _flags(trace: bool) -> list[str]:
    switches = {
        "VERILATOR": True,
        "VM_TRACE": trace,
        "VM_TRACE_VCD": trace,
        **dict.fromkeys(("VM_COVERAGE", "VM_SC", "VM_TIMING", "VM_TRACE_FST", "VM_TRACE_SAIF"), False),
    }
    return [_OPTIMISE, "-std=c++17", *(f"-D{name}={int(on)}" for name, on in switches.items())]


def _includes(tool: toolchain.Verilator) -> list[str]:
    return [f"-I{tool.include}", f"-I{tool.include / 'vltstd'}"]


def _build_runtime(folder: Path, tool: toolchain.Verilator, flags: Sequence[str], trace: bool) -> None:
    """Verilator's own C++, as objects."""

    def compile_one(source: str) -> None:
        command = [tool.compiler, *flags, *_includes(tool)]
        command += ["-c", "-o", f"{source}.o", str(tool.include / f"{source}.cpp")]
        _run(command, folder, f"compiling Verilator's {source}.cpp")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(compile_one, (*_RUNTIME, *(_TRACE_RUNTIME if trace else ()))):
            pass


def _build_design(
    folder: Path,
    runtime: Path,
    tool: toolchain.Verilator,
    flags: Sequence[str],
    verilog: str,
    top: str,
    trace: bool,
    options: Sequence[str],
    main: str,
    link: Sequence[str],
) -> None:
    """The design's C++ and the main program as one file, linked with the runtime and with ``link``."""
    (folder / "design.sv").write_text(verilog)
    _run(
        [
            *tool.command,
            *("--cc", "--prefix", "Vtop", "--top-module", top, "-Mdir", "."),
            *("-Wno-fatal", "-Wno-lint", "-Wno-style"),
            *(["--trace-vcd", "--trace-structs"] if trace else []),
            *options,
            "design.sv",
        ],
        folder,
        f"Verilator on {top}",
        tool.environment,
    )
    parts = sorted(path.name for path in folder.glob("Vtop*.cpp"))
    (folder / "all.cpp").write_text("".join(f'#include "{part}"\n' for part in (*parts, main)))
    _run(
        [tool.compiler, *flags, *_includes(tool), "-I.", "-c", "-o", "all.o", "all.cpp"],
        folder,
        f"compiling the simulation of {top}",
    )
    _run(
        [tool.compiler, "-o", "sim", "all.o", *sorted(runtime.glob("*.o")), *link, "-pthread"],
        folder,
        f"linking the simulation of {top}",
    )
    for path in folder.iterdir():
        if path.name not in ("sim", "design.sv"):
            path.unlink()


def _run(
    command: Sequence[str | Path], folder: Path, what: str, environment: Mapping[str, str] | None = None
) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[:20])
        raise BuildError(f"{what} failed with status {done.returncode}:\n{said}")
