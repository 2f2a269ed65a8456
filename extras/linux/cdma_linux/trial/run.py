"""Boots a kernel in user mode with the simulated engine as its PCI device, and has it try the driver."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket as sockets
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from cdma.base.errors import ParameterError
from cdma.base.spread import tool_threads
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.measure import sparse_tensor
from cdma.verif.engine.memory import SIZE
from cdma.verif.simulator.simulate import Outcome, SimulationError, run_test

from . import qemu
from .kernel import DEVICE_ID, KernelError, archive, build_module, device_tree, kernel
from .mishaps import commands_in

#: An address of the accelerator's memory that is answered with an error, where the tests run.
_BAD_BYTE = SIZE - 256

#: The one source that is not the guest's program: what the kernel is started with.
_BEFORE = "ptrace.c"
#: What the kernel's log has where the driver is loaded first: what comes before is the kernel's own.
_BEGIN = "the driver comes now"
#: The guest's memory with the tests, and with a program of the host.
_MEMORY, _MEMORY_FOR_PROGRAMS = "192M", "1024M"
#: By which the kernel counts its microseconds while it waits for a register, 40,000 of them; it calculates with 32 bits.
#: Some six times what a processor does: then a device that others keep from running has a quarter of a second.
_LOOPS = 160_000_000
#: Seconds within which the guest must halt, and the device listen: with the tests, and with a program of the host.
_PATIENCE, _PATIENCE_FOR_PROGRAMS = 1200, 3600
#: What a program of the host finds in its environment: what is the same there, and what is the guest's. Threads would share
#: a processor.
_ENVIRONMENT = ("PATH", "HOME", "PYTHONPATH", "LANG")
_SETTINGS = {
    "TMPDIR": "/dev/shm",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
}
#: Lines of what guest and kernel said last that are shown after a failure.
_LINES = 150
#: What a kernel says when something is wrong with it.
_COMPLAINTS = (
    "WARNING:",
    "BUG:",
    "Oops",
    "INFO: possible",
    "INFO: task",
    "UBSAN:",
    "DMA-API:",
    "ODEBUG:",
    "Call Trace",
    "unreferenced object",
    "Kernel panic",
)
#: What it says once of a process with many transfers into one buffer at a time, which is the process's own affair.
_OVERLAPS = re.compile(
    r"^[^\n]*cut here[^\n]*\n[^\n]*\n[^\n]*DMA-API: exceeded \d+ overlapping mappings.*?end trace",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Trial:
    """What is tried, beside the engine.

    ``program``: A command of the host, which the guest runs in place of the tests; all that it says is said.
    ``measure``: How many transfers are measured in place of the tests; 0 for none.
    ``seed``: What the device draws follows from it.
    ``script``, ``control``: Commands for the device, and a named pipe that is made for others; :mod:`.mishaps` has
        them.
    ``waves``, ``first``: A waveform (VCD), and the descriptor with which it begins, from 1.
    ``version``: Of the guest's kernel, as 6.1; the newest whose sources this machine has.
    ``calls``: How many calls at random the tests have, beside a process that moves tensors.
    ``qemu``: Whether the guest's machine is QEMU, with a kernel of Debian's and several processors; then it runs the tests.
    """

    program: Sequence[str] = ()
    measure: int = 0
    seed: int = 1
    script: Sequence[str] = ()
    control: Path | None = None
    waves: Path | None = None
    first: int = 1
    version: str = ""
    calls: int = 20_000
    qemu: bool = False

    @property
    def patience(self) -> int:
        """Seconds within which the guest must halt."""
        return _PATIENCE if self.tests else _PATIENCE_FOR_PROGRAMS

    @property
    def tests(self) -> bool:
        """Whether the guest runs the tests, and nothing in their place."""
        return not (self.program or self.measure)

    def settings(self) -> dict[str, Any]:
        """What the simulation is given."""
        show = [f"{self.first} waves"] if self.waves else []
        bad = [] if self.program else [f"error device {_BAD_BYTE} slverr"]
        return {
            "seed": self.seed,
            "script": [*bad, *self.script, *show],
            "control": None if self.control is None else str(self.control),
            "place": qemu.BEGIN if self.qemu else 0,
            "waves_held": self.waves is not None,
        }


def run(design: EngineDesign, trial: Trial = Trial(), *, say: Callable[[str], None] = print) -> bool:
    """Runs the tests of the driver, or a program, on an engine; says in TAP how they end, and returns whether all passed."""
    if not design.config.registers:
        raise ParameterError("the engine has no registers, by which the driver reaches it")
    commands_in(trial.script)
    if trial.program and not shutil.which(trial.program[0]):
        raise ParameterError(f"the program is {trial.program[0]}, which is not there")
    if trial.qemu:
        image, built = qemu.debian_kernel(trial.version)
    else:
        built = kernel(os.cpu_count() or 1, trial.version, say)
        image = built / "linux"
    with (
        tempfile.TemporaryDirectory(prefix="cdma-linux-") as name,
        _memory(qemu.BYTES if trial.qemu else SIZE) as memory,
        tool_threads(1) as pool,
    ):
        folder = Path(name)
        initrd = _initrd(design, built, folder, trial)
        socket = folder / "socket"
        if trial.control is not None:
            os.mkfifo(trial.control)
        began = time.monotonic()
        device: Future[Outcome] = pool.submit(
            run_test,
            design,
            "cdma_linux.trial.device_tests",
            "serve",
            waves=trial.waves,
            **trial.settings(),
            socket=str(socket),
            memory=memory,
            timeout=2 * trial.patience,
        )
        _wait_for(socket, device)
        booted = time.monotonic()
        said, log, halts = _boot(image, initrd, socket, memory, trial, say)
        halted = time.monotonic()
        outcome, objection = _result(device)
        if trial.control is not None:
            trial.control.unlink()
    results = [line for line in said.splitlines() if line.startswith(("ok ", "not ok "))]
    _, _, own = _OVERLAPS.sub("", said + log).partition(_BEGIN)
    complaints = [line for line in own.splitlines() if any(word in line for word in _COMPLAINTS)]
    for holds, what in (
        (halts, "the guest halts" + " with transfers in flight" * trial.tests),
        (not complaints, "the kernel complains of nothing"),
        (outcome is not None, "the engine keeps to the rules of AXI"),
    ):
        results.append(f"{'ok' if holds else 'not ok'} {len(results) + 1} - {what}")
        say(results[-1])
    for line in (*complaints, *objection.splitlines()):
        say(f"# {line}")
    say(f"1..{len(results)}")
    failed = sum(line.startswith("not ok") for line in results)
    passed = not failed and "Bail out!" not in said and len(results) > 2
    if not passed:
        for line in [*said.splitlines(), *log.splitlines()][-_LINES:]:
            say(f"# {line}")
    did = (
        f"{outcome.checks} accesses to registers, {outcome.packets} interrupts, {outcome.cycles} cycles; "
        if outcome
        else ""
    )
    say(
        f"linux: {'passed' if passed else 'failed'}, {len(results)} tests, {failed} failed; {did}"
        f"{booted - began:.1f} s until the device was there, {halted - booted:.1f} s from start to halt"
    )
    return passed


@contextlib.contextmanager
def _memory(size: int) -> Iterator[str]:
    """The accelerator's memory, and all of QEMU's: a file that is on no disk, for which writes would wait."""
    file = os.memfd_create("memory")
    os.ftruncate(file, size)
    yield f"/proc/{os.getpid()}/fd/{file}"
    os.close(file)


def _result(device: Future[Outcome]) -> tuple[Outcome | None, str]:
    """What the device did, and what it objected to."""
    try:
        return device.result(), ""
    except SimulationError as error:
        return None, str(error)


def _initrd(design: EngineDesign, built: Path, folder: Path, trial: Trial) -> Path:
    """The guest's file system, with the module, and the program of the tests or what runs one of the host."""
    function = qemu.FUNCTION if trial.qemu else "0000:00:00.0"
    with as_file(files("cdma_linux") / "module") as driver:
        modules = [build_module(built, {"cdma": driver}, um=not trial.qemu)]
        init = folder / "init"
        with as_file(files(__package__)) as own:
            values = [f"-DBAD_BYTE={_BAD_BYTE}u", f'-DBEGIN="{_BEGIN}"', f'-DFUNCTION="{function}"']
            sources = [path for path in sorted(own.glob("*.c")) if path.name != _BEFORE]
            _compile(sources, init, "-static", *values, f"-DQEMU={trial.qemu:d}", f"-I{driver}")
            if not trial.qemu:
                modules.append(build_module(built, {"cdma": driver, "carrier": own / "carrier"}))
                device_tree(built, driver / "cdma,engine.yaml", folder)
    tensor, stream = sparse_tensor(design.config)
    contents = {"init": init.read_bytes(), "vectors/tensor": tensor, "vectors/stream": stream}
    contents |= {module.name: module.read_bytes() for module in modules}
    if trial.program:
        contents["command"] = f"{_command_of(trial.program)}\0".encode()
    if trial.measure:
        contents["measure"] = f"{trial.measure}\0".encode()
    contents["calls"] = f"{trial.calls}\0".encode()
    path = folder / "initrd"
    path.write_bytes(archive(contents))
    return path


