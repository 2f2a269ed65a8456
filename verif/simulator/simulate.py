"""Runs cocotb tests of a block, as ``cdma generate`` writes it, in one simulation process, and collects their results."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cdma.base.cache import cache_folder, content_key, kept_text
from cdma.base.errors import CdmaError
from cdma.base.spread import ending_with_thread
from cdma.hdl.deliver.block import block_design, block_ports
from cdma.hdl.spec.codec import BLOCKS, codec_of
from cdma.hdl.spec.settings import settings_of
from cdma.hdl.verilog.shell import Port, generator_key

from .build import build, four_state_name, run_four_state


def run_test(
    design: Design,
    module: str,
    test: str,
    *,
    verilog: str | None = None,
    trace: bool = False,
    waves: Path | None = None,
    short: bool = False,
    timeout: float = 1800,
    **settings: Any,
) -> Outcome:
    """Builds a design and runs one test of ``module`` on it; raises :class:`SimulationError` if the test fails.

    ``verilog`` is the text of the design, if known. ``waves`` gets a VCD, ``trace`` uses the build that can write one,
    and ``short`` the one that is ready sooner. The ``settings`` reach the test.
    """
    text = design.watched(design.verilog() if verilog is None else verilog)
    traced = trace or waves is not None
    executable = build(text, design.top, design.port_names, trace=traced, short=short)
    passed_on = {"design": design.to_json(), "packets": 1, "seed": 1, **settings}
    (outcome,) = simulate(executable, design.top, module, [test], passed_on, waves=waves, timeout=timeout)
    if outcome.failure is not None:
        raise SimulationError(f"{test} of the {design} failed: {outcome.failure}")
    return outcome


def measure(
    design: Design,
    module: str,
    test: str = "measure",
    *,
    report: Callable[[int], None] | None = None,
    timeout: float = 7200,
    **settings: Any,
) -> list[dict[str, Any]]:
    """Runs a test of ``module``; its rows of :func:`.leave_row`, one per measurement. ``report`` is called with the number
    of new ones."""
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        rows = Path(directory) / "rows.jsonl"
        rows.touch()
        with _watching(rows, report):
            run_test(design, module, test, timeout=timeout, rows=str(rows), **settings)
        return [json.loads(line) for line in rows.read_text().splitlines()]


@contextmanager
def _watching(rows: Path, report: Callable[[int], None] | None) -> Iterator[None]:
    if report is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        seen, ended = 0, False
        while not ended:
            ended = done.wait(0.5)
            count = rows.read_bytes().count(b"\n")
            if count > seen:
                report(count - seen)
            seen = count

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


D = TypeVar("D", bound="Design")


class Design(ABC):
    """One block with its parameters: a dataclass, whose ``config`` has a default. It travels to the simulation process as
    JSON.

    ``block``: ``compressor``, ``decompressor``, ``quantiser``, ``dequantiser`` or ``engine``.
    ``config``: A :class:`.CodecConfig`, a :class:`.StageConfig` or an :class:`.EngineConfig`.
    ``init``: Whether the Verilog has initial values.
    """

    block: str
    config: Any
    init: bool

    @property
    def top(self) -> str:
        return f"cdma_{self.block}"

    @property
    def ports(self) -> tuple[Port, ...]:
        return block_ports(self.block, self.config)

    @property
    def port_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.ports)

    @property
    @abstractmethod
    def summary(self) -> str:
        """The parameters in a few words."""

    def generate(self) -> str:
        return block_design(self.block, self.config, name=self.top, init=self.init).text

    @classmethod
    def from_json(cls: type[D], text: str) -> D:
        fields = json.loads(text)
        fields["config"] = type(cls.config).from_settings(fields["config"])
        make: Any = cls
        design: D = make(**fields)
        return design

    def to_json(self) -> str:
        return json.dumps({"block": self.block, "config": self.config.settings(), "init": self.init})

    def verilog(self) -> str:
        """The text that a user gets; kept, because making it takes a while."""
        key = content_key(generator_key(), *self._codec_sources(), self.to_json())
        return kept_text("verilog", key, ".v", self.generate)

    def watched(self, verilog: str) -> str:
        """A text of the design with its monitors."""
        return verilog

    def options(self) -> str:
        """The command-line options of this design that are not defaults."""
        defaults = type(self.config)().settings()
        words = []
        for name, value in self.config.settings().items():
            if name in self._unsaid() or value == defaults.get(name):
                continue
            option = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                values = map(hex, value) if isinstance(value, list) else [str(value)]
                words.append(" ".join([f"--{option}", *values]))
        return " ".join(words if self.init else [*words, "--no-init"])

    def __str__(self) -> str:
        start = "" if self.init else ", no initial values"
        return f"{self.block} {self.summary}{start}"

    def _unsaid(self) -> list[str]:
        """The parameters that the command line of this block has no option for."""
        if self.block in BLOCKS:
            return []
        return [setting.name for setting in settings_of(type(self.config.format)) if not setting.engine]

    def _codec_sources(self) -> list[bytes]:
        """The sources beside those of the codec's hardware, which need not lie with the generator's."""
        home = inspect.getfile(codec_of(self.config.format).load("compressor"))
        return [path.read_bytes() for path in sorted(Path(home).parent.glob("*.py"))]


#: What the bench writes reaches Icarus Verilog after the clock edge only if cocotb sees to it. What it reads as X is 0
#: for it: a monitor of its own objects to an X that may not be there.
_FOUR_STATE = {"COCOTB_TRUST_INERTIAL_WRITES": "0", "COCOTB_RESOLVE_X": "zeros"}


class SimulationError(CdmaError):
    """A simulation cannot be run on this machine."""


@dataclass(frozen=True)
class Outcome:
    """The result of one run of one test, which passed if ``failure`` is None."""

    test: str
    failure: str | None
    packets: int = 0
    words: int = 0
    checks: int = 0
    cycles: int = 0
    seconds: float = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)
    #: The simulation's own output, for people; empty for a test that passed.
    log: str = field(default="", repr=False)


def simulate(
    executable: Path,
    top: str,
    module: str,
    tests: Sequence[str],
    settings: Mapping[str, Any],
    *,
    start: int = 1,
    four_state: bool = False,
    waves: Path | None = None,
    plusargs: Sequence[str] = (),
    timeout: float = 1800,
    report: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Runs ``tests`` of the cocotb test module ``module``, one after the other.

    ``settings`` reach the tests as JSON in ``CDMA_BENCH``; ``start`` seeds the registers without an initial value;
    ``four_state`` is for Icarus Verilog; ``waves`` gets a VCD, if the simulation was built to write one; ``plusargs``
    go to the simulation; ``report`` is called with each outcome. A test without a result has failed, whatever the
    process returns, and so has one that has checked nothing.
    """
    outcomes: dict[str, Outcome] = {}

    def keep(outcome: Outcome) -> None:
        if outcome.test not in outcomes:
            outcomes[outcome.test] = outcome
            if report is not None:
                report(outcome)

    if four_state:
        command = [*run_four_state(executable), *plusargs]
    else:
        command = [str(executable), f"+verilator+seed+{start}", "+verilator+rand+reset+2", *plusargs]
    if waves is not None:
        waves.parent.mkdir(parents=True, exist_ok=True)
        to = str(waves.resolve())
        command += [f"+trace-file={to}"] if four_state else ["--trace", "--trace-file", to]
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        folder = Path(directory)
        result, output = folder / "results.jsonl", folder / "log"

        def collect() -> None:
            for outcome in _outcomes(result, output):
                keep(outcome)

        bench = json.dumps({**settings, "result": str(result)})
        environment = {
            **_cocotb_environment(four_state_name(top) if four_state else top, module, tests),
            **(_FOUR_STATE if four_state else {}),
            "COCOTB_RESULTS_FILE": str(folder / "results.xml"),
            "COCOTB_RANDOM_SEED": str(settings.get("seed", 0)),
            "CDMA_BENCH": bench,
        }
        status = _run(command, environment, output, timeout, collect)
        collect()
        said = output.read_text(errors="replace")
        if status is None:
            reason = f"the simulation was stopped after {timeout:.0f} seconds"
        else:
            tail = "\n".join(said.strip().splitlines()[-12:])
            reason = f"the simulation ended with status {status} and without a result:\n{tail}"
        for test in tests:
            keep(Outcome(test, reason, log=said))
    if status != 0 and all(outcome.failure is None for outcome in outcomes.values()):
        raise SimulationError(f"the simulation of {top} ended with status {status}:\n{said[-2000:]}")
    return [outcomes[test] for test in tests]


