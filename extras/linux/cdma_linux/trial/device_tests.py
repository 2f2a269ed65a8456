"""The cocotb side of :mod:`cdma_linux.trial.run`: the engine between the guest's memory and that of an accelerator."""

from __future__ import annotations

import contextlib
import functools
import gc
import mmap
import os
import random
import socket
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ValueChange
from cocotbext.axi import AxiResp

from cdma.hdl.spec.options import PAIR_SPAN_LOG2
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.engine.context import engine_test
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.memory import Memory
from cdma.verif.engine.ring import RingBench
from cdma.verif.simulator.build import WAVES_HELD
from cdma.verif.simulator.plan import bench_settings

from .function import Function
from .guest import Access, Gone, VhostUser
from .mishaps import Mishaps
from .qemu import Qemu

#: Cycles between two looks for the guest, who waits 40 ms for an answer; and after which nothing more is expected of an
#: engine at rest.
_STEP, _QUIET = 32, 256
#: Cycles of latency of both memories, and the share of cycles in which each channel rests.
_LATENCY, _PAUSES = 20, 0.1
#: Cycles of a reset.
_RESET = 8
#: What root's processes are that go before others.
_PRIORITY = -10
#: Seconds within which the guest must boot.
_PATIENCE = 60


class LinuxBench(RingBench):
    """The bench whose memories are those of the guest and of the accelerator; its waveform may begin later."""

    def __init__(self, dut: Any, design: EngineDesign, rng: random.Random) -> None:
        if bench_settings()["waves_held"]:
            os.environ[WAVES_HELD] = "1"
        super().__init__(dut, design, rng)

    def make_memory(self) -> Memory:
        memory = super().make_memory()
        memory.latency = _LATENCY
        return memory


class _Registers:
    """The bench's register port.

    ``submitted``: Descriptors that the guest has put into its rings, since it began.
    """

    def __init__(self, bench: LinuxBench) -> None:
        self._bench = bench
        self.submitted = 0
        self._mask = 2 * bench.config.ring_entries - 1
        # The tail of each ring, by the register that it is written to; the one that starts a ring anew.
        self._tails = dict.fromkeys(self._places("ring_tail"), 0)
        self._bases = dict(zip(self._places("ring_base_low"), self._tails, strict=True))

    def _places(self, register: str) -> list[int]:
        """Where a register of all channels is."""
        registers = self._bench.registers
        return [
            (pair << PAIR_SPAN_LOG2) + registers[f"{name}.{register}"].address
            for pair in range(self._bench.config.channels)
            for name in CHANNELS
        ]

    async def busy(self) -> bool:
        """Whether a channel has something to do."""
        busy = self._bench.registers["offload.status"].register.field("busy")
        return any([busy.get(int.from_bytes(await self.read(at), "little")) for at in self._places("status")])

    async def read(self, offset: int) -> bytes:
        response = await self._bench.bus.read(offset)
        return response.data if response.resp == AxiResp.OKAY else b"\xff" * 4

    async def write(self, offset: int, data: bytes) -> None:
        self._count(offset, int.from_bytes(data, "little"))
        await self._bench.bus.write(offset, data)

    def _count(self, offset: int, value: int) -> None:
        if offset in self._bases:
            self._tails[self._bases[offset]] = 0
        elif offset in self._tails:
            self.submitted += value - self._tails[offset] & self._mask
            self._tails[offset] = value