def _command_of(program: Sequence[str]) -> str:
    """What the guest's shell runs: the program in this folder, with what it could need of this environment."""
    environment = {**{name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}, **_SETTINGS}
    words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), *program]
    return f"cd {shlex.quote(str(Path.cwd()))} && exec {shlex.join(words)}"


def _compile(sources: Sequence[Path], output: Path, *options: str) -> None:
    warnings = ("-Wall", "-Wextra", "-Werror")
    command = ["gcc", "-std=gnu11", "-O1", *warnings, *options, "-o", str(output), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise KernelError(f"{output.name} cannot be compiled:\n{done.stderr}")


def _wait_for(socket: Path, device: Future[Outcome]) -> None:
    """Waits until the device listens, which may have to be built before."""
    while not socket.exists():
        if device.done():
            device.result()
            raise KernelError("the device has ended before the guest began")
        time.sleep(0.02)


def _user_mode(image: Path, initrd: Path, socket: Path, memory: str, trial: Trial) -> list[str]:
    """The kernel as a program, whose output is what the guest's program says, and whose errors are what it says itself."""
    before = initrd.with_name("ptrace.so")
    with as_file(files(__package__) / _BEFORE) as source:
        _compile([source], before, "-shared", "-fPIC")
    # The kernel waits for the device by doing something, so that the device goes first where there are few processors. Where
    # addresses are random, its memory has a gap that it takes for memory.
    return [
        *("env", f"LD_PRELOAD={before}", "nice", "setarch", "-R"),
        str(image),
        f"mem={_MEMORY_FOR_PROGRAMS if trial.program else _MEMORY}",
        f"initrd={initrd}",
        f"lpj={_LOOPS}",
        *("rdinit=/init", "con=null", "con0=null,fd:1"),
        f"virtio_uml.device={socket}:{DEVICE_ID}",
        # The accelerator's memory, which the driver finds in a BAR, also as pages; and the node of a device tree.
        f"iomem=accelerator,{memory}",
        f"dtb={initrd.with_name('tree.dtb')}",
    ]


def _boot(
    image: Path, initrd: Path, socket: Path, memory: str, trial: Trial, say: Callable[[str], None]
) -> tuple[str, str, bool]:
    """Boots the guest; what its program says, line by line as it comes, what its kernel says, and whether it halts."""
    log = initrd.with_name("log")
    ends = contextlib.ExitStack()
    if trial.qemu:
        connection = ends.enter_context(sockets.socket(sockets.AF_UNIX))
        connection.connect(str(socket))
        command, handed = (
            qemu.command(image, initrd, socket, memory, connection.fileno()),
            [connection.fileno()],
        )
    else:
        command, handed = _user_mode(image, initrd, socket, memory, trial), []
    said, shown, first, began = [], False, True, time.monotonic()
    with (
        ends,
        log.open("ab") as errors,
        subprocess.Popen(
            command,
            pass_fds=handed,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as guest,
    ):
        limit = threading.Timer(trial.patience, _kill, [guest])
        limit.start()
        try:
            assert guest.stdout is not None
            for line in guest.stdout:
                if line.startswith("ok ") and first:
                    first = False
                    if trial.measure:
                        milliseconds = 1000 * (time.monotonic() - began)
                        say(f"# measured milliseconds until the driver was there {milliseconds:.0f}")
                said.append(line)
                # What comes before is the kernel's.
                shown = bool(trial.program) and (_BEGIN in line or shown)
                if shown or line.startswith(("ok ", "not ok ", "Bail out!", "#")):
                    say(line.rstrip())
            halts = guest.wait() == 0
        finally:
            limit.cancel()
            _kill(guest)
    return "".join(said), log.read_text(errors="replace"), halts


def _kill(guest: subprocess.Popen[str]) -> None:
    """Ends a guest with its processes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(guest.pid, signal.SIGKILL)
