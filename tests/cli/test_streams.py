"""The streams of the command: closed, full, or without the characters that it prints; and what an interrupt says there.
A command that is ended takes the tools that it started with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE, awaited

pytestmark = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="needs /dev/full and /proc, as Linux has them"
)

_SMALL = ("--word-bits", "8", "--window", "8", "--lanes", "2")


def _shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of a shell, where ``cdma`` is the command."""
    line = line.replace("cdma", f"{sys.executable} -m cdma")
    return subprocess.run(
        ["sh", "-c", line], cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("closed", ["<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_error(closed: str, tmp_path: Path) -> None:
    done = _shell(f"cdma formats {closed}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_of_tools_into_a_closed_stream_is_in_no_file(tmp_path: Path) -> None:
    done = _shell(f"cdma generate compressor {' '.join(_SMALL)} -o made >&-", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "made" / "cdma_compressor.v").read_text().startswith("// cdma_compressor: ")


def test_a_refusal_into_a_closed_stream_keeps_its_status(tmp_path: Path) -> None:
    for line in ("cdma compress none.npy a.cdma", "cdma compress none.npy a.cdma 2>/dev/full", "cdma formts"):
        assert _shell(f"{line} >&- 2>&-" if "full" not in line else line, tmp_path).returncode == 2


@pytest.mark.parametrize("line", ["cdma", "cdma generate engine --help", "cdma --version"])
def test_help_that_cannot_be_written_is_an_error(line: str, tmp_path: Path) -> None:
    done = _shell(f"{line} > /dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (2, "cdma: cannot read or write: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ö", b"\xff".decode(errors="surrogateescape")])
def test_names_that_the_output_cannot_show_are_escaped(name: str, tmp_path: Path) -> None:
    encoding = "utf-8" if name.isprintable() is False else "ascii"
    done = _shell(
        f"cdma generate compressor {' '.join(_SMALL)} -o '{name}'", tmp_path, PYTHONIOENCODING=encoding
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("\\")
    assert (tmp_path / name / "cdma_compressor.v").exists()


_HALF_A_DESIGN = """
import sys
from amaranth.hdl import Elaboratable
import cdma.hdl.spec.format as presets

class Part(Elaboratable):
    pass

class Interrupted(dict):
    def items(self):
        parts = [Part() for _ in range(3)]
        raise KeyboardInterrupt

presets.PRESETS = Interrupted()
from cdma.app import main
sys.exit(main(["formats"]))
"""
_LOADING = """
import sys
import cdma.app as app

def interrupted(*arguments):
    raise KeyboardInterrupt

app.import_module = interrupted
sys.exit(app.main(["formats"]))
"""


@pytest.mark.parametrize("code", [_HALF_A_DESIGN, _LOADING], ids=["half a design", "loading the commands"])
def test_an_interrupt_is_one_line(code: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "cdma: interrupted\n")


#: Raises an interrupt as the module that is to be imported is looked for, after the package itself.
_INTERRUPTED = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if path is not None and name != "cdma.start" and sys.argv.pop(1) == "now":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
from cdma.start import main
sys.exit(main())
"""


@pytest.mark.parametrize("before", [0, 1, 5, 30])
def test_an_interrupt_while_the_command_is_loaded_is_one_line(before: int, tmp_path: Path) -> None:
    """From the first import on: the package itself imports nothing before the command can answer."""
    when = [*["later"] * before, "now"]
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, *when], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (130, "cdma: interrupted\n")


def test_the_package_alone_imports_nothing(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import cdma; print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "{'cdma'}\n"


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
