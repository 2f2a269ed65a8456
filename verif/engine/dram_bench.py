"""The cocotb side of measurements on a DRAM. Contents of device memory come and go through the engine itself."""

from __future__ import annotations

import functools
from typing import Any

from cdma.hdl.spec.records import COMPLETION, Mode, Status
from cdma.sim.engine.memory import Descriptor, unpack
from cdma.verif.simulator.plan import bench_settings, leave_row

from .context import SOURCE, PacedBench, engine_test
from .measurement import Measurement

#: The most bytes of a raw copy.
_CHUNK = 1 << 20


class DramBench(PacedBench):
    """The bench with one paced memory, the host's. ``memory["dev"]`` has what tests want in the DRAM, or found there."""

    served = ("host",)

    async def copy(self, direction: str, at: int, count: int) -> None:
        """Copies bytes of the DRAM from ``memory["dev"]`` (``prefetch``) or to it (``offload``), in mode raw."""
        dev, host, ring = self.memory["dev"], self.memory["host"], self.rings[direction]
        await self.poke(f"{direction}.control", enable=0)
        await ring.enable()
        for start in range(at, at + count, _CHUNK):
            size = min(_CHUNK, at + count - start)
            if direction == "prefetch":
                host.write(SOURCE, dev.read(start, size))
            ends = (start, SOURCE) if direction == "offload" else (SOURCE, start)
            await ring.submit([Descriptor(*ends, size, capacity=size, mode=Mode.RAW).pack()])
            got = unpack(COMPLETION, await ring.next(limit=20000 + size))
            assert got["status"] == Status.OK, got
            if direction == "offload":
                dev.write(start, host.read(SOURCE, size))


class OnDram(Measurement):
    """One case with DRAMs at a port, whose ``groups`` are those of the register where the case has them."""

    async def run(self) -> list[dict[str, Any]]:
        rows, config = await super().run(), self.bench.config
        moved, bits = "compressed_bytes", config.host_data_bits
        if isinstance(self, OnDevice):
            moved, bits = "bytes", config.units * config.dev_data_bits
        beats = sum(row["descriptors"] * row[moved] for row in rows) * 8 / bits
        of_dram = round(beats / max(row["cycles"] for row in rows), 4)
        return [row | {"of_dram": of_dram} for row in rows]

    async def _move(self) -> None:
        if "groups" in self.case:
            await self.bench.poke("engine.groups", value=self.case["groups"])
        await super()._move()


class OnHost(OnDram):
    """One case with a DRAM at the host port, where its controller alone takes time."""

    async def _prepare(self, direction: str) -> bytes:
        self.bench.memory["host"].latency = 0
        return await super()._prepare(direction)


class OnDevice(OnDram):
    """One case with a DRAM at each device port."""

    bench: DramBench

    async def _move(self) -> None:
        dev, host = self.bench.memory["dev"], self.bench.memory["host"]
        places = {direction: self._place(direction) for direction in self.directions}
        for direction, (at, count) in places.items():
            dev.write(at, self._laid if direction == "offload" else bytes(count))
            await self.bench.copy("prefetch", at, count)
        await super()._move()
        dev.first_read, last_answer = self.began, host.last_answer
        if "prefetch" in places:
            await self.bench.copy("offload", *places["prefetch"])
        host.last_answer = last_answer

    def _place(self, direction: str) -> tuple[int, int]:
        """Where the tensor lies in the DRAM."""
        if direction == "offload":
            return SOURCE + self.case.get("offset", 0), len(self._laid)
        [(at, count)] = self._destinations(direction)
        return at, count

    async def _finish(self, direction: str) -> None:
        await super()._finish(direction)
        if direction == "prefetch":
            self.bench.memory["dev"].last_answer = self.bench.cycles


async def _measure(kind: type[OnDram], bench: Any) -> None:
    """Measures every case of the settings, and leaves each row at once."""
    for case in bench_settings()["cases"]:
        for row in await kind(bench, case).run():
            leave_row(row)


@functools.partial(engine_test, kind=DramBench)
async def measure_dev(bench: DramBench, budget: int) -> None:
    """Measures cases with DRAMs at the device ports."""
    await _measure(OnDevice, bench)


@functools.partial(engine_test, kind=PacedBench)
async def measure_host(bench: PacedBench, budget: int) -> None:
    """Measures cases with a DRAM at the host port."""
    await _measure(OnHost, bench)
