"""A command that is ended takes the tools that it started with it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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


def _runs(pid: int) -> bool:
    """Whether a process is there, and has not ended; one that nobody has asked for its status yet still has a name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


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
    """At once, although the tool says nothing by itself and could go on for minutes."""
    pytest.importorskip("pyosys")
    arguments, tool = COMMANDS[name]
    process = subprocess.Popen(
        [sys.executable, "-m", "cdma", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # Tools that no one has used yet are first compiled for this machine, here perhaps beside other tests that do the same.
    deadline = time.monotonic() + 300
    tools: list[int] = []
    try:
        while not tools and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
            tools = _tools(process.pid, tool)
        assert tools
        time.sleep(0.5)
        process.send_signal(number)
        # As a shell says it: 128 and the number of the signal.
        assert process.wait(5) == 128 + number
        while any(map(_runs, tools)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not any(map(_runs, tools))
    finally:
        # Nothing goes on for minutes because the test has failed.
        for left in filter(_runs, tools):
            os.kill(left, signal.SIGKILL)
        process.kill()
        process.wait()
