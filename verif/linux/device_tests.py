"""The cocotb side of :mod:`cdma.verif.linux.run`: the engine between the guest's memory and that of an accelerator."""

from __future__ import annotations

import contextlib
import functools
import socket
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from cdma.verif.engine.context import engine_test
from cdma.verif.engine.memory import Memory
from cdma.verif.engine.ring import RingBench
from cdma.verif.simulator.result import bench_settings

from .function import COMMANDS, INTERRUPTS, Function
from .guest import Queue
from .vhost_user import Gone, VhostUser

__all__: list[str] = []

#: Cycles between two looks for the guest, who waits 40 ms for an answer; and after which nothing more is expected of an
#: engine at rest.
_STEP, _QUIET = 32, 256
#: Cycles of latency of both memories, and the share of cycles in which each channel rests.
_LATENCY, _PAUSES = 20, 0.1
#: Seconds within which the guest must boot.
_PATIENCE = 60


class LinuxBench(RingBench):
    """The bench whose memories are those of the guest and of the accelerator."""

    def make_memory(self) -> Memory:
        memory = super().make_memory()
        memory.latency = _LATENCY
        return memory


class _Registers:
    """The bench's register port."""

    def __init__(self, bench: LinuxBench) -> None:
        self._bench = bench

    async def read(self, offset: int) -> bytes:
        response = await self._bench.bus.read(offset)
        return response.data if response.resp == AxiResp.OKAY else b"\xff" * 4

    async def write(self, offset: int, data: bytes) -> None:
        await self._bench.bus.write(offset, data)


class _Device:
    """The engine on a socket. Simulated time passes while the engine is busy, and stands still otherwise."""

    def __init__(self, bench: LinuxBench, connection: socket.socket) -> None:
        self._bench = bench
        accelerator = bench.memory["dev"]
        accelerator.allow(0, accelerator.size)
        accelerator.spoil({bench_settings()["bad_byte"]: AxiResp.SLVERR})
        self._function = Function(_Registers(bench), accelerator.bytes)
        self._guest = VhostUser(connection)
        self._until = 0
        self._silent = 0

    async def run(self) -> None:
        """Serves the guest until it is gone."""
        cocotb.start_soon(self._bench.blame(self._watch_interrupt()))
        with contextlib.suppress(Gone):
            while True:
                works = await self._works()
                for queue, count in self._guest.wait(0 if works else None):
                    await self._serve(queue, count)
                self._share()
                if works:
                    await self._bench.after(_STEP)

    async def _works(self) -> bool:
        if self._bench.cycles >= self._until:
            busy = [await self._bench.peek(f"{name}.status", "busy") for name in self._bench.rings]
            self._until = self._bench.cycles + _QUIET if any(busy) else 0
        return self._until > 0

    def _share(self) -> None:
        """Gives the engine the guest's memory at once: for this the guest waits longer than for a register."""
        memory, host = self._guest.memory, self._bench.memory["host"]
        if memory is not None and host.bytes is not memory.bytes:
            host.hold(memory.bytes)
            host.allow(memory.first, memory.end - memory.first)

    async def _serve(self, queue: Queue, count: int) -> None:
        memory = self._guest.memory
        if memory is None:
            raise ValueError("the guest uses a queue before it has handed over its memory")
        if queue is self._guest.queues[COMMANDS]:
            await self._function.serve(queue, memory, count)
            self._until = self._bench.cycles + _QUIET
        self._freeze(self._function.config.silent)
        self._send()
        self._bench.checks = self._function.accesses

    def _freeze(self, silent: int) -> None:
        for bit, port in enumerate(("dev", "host")):
            if (silent ^ self._silent) >> bit & 1:
                self._bench.memory[port].frozen = bool(silent >> bit & 1)
        self._silent = silent

    async def _watch_interrupt(self) -> None:
        rises = RisingEdge(self._bench.dut.irq)
        while True:
            await rises
            self._function.interrupt()
            self._send()
            self._bench.transfers = self._function.interrupts

    def _send(self) -> None:
        if self._guest.memory is not None and INTERRUPTS in self._guest.queues:
            self._function.send(self._guest.queues[INTERRUPTS], self._guest.memory)


@functools.partial(engine_test, kind=LinuxBench)
async def serve(bench: Any, budget: int) -> None:
    """Serves one guest, from its boot to its halt."""
    bench.pauses(_PAUSES)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.settimeout(_PATIENCE)
        listener.bind(bench_settings()["socket"])
        listener.listen(1)
        connection, _ = listener.accept()
    connection.setblocking(True)
    with connection:
        await _Device(bench, connection).run()
