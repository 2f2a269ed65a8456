"""A command that is ended takes the tools that it started with it."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE, awaited

#: Commands whose tools take long, with what is in the command line of the first one that a thread waits for.
COMMANDS = {
    "area": (["area", "compressor", "--lanes", "32", "--no-breakdown", "--no-cache"], "pyosys"),
    "fpga": (["fpga", "decompressor", "--word-bits", "8", "--lanes", "2", "--no-cache"], "nextpnr"),
    "prove": (["prove", "axi_writer", "--no-cache"], "sby"),
    "prove printed": (["prove", "engine_modules", "--no-cache"], "pyosys"),
    "verify": (["verify", "compressor", "--packets", "100000"], "sim"),
}


def _tools(pid: int, name: str) -> list[int]:
    """The processes that any thread of a command has started, by what is in their command line."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text().split():
                if name in Path(f"/proc/{child}/cmdline").read_text():
                    found.append(int(child))
    return found


def _state(place: str) -> str:
    """The state of a process or a thread in a letter; Z if it has ended and nobody has asked for its status yet, or has."""
    try:
        return Path(f"{place}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def _runs(pid: int) -> bool:
    return _state(f"/proc/{pid}") != "Z"


def _waits(pid: int) -> bool:
    """Whether no thread of a process has anything to do: Python may miss a signal just before it begins to wait."""
    return all(_state(str(task)) == "S" for task in Path(f"/proc/{pid}/task").iterdir())


@pytest.mark.slow
@pytest.mark.verilator
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc, as Linux has it")
@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((name, signal.SIGTERM) for name in ("area", "fpga", "prove", "verify")),
        ("prove", signal.SIGINT),
        pytest.param("prove printed", signal.SIGTERM, marks=pytest.mark.thorough),
    ],
)
def test_tools_end_with_the_command(name: str, number: signal.Signals) -> None:
    """Although the tool stands still: who waited for it to end by itself would never end."""
    pytest.importorskip("pyosys")
    arguments, tool = COMMANDS[name]
    process = subprocess.Popen(
        [sys.executable, "-m", "cdma", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    tools: list[int] = []

    def started() -> list[int]:
        found = _tools(process.pid, tool)
        assert found or process.poll() is None
        return found

    try:
        tools = awaited(started)
        for each in tools:
            os.kill(each, signal.SIGSTOP)
        awaited(lambda: _waits(process.pid))
        process.send_signal(number)
        # As a shell says it: 128 and the number of the signal.
        assert process.wait(PATIENCE) == 128 + number
        awaited(lambda: not any(map(_runs, tools)))
    finally:
        # Nothing goes on for minutes because the test has failed.
        for left in filter(_runs, tools):
            os.kill(left, signal.SIGKILL)
        process.kill()
        process.wait()
