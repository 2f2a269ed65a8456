"""Runs one proof: SymbiYosys looks for a run that reaches each cover statement, then for one that breaks an assertion.

An equivalence has neither: Yosys and ABC show it, and what it is worth shows in the number of bits that it compared.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from cdma.base.cache import cache_folder, content_key, replace_text
from cdma.base.spread import ending_with_thread

from .equivalence import Equivalence
from .proof import PROPERTIES, VERILOG, Claim, Proof
from .result import BOUNDED, FAILED, HOLDS, PROVEN, UNKNOWN, VACUOUS, Result
from .tools import ProofToolError, Tools, find_tools

__all__ = ["run_proof"]

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
    """Runs a proof, or gives what it came to when the same was proven before.

    ``timeout``
        Seconds for the covers, and as many again for the assertions.
    ``traces``
        Takes the waveform of a counterexample.
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
    """Everything that the result depends on, as a key, and what finds the result."""
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
    """The places of the assertions that failed."""
    return _places(re.findall(r"Assert failed in (.*)", log))


def _places(found: list[str]) -> str:
    """Statements by their files, without the folders that these are in on this machine."""
    return "; ".join(
        sorted({re.sub(r"^\w+: |\S*/(?=(?:verif|hdl)/)| \(_witness_.*", "", place) for place in found})
    )


def _keep_trace(proof: Proof, folder: Path, traces: Path | None) -> Path | None:
    """Moves the waveform of the counterexample out of the folder of the run."""
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
