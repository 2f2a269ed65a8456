"""The engine's Verilog as a driver sees it: registers, time, the interrupt, and host memory as a buffer.

A driver is an ordinary blocking program. It runs in a thread of its own; each of its accesses to a register
lets the simulation go on until the access has been answered.
"""

from __future__ import annotations

from cocotb.task import resume
from cocotb.triggers import ClockCycles, First, RisingEdge

from cdma.sim.engine.driver import RingMemory
from cdma.verif.engine.ring import RingBench

#: Bytes of each memory.
SIZE = 1 << 20
#: All of both.
WINDOWS = {"dev": (0, SIZE - 1), "host": (0, SIZE - 1)}
#: Where the rings of each channel are in host memory, and how many entries one has.
RINGS = {"offload": 0x1000, "prefetch": 0x6000}
ENTRIES = 8
#: Where a tensor comes from in device memory, where it goes to in host memory, and where it comes back to.
RAW, PACKED, BACK = 0x20000, 0x40000, 0x60000
#: Bytes reserved for it at each of these addresses.
CAPACITY = 0x4000


class Machine:
    """What a driver is given: ``read32``, ``write32``, ``idle``, ``wait_irq`` and the memory of its rings."""

    def __init__(self, bench: RingBench) -> None:
        self.bench = bench
        self.irq_waits = 0
        host = bench.memory["host"]
        for base in RINGS.values():
            host.allow(base, 2 * ENTRIES * 64)
        host.allow(PACKED, CAPACITY)
        bench.memory["dev"].allow(BACK, CAPACITY)

    @resume
    async def read32(self, address: int) -> int:
        response = await self.bench.bus.read(address)
        assert response.resp == 0, f"the read of {address:#x} answered {response.resp}"
        return int.from_bytes(response.data, "little")

    @resume
    async def write32(self, address: int, value: int) -> None:
        response = await self.bench.bus.write(address, value.to_bytes(4, "little"))
        assert response.resp == 0, f"the write of {address:#x} answered {response.resp}"

    @resume
    async def idle(self) -> None:
        await ClockCycles(self.bench.dut.aclk, 10)

    @resume
    async def wait_irq(self, timeout: float) -> None:
        self.irq_waits += 1
        if not self.bench.dut.irq.value:
            await First(RisingEdge(self.bench.dut.irq), ClockCycles(self.bench.dut.aclk, 5000))

    def rings(self, name: str) -> RingMemory:
        base = RINGS[name]
        return RingMemory(base, memoryview(self.bench.memory["host"].bytes)[base : base + 2 * ENTRIES * 64])
