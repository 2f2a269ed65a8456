"""A command that is ended takes the tools that it started with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runs(pid: int) -> bool:
    """Whether a process is there, and has not ended; one that nobody has asked for its status yet still has a name."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc, as Linux has it")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_tools_end_with_the_command(number: signal.Signals, tmp_path: Path) -> None:
    pytest.importorskip("pyosys")
    process = subprocess.Popen(
        [sys.executable, "-m", "cdma", "area", "engine", "--no-breakdown"],
        env={**os.environ, "CDMA_CACHE": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    tools: list[int] = []
    while not tools and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
        tools = _children(process.pid)
    assert tools
    process.send_signal(number)
    # As a shell says it: 128 and the number of the signal.
    assert process.wait(30) == 128 + number
    while any(map(_runs, tools)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(_runs, tools))
