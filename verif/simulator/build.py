"""Builds Verilog into a simulation that cocotb drives, and keeps what it built; lints it, too.

Most of the time of an ordinary Verilator build goes into its own runtime, which is the same for every design. Here the
runtime and its headers are compiled once per tool version and kept; a design is then one or two C++ files and one link,
a few seconds. A short simulation is compiled without optimisation, because the compiler would take longer than the run.
Only the ports of the top are visible to the bench; the rest of the design is optimised freely.

A design can also be built with a main program in C++, for runs that are too long for a bench in Python, or for Icarus
Verilog, which has four states.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from cdma.base.cache import content_key, kept_folder
from cdma.base.errors import CdmaError
from cdma.base.spread import ending_with_thread
from cdma.hdl.deliver.flows import Waiver, verilator_waivers, waivers
from cdma.hdl.spec.options import reset_of
from cdma.hdl.verilog.shell import Port
from cdma.verif.simulator.monitors.rules import UNKNOWN, channel_valid, unknown_conditions

from . import toolchain
from .toolchain import ToolchainError, find_verilator

#: A register or a memory, as the design declares it.
_REGISTER = re.compile(
    r"^ *(?:output +)?reg +(?:\[\d+:\d+\] +)?(?P<name>\w+|\\\S+ )(?: +\[(?P<first>\d+):(?P<last>\d+)\])?;?,?(?: //.*)?$",
    re.MULTILINE,
)

#: A module, and the line before it if its registers are handshakes between two clocks.
_MODULE = re.compile(
    r"^(// Source: \S*, (?:LinkEnd|Synchroniser|AccessCrossing|Answering|Finishing)\n)?"
    r"(module .*?^endmodule)$",
    re.MULTILINE | re.DOTALL,
)


def four_state_name(top: str) -> str:
    return f"{top}_four_state"


def four_state_text(verilog: str, top: str, ports: Sequence[Port], *, trace: bool = False) -> str:
    """A design with top ``top``, and the module around it with the same ports; with ``trace`` it writes a VCD into
    ``+trace-file=``."""
    around = four_state_name(top)
    resets = dict.fromkeys(f"{around}.{reset_of(port.clock)}" for port in ports)
    forgetful = _MODULE.sub(
        lambda found: (found[1] or "") + _forgetting(found[2], " | ".join(resets), agrees=bool(found[1])),
        verilog,
    )
    return "\n".join(["`timescale 1ps / 1ps", forgetful, *_around(top, ports, trace)]) + "\n"


def _forgetting(module: str, reset: str, *, agrees: bool) -> str:
    """A module whose registers and memories become X when ``reset`` falls, or, where it ``agrees`` with another clock's,
    initial."""
    body = []
    for register in _REGISTER.finditer(module):
        name, first, last = register.group("name", "first", "last")
        if first is None:
            value = f"'b{int(name == 'restart')}" if agrees else "'bx"
            body.append(f"    {name} = {value};")
        else:
            low, high = sorted((int(first), int(last)))
            body.append(f"    for (four_state_index = {low}; four_state_index <= {high};")
            body.append(f"         four_state_index = four_state_index + 1) {name}[four_state_index] = 'bx;")
    if not body:
        return module
    lines = ["  integer four_state_index;", f"  always @(negedge {reset}) begin", *body, "  end", "endmodule"]
    return module.removesuffix("endmodule") + "\n".join(lines)


def _around(top: str, ports: Sequence[Port], trace: bool) -> Iterator[str]:
    conditions = unknown_conditions(ports)
    yield f"module {four_state_name(top)} ("
    yield ",\n".join(f"  {port.direction} wire {port.range}{port.name}" for port in ports)
    yield ");"
    yield f"  wire [{len(conditions) - 1}:0] {UNKNOWN} = {{"
    yield ",\n".join(f"    {condition}" for condition in reversed(conditions.values()))
    yield "  };"
    yield f"  {top} dut ("
    yield ",\n".join(f"    .{port.name}({_connection(port, ports)})" for port in ports)
    yield "  );"
    if trace:
        yield "  reg [8 * 4096 - 1:0] trace_file;"
        yield '  initial if ($value$plusargs("trace-file=%s", trace_file)) begin'
        yield "    $dumpfile(trace_file);"
        yield "    $dumpvars(0, dut);"
        yield "  end"
    yield "endmodule"


def _connection(port: Port, ports: Sequence[Port]) -> str:
    valid = channel_valid(port, ports) if port.direction == "input" else None
    return port.name if valid is None else f"{valid.name} === 1'b1 ? {port.name} : {{{port.width}{{1'bx}}}}"


_WARNING = re.compile(r"^%(?:Warning|Error)-(\w+):", re.MULTILINE)
#: What is no Verilog, and not merely a warning.
_ERROR = re.compile(r"^%Error: (?!Exiting due to \d+ warning)", re.MULTILINE)


@dataclass(frozen=True)
class Lint:
    """The complaints of ``verilator --lint-only -Wall`` with the project's waivers, and how many warnings each waiver
    hides."""

    complaints: Sequence[str]
    waived: Mapping[Waiver, int]


def lint(verilog: str, top: str) -> Lint:
    """Lints a text twice: with the waivers, and without them to count what they hide."""
    tool = find_verilator()
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        # DECLFILENAME compares the names of modules with that of the file.
        text, covers = (Path(directory) / name for name in (f"{top}.v", "waivers.vlt"))
        text.write_text(verilog)
        covers.write_text(verilator_waivers())

        def complaints(*files: Path) -> str:
            command = [*tool.command, "--lint-only", "-Wall", "--top-module", top, *map(str, files)]
            done = subprocess.run(command, env=tool.environment, capture_output=True, text=True)
            if _ERROR.search(done.stderr):
                raise BuildError(f"Verilator cannot lint {text.name}:\n{done.stderr}")
            return done.stderr.replace(f"{directory}/", "")

        left = [line for line in complaints(covers, text).splitlines() if _WARNING.match(line)]
        hidden = Counter(_WARNING.findall(complaints(text)))
    return Lint(left, {waiver: hidden[waiver.rule] for waiver in waivers()})


#: Part of every key: raise it when this module builds the same inputs differently.
_ICARUS_REVISION = "1"


@dataclass(frozen=True)
class Icarus:
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
    """The simulation of the module ``top`` in four states, which with ``trace`` can write a VCD; :func:`run_four_state`
    has the command."""
    tool = find_icarus()
    text = four_state_text(verilog, top, ports, trace=trace)
    key = content_key(_ICARUS_REVISION, tool.version, tool.compiler, text)

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


#: What ``cdma --verbose`` shows.
_log = logging.getLogger(__name__)

#: Part of every key: raise it when this module builds the same inputs differently.
_REVISION = "4"
#: While the environment of a simulation has this, which its bench may change, its waveform does not go on.
WAVES_HELD = "CDMA_WAVES_HELD"
#: Where cocotb's main program writes the waveform.
_DUMPS = "tfp->dump(main_time);"
_RUNTIME = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
_TRACE_RUNTIME = ("verilated_vcd_c",)
_COVERAGE_RUNTIME = ("verilated_cov",)
#: Headers of the runtime that every design reads, and the header of all of them.
_HEADERS, _ALL_HEADERS = ("verilated", "verilated_vpi"), "runtime.h"
#: For what runs on every cycle: under a main program in C++, and under a bench in Python, which takes most of the time
#: itself. For what runs too seldom: optimising it takes longer than running it. Half of the C++ runs once, at the start of a
#: simulation.
_OFTEN, _BENCH, _SELDOM = "-O1", "-Og", "-O0"


class BuildError(CdmaError):
    """A simulation could not be built; the message carries what the tool said."""


def build(
    verilog: str,
    top: str,
    ports: Sequence[str],
    *,
    trace: bool = False,
    coverage: bool = False,
    short: bool = False,
) -> Path:
    """The executable simulation of the module ``top`` of ``verilog``, of which a bench sees ``ports``.

    With ``trace`` it can write a VCD. With ``coverage`` it counts lines, branches and toggles, and writes them at its
    end. One for ``short`` runs, of some thousand cycles, is built in less time and runs slower. Registers without an
    initial value start at random.
    """
    builder = _Builder(toolchain.find_verilator(), trace, coverage, _SELDOM if short else _BENCH)
    # Only now: which tests there are can be said without it.
    import cocotb_tools.config

    libraries = str(cocotb_tools.config.libs_dir)
    main = (cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp").read_text()
    if trace:
        main = main.replace(_DUMPS, f'if (!getenv("{WAVES_HELD}")) {_DUMPS}')
    link = (f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lcocotbvpi_verilator")
    program = _Program(
        "main.cpp", ("--vpi", "--x-assign", "unique", "--x-initial", "unique", "ports.vlt"), link
    )
    held = (WAVES_HELD,) if trace else ()
    key = content_key(builder.key, version("cocotb"), libraries, *held, top, *ports, verilog)

    def make(folder: Path) -> None:
        visible = "".join(f'public_flat_rw -module "{top}" -var "{port}"\n' for port in ports)
        (folder / "main.cpp").write_text(main)
        (folder / "ports.vlt").write_text(f"`verilator_config\n{visible}")
        builder.build(folder, verilog, top, program)

    return kept_folder("sim", key, make) / "sim"


def build_with_main(verilog: str, top: str, main: str) -> Path:
    """The executable of the module ``top`` of ``verilog`` and of the C++ text ``main``, which instantiates ``Vtop`` and
    clocks it."""
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
    """Verilator and the compiler, for simulations with waves (``trace``), ``coverage``, or neither; ``optimise`` is the
    compiler's level for code of every cycle."""

    tool: toolchain.Verilator
    trace: bool
    coverage: bool = False
    optimise: str = _OFTEN

    @property
    def key(self) -> str:
        return content_key(self._runtime_key, self.optimise)

    @property
    def _runtime_key(self) -> str:
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
        return ["-std=c++17", *(f"-D{name}={int(on)}" for name, on in switches.items())]

    def build(self, folder: Path, verilog: str, top: str, program: _Program) -> None:
        """Makes ``sim`` in a folder: the C++ of the design and the program, linked with the runtime."""
        runtime = kept_folder("runtime", self._runtime_key, self._build_runtime)
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
        run_tool(command, folder, f"Verilator on {top}", self.tool.environment)
        lots: dict[str, list[str]] = {}
        for part in sorted(path.name for path in folder.glob("Vtop*.cpp")):
            lots.setdefault(_SELDOM if part.endswith("Slow.cpp") else self.optimise, []).append(part)
        lots.setdefault(self.optimise, []).append(program.source)
        for level, sources in lots.items():
            headers = kept_folder("headers", content_key(self._runtime_key, level), self._headers_at(level))
            known = ("-include", str(headers / _ALL_HEADERS))
            self._compile(folder, f"the simulation of {top}", f"design{level}", sources, (level, *known))
        objects = [*(f"design{level}.o" for level in lots), str(runtime / "runtime.o")]
        command = [self.tool.compiler, "-o", "sim", *objects, *program.link, "-pthread"]
        run_tool(command, folder, f"linking the simulation of {top}")
        for path in folder.iterdir():
            if path.name not in ("sim", "design.sv"):
                path.unlink()

    @property
    def _optional(self) -> tuple[str, ...]:
        """Parts of the runtime for waves and for coverage, where they are written."""
        return (*(_TRACE_RUNTIME if self.trace else ()), *(_COVERAGE_RUNTIME if self.coverage else ()))

    def _build_runtime(self, folder: Path) -> None:
        """Makes an object of Verilator's own C++."""
        sources = [f"{name}.cpp" for name in (*_RUNTIME, *self._optional)]
        self._compile(folder, "Verilator's runtime", "runtime", sources, (_OFTEN,))

    def _headers_at(self, level: str) -> Callable[[Path], None]:
        """Compiles the headers of the runtime for sources that are compiled at this level."""

        def make(folder: Path) -> None:
            text = "".join(f'#include "{name}.h"\n' for name in (*_HEADERS, *self._optional))
            (folder / _ALL_HEADERS).write_text(text)
            command = (*self._compiler(level), "-x", "c++-header", "-o", f"{_ALL_HEADERS}.gch", _ALL_HEADERS)
            run_tool(command, folder, "compiling the headers of Verilator's runtime")

        return make

    def _compile(
        self, folder: Path, what: str, name: str, sources: Sequence[str], options: Sequence[str]
    ) -> None:
        """Compiles several sources as one, so that the headers are read once."""
        (folder / f"{name}.cpp").write_text("".join(f'#include "{source}"\n' for source in sources))
        command = (*self._compiler(*options), "-c", "-o", f"{name}.o", f"{name}.cpp")
        run_tool(command, folder, f"compiling {what}")

    def _compiler(self, *options: str) -> tuple[str, ...]:
        include = self.tool.include
        places = ("-I.", f"-I{include}", f"-I{include / 'vltstd'}")
        return (self.tool.compiler, *options, *self._flags, *places)


def run_tool(
    command: Sequence[str], folder: Path, what: str, environment: Mapping[str, str] | None = None
) -> None:
    """Runs a tool in a folder; raises :class:`BuildError` with its message."""
    _log.info("%s: %s", what, shlex.join(map(str, command)))
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            with ending_with_thread(process.kill):
                output, errors = process.communicate()
        finally:
            process.kill()
    if process.returncode:
        said = "\n".join((errors or output).strip().splitlines()[:20])
        raise BuildError(f"{what} failed with status {process.returncode}:\n{said}")
