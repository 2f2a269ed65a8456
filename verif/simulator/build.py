"""Builds Verilog into a simulation that cocotb drives, and keeps what it built.

Most of the time of an ordinary Verilator build goes into its own runtime, which is the same for every design.
Here the runtime is compiled once per tool version and kept; a design is then two C++ files and one link, a few
seconds. Both are kept by content. Only
the ports of the top are visible to the bench; the rest of the design is optimised freely.

A design can also be built with a main program of its own in C++, for runs that are too long for a bench in
Python.
"""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import cocotb_tools.config

from cdma.base.cache import content_key, kept_folder
from cdma.base.errors import CdmaError

from . import toolchain

__all__ = ["BuildError", "build", "build_with_main"]

#: What ``cdma --verbose`` shows.
_log = logging.getLogger(__name__)

#: Part of every key: raise it when this module builds the same inputs differently.
_REVISION = "2"
_RUNTIME = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
_TRACE_RUNTIME = ("verilated_vcd_c",)
_COVERAGE_RUNTIME = ("verilated_cov",)
_OPTIMISE = "-O1"
#: For what runs once, at the start of a simulation: half of the C++, and optimising it takes longer than running it.
_AT_START = "-O0"


class BuildError(CdmaError):
    """A simulation could not be built; the message carries what the tool said."""


def build(
    verilog: str, top: str, ports: Sequence[str], *, trace: bool = False, coverage: bool = False
) -> Path:
    """The executable simulation of the module ``top`` of ``verilog``, of which a bench sees ``ports``.

    With ``trace`` it can write a VCD of every signal. With ``coverage`` it counts lines, branches and toggles, and writes
    them at its end. Registers without an initial value start at random.
    """
    builder = _Builder(toolchain.find_verilator(), trace, coverage)
    libraries = str(cocotb_tools.config.libs_dir)
    main = str(cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp")
    link = (f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lcocotbvpi_verilator")
    program = _Program(main, ("--vpi", "--x-assign", "unique", "--x-initial", "unique", "ports.vlt"), link)
    key = content_key(builder.key, version("cocotb"), libraries, top, *ports, verilog)

    def make(folder: Path) -> None:
        visible = "".join(f'public_flat_rw -module "{top}" -var "{port}"\n' for port in ports)
        (folder / "ports.vlt").write_text(f"`verilator_config\n{visible}")
        builder.build(folder, verilog, top, program)

    return kept_folder("sim", key, make) / "sim"


def build_with_main(verilog: str, top: str, main: str) -> Path:
    """The executable of the module ``top`` of ``verilog`` and of the C++ text ``main``.

    ``main`` instantiates ``Vtop`` and clocks it.
    """
    builder = _Builder(toolchain.find_verilator(), trace=False)

    def make(folder: Path) -> None:
        (folder / "main.cpp").write_text(main)
        builder.build(folder, verilog, top, _Program("main.cpp", ("-O3",)))

    return kept_folder("main", content_key(builder.key, top, verilog, main), make) / "sim"


@dataclass(frozen=True)
class _Program:
    """What a design is linked with: the source of the main program, options for Verilator, options for the linker."""

    source: str
    options: tuple[str, ...]
    link: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Builder:
    """Verilator and the compiler, for simulations that can write waves (``trace``), count ``coverage``, or neither."""

    tool: toolchain.Verilator
    trace: bool
    coverage: bool = False

    @property
    def key(self) -> str:
        """What the tools make depends on this."""
        tool = self.tool
        return content_key(_REVISION, tool.version, tool.compiler_version, str(tool.include), *self._flags)

    @property
    def _flags(self) -> list[str]:
        switches = {
            "VERILATOR": True,
            "VM_TRACE": self.trace,
            "VM_TRACE_VCD": self.trace,
            "VM_COVERAGE": self.coverage,
            **dict.fromkeys(("VM_SC", "VM_TIMING", "VM_TRACE_FST", "VM_TRACE_SAIF"), False),
        }
        return [_OPTIMISE, "-std=c++17", *(f"-D{name}={int(on)}" for name, on in switches.items())]

    @property
    def _compile(self) -> list[str]:
        include = self.tool.include
        return [self.tool.compiler, *self._flags, f"-I{include}", f"-I{include / 'vltstd'}"]

    def build(self, folder: Path, verilog: str, top: str, program: _Program) -> None:
        """Makes ``sim`` in a folder: the C++ of the design and the program, linked with the runtime."""
        runtime = kept_folder("runtime", self.key, self._build_runtime)
        (folder / "design.sv").write_text(verilog)
        command = [
            *self.tool.command,
            *("--cc", "--prefix", "Vtop", "--top-module", top, "-Mdir", "."),
            *("-Wno-fatal", "-Wno-lint", "-Wno-style"),
            *(["--trace-vcd", "--trace-structs"] if self.trace else []),
            *(["--coverage-line", "--coverage-toggle"] if self.coverage else []),
            *program.options,
            "design.sv",
        ]
        _run(command, folder, f"Verilator on {top}", self.tool.environment)
        parts = sorted(path.name for path in folder.glob("Vtop*.cpp"))
        at_start = [part for part in parts if part.endswith("Slow.cpp")]
        on_every_cycle = [*(part for part in parts if part not in at_start), program.source]
        for name, sources, optimise in (("start", at_start, _AT_START), ("cycle", on_every_cycle, _OPTIMISE)):
            (folder / f"{name}.cpp").write_text("".join(f'#include "{source}"\n' for source in sources))
            command = [*self._compile, optimise, "-I.", "-c", "-o", f"{name}.o", f"{name}.cpp"]
            _run(command, folder, f"compiling the simulation of {top}")
        objects = map(str, sorted(runtime.glob("*.o")))
        command = [self.tool.compiler, "-o", "sim", "start.o", "cycle.o", *objects, *program.link, "-pthread"]
        _run(command, folder, f"linking the simulation of {top}")
        for path in folder.iterdir():
            if path.name not in ("sim", "design.sv"):
                path.unlink()

    def _build_runtime(self, folder: Path) -> None:
        """Makes objects of Verilator's own C++."""

        def compile_one(source: str) -> None:
            command = [*self._compile, "-c", "-o", f"{source}.o", str(self.tool.include / f"{source}.cpp")]
            _run(command, folder, f"compiling Verilator's {source}.cpp")

        trace = _TRACE_RUNTIME if self.trace else ()
        coverage = _COVERAGE_RUNTIME if self.coverage else ()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for _ in pool.map(compile_one, (*_RUNTIME, *trace, *coverage)):
                pass


def _run(
    command: Sequence[str], folder: Path, what: str, environment: Mapping[str, str] | None = None
) -> None:
    _log.info("%s: %s", what, shlex.join(map(str, command)))
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[:20])
        raise BuildError(f"{what} failed with status {done.returncode}:\n{said}")