class _Device:
    """The engine on a socket. Simulated time passes while the engine is busy, and stands still otherwise.

    Commands of :class:`.Mishaps` are its methods.
    """

    def __init__(self, bench: LinuxBench, guest: VhostUser | Qemu) -> None:
        self._bench = bench
        settings = bench_settings()
        accelerator = bench.memory["dev"]
        with open(settings["memory"], "r+b") as file:
            accelerator.hold(mmap.mmap(file.fileno(), accelerator.size, offset=settings["place"]))
        accelerator.allow(0, accelerator.size)
        self._registers = _Registers(bench)
        span = 1 << bench.config.register_address_bits
        self._function = Function(self._registers, accelerator.bytes, guest.placed, span)
        self._guest = guest
        self._until = 0
        self._silent = 0
        # Interrupts that wait.
        self._late = 0
        pipe = settings.get("control")
        self._mishaps = Mishaps(
            settings["script"], Path(pipe) if pipe else None, settings["seed"], bench.dut._log.warning
        )

    async def run(self) -> None:
        """Serves the guest until it is gone."""
        cocotb.start_soon(self._bench.blame(self._watch_interrupt()))
        with contextlib.suppress(Gone):
            while True:
                works = await self._works()
                for access in self._guest.wait(0 if works else None, self._mishaps.files):
                    await self._serve(access)
                self._share()
                self._mishaps.happen(self._registers.submitted, self)
                if works:
                    await self._bench.after(_STEP)
        # What is open at the end is answered.
        for port in self._bench.memory:
            self.answer(port)

    async def _works(self) -> bool:
        if self._bench.cycles >= self._until:
            works = self._late or await self._registers.busy()
            self._until = self._bench.cycles + _QUIET if works else 0
        return self._until > 0

    def _share(self) -> None:
        """Gives the engine the guest's memory at once: for this the guest waits longer than for a register."""
        memory, host = self._guest.memory, self._bench.memory["host"]
        if memory is not None and host.bytes is not memory.bytes:
            host.hold(memory.bytes)
            host.allow(memory.first, memory.end - memory.first)

    async def _serve(self, access: Access) -> None:
        access.answer = await self._function.answer(access)
        self._until = self._bench.cycles + _QUIET
        if self._function.config.gone:
            await self._power()
        self._freeze(self._function.config.silent)
        self._bench.checks = self._function.accesses

    async def _power(self) -> None:
        """A function that is gone moves nothing, and what was in flight is forgotten when it is there again."""
        for memory in self._bench.memory.values():
            memory.frozen = True
        if self._function.present:
            await self._bench.reset(_RESET, opens=False)
            self._function.config.forget()
            self._silent = 0b11

    def _freeze(self, silent: int) -> None:
        for bit, port in enumerate(("dev", "host")):
            if (silent ^ self._silent) >> bit & 1:
                self._bench.memory[port].frozen = bool(silent >> bit & 1)
        self._silent = silent

    async def _watch_interrupt(self) -> None:
        lines, before = self._bench.dut.irq, 0
        while True:
            await ValueChange(lines)
            # A line of each pair, all of which send the same message.
            now = int(lines.value) if lines.value.is_resolvable else 0
            rises, before = now & ~before, now
            if rises and (cycles := self._mishaps.delay()):
                self._late += 1
                cocotb.start_soon(self._bench.blame(self._interrupt_after(cycles)))
            elif rises:
                self._interrupt()

    async def _interrupt_after(self, cycles: int) -> None:
        await self._bench.after(cycles)
        self._late -= 1
        self._interrupt()

    def _interrupt(self) -> None:
        if (message := self._function.interrupt()) is not None:
            self._guest.interrupt(*message)
        self._bench.transfers = self._function.interrupts

    def error(self, port: str, address: int, response: int) -> None:
        self._bench.memory[port].spoil({address: response})

    def mend(self, port: str, address: int) -> None:
        self._bench.memory[port].mend(address)

    def silent(self, port: str) -> None:
        self._bench.memory[port].frozen = True

    def answer(self, port: str) -> None:
        self._bench.memory[port].frozen = False

    def latency(self, port: str, cycles: int) -> None:
        self._bench.memory[port].latency = cycles

    def unplug(self) -> None:
        """The function is not there any more: what is read is all ones, and nothing is written or moves."""
        self._function.present = False
        for memory in self._bench.memory.values():
            memory.frozen = True

    def waves(self) -> None:
        os.environ.pop(WAVES_HELD, None)


@functools.partial(engine_test, kind=LinuxBench)
async def serve(bench: Any, budget: int) -> None:
    """Serves one guest, from its boot to its halt."""
    # The guest waits for each access, and not for long: the device goes first, where it may.
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    bench.pauses(_PAUSES)
    # To look through all that is here by now takes longer than anything else between two answers.
    gc.freeze()
    settings = bench_settings()
    with contextlib.ExitStack() as ends:
        listener = ends.enter_context(socket.socket(socket.AF_UNIX))
        listener.settimeout(_PATIENCE)
        path = settings["socket"]
        # A path that is there is listened to: a guest that comes in between would be refused.
        listener.bind(f"{path}-")
        listener.listen(2)
        os.rename(f"{path}-", path)
        connection = ends.enter_context(listener.accept()[0])
        connection.setblocking(True)
        guest: VhostUser | Qemu = VhostUser(connection)
        if settings["place"]:
            guest = Qemu(connection, ends.enter_context(listener.accept()[0]), settings)
        await _Device(bench, guest).run()