def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    output: Path,
    timeout: float,
    poll: Callable[[], None],
) -> int | None:
    """Runs a process in the folder of ``output`` and calls ``poll`` now and then; its status, None if it hangs."""
    limit = time.monotonic() + timeout
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command,
            cwd=output.parent,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        try:
            with ending_with_thread(process.kill):
                while process.poll() is None and time.monotonic() < limit:
                    poll()
                    time.sleep(0.05)
        finally:
            stopped = process.poll() is None
            if stopped:
                process.kill()
            process.wait()
    return None if stopped else process.returncode


def _outcomes(result: Path, output: Path) -> list[Outcome]:
    try:
        lines = result.read_text().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    outcomes = []
    for line in lines:
        if not line.endswith("\n"):
            break
        record = json.loads(line)
        failure = record.pop("failure")
        if failure is None and not (record["packets"] and record["checks"]):
            failure = "the test checked nothing"
        outcomes.append(
            Outcome(**record, failure=failure, log=output.read_text(errors="replace") if failure else "")
        )
    return outcomes


def _with_bytecode(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process that keeps Python's bytecode, also where the user disables it: each simulation imports
    the whole bench, and compiling takes longer than most tests."""
    kept = dict(environment)
    if kept.pop("PYTHONDONTWRITEBYTECODE", ""):
        kept.setdefault("PYTHONPYCACHEPREFIX", str(cache_folder() / "bytecode"))
    return kept


def _cocotb_environment(top: str, module: str, tests: Sequence[str]) -> dict[str, str]:
    """What cocotb's library needs to find the tests, this very Python and its packages."""
    import cocotb_tools.config
    import find_libpython

    libpython = os.environ.get("LIBPYTHON_LOC") or find_libpython.find_libpython()
    if not libpython:
        raise SimulationError(
            "no shared library of this Python was found, which cocotb needs; use a Python that has one "
            "(Debian: libpython3-dev; pyenv: PYTHON_CONFIGURE_OPTS=--enable-shared)"
        )
    names = "|".join(map(re.escape, tests))
    return {
        **_with_bytecode(os.environ),
        "COCOTB_TOPLEVEL": top,
        "COCOTB_TEST_MODULES": module,
        "COCOTB_TEST_FILTER": rf"\.({names})$",
        "GPI_USERS": f"{libpython};{cocotb_tools.config.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        # cocotb takes pytest for the messages of assertions; to load its plugins as well takes a third of a second.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "NO_COLOR": "1",
    }
