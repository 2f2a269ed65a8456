"""The engine as a PCI device, with a guest in Python in place of a kernel: its driver reaches registers and memory over the
socket, and the engine the guest's memory by its real ports."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from cdma.sim.engine.driver import Descriptor, Driver, Mode, RingMemory, Status
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.engine.measure import sparse_tensor
from cdma.verif.engine.memory import SIZE as SIZE_OF_MEMORY
from cdma.verif.simulator.simulate import Outcome, run_test
from cdma_linux.trial.run import Trial
from tests.support.guest import CONFIG_WRITE, FIRST, INTERRUPTS, READ, SIZE, WRITE, Guest
from tests.support.thorough import cases_of

_REGISTERS, _MEMORY = 0, 2
_BAD_BYTE = 0x8000
#: Of the guest's memory, behind its queues.
_RINGS, _STREAM = FIRST + 0xE000, FIRST + 0x10000


class _Backend:
    """The registers over the socket."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def read32(self, offset: int) -> int:
        return int.from_bytes(self._guest.ask(READ, _REGISTERS, offset, 4), "little")

    def write32(self, offset: int, value: int) -> None:
        self._guest.ask(WRITE, _REGISTERS, offset, 4, value.to_bytes(4, "little"))


def _connect(path: Path, device: Future[Outcome]) -> socket.socket:
    while not path.exists():
        assert not device.done(), device.result()
        time.sleep(0.02)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(path))
    return connection


def _with_guest(folder: Path, trial: Trial, job: Callable[[Guest], None]) -> Outcome:
    """Has a guest do a job with the device of a trial, and returns what this did."""
    path, memory = folder / "socket", folder / "accelerator"
    memory.write_bytes(bytes(SIZE_OF_MEMORY))
    with ThreadPoolExecutor(1) as pool:
        device = pool.submit(
            run_test,
            EngineDesign(SMALL),
            "cdma_linux.trial.device_tests",
            "serve",
            short=True,
            socket=str(path),
            memory=str(memory),
            waves=trial.waves,
            **trial.settings(),
        )
        guest = Guest(_connect(path, device))
        try:
            guest.begin()
            job(guest)
        finally:
            guest.end()
        return device.result()


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("shown", cases_of({"hidden": False, "shown": True}, thorough={"shown"}))
def test_the_engine_moves_data_between_the_guest_and_the_accelerator(tmp_path: Path, shown: bool) -> None:
    waves = tmp_path / "waves.vcd" if shown else None
    script = ["delay 400 900", f"2 error device {_BAD_BYTE} slverr", "3 unplug"]
    tensor, stream = sparse_tensor(SMALL)
    tensor = tensor[:4096]

    def job(guest: Guest) -> None:
        guest.ask(CONFIG_WRITE, 0, 0x4C, 2, struct.pack("<H", 9))
        guest.ask(CONFIG_WRITE, 0, 0x42, 2, struct.pack("<H", 0x81))
        target = guest.offer(INTERRUPTS, b"", 20)
        windows = {"dev": (0, 0xFFFF), "host": (FIRST, FIRST + SIZE - 1)}
        driver = Driver(_Backend(guest), windows=windows)
        memory = memoryview(guest.bytes)[_RINGS : _RINGS + 0x1000]
        driver.offload.start(RingMemory(_RINGS, memory), entries=4, interrupts=True)
        guest.ask(WRITE, _MEMORY, 0, len(tensor), tensor)
        move = Descriptor(0, _STREAM, len(tensor), 0x2000, mode=Mode.ZVC, interrupt=True)
        driver.offload.submit(move)
        guest.wait(INTERRUPTS)
        (done,) = driver.offload.wait(1)
        assert done.status is Status.OK
        written = guest.bytes[_STREAM : _STREAM + done.bytes_written]
        assert written == stream[: done.bytes_written]
        assert struct.unpack_from("<I", guest.bytes, target + 16) == (9,)
        wrong = Descriptor(_BAD_BYTE & ~0xFFF, _STREAM, 4096, 0x2000, mode=Mode.RAW)
        assert driver.offload.transfer(wrong).status is Status.READ_SLVERR
        driver.offload.submit(wrong)
        assert guest.ask(READ, _REGISTERS, 0, 4) == b"\xff" * 4
        memory.release()

    outcome = _with_guest(tmp_path, Trial(script=script, waves=waves, first=2), job)
    assert outcome.failure is None
    if waves is not None:
        times = [int(line[1:]) for line in waves.read_text().splitlines() if line.startswith("#")]
        assert len(times) > 100
        assert times[1] > times[-1] // 3
    assert outcome.packets == 1
    assert outcome.checks > 40
