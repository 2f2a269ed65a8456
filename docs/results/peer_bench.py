"""How busy a peer keeps its port: the cocotb side, with the memory that this engine is measured with."""

from __future__ import annotations

import random

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from cdma.verif.engine.context import DESTINATION, SIZE, SOURCE
from cdma.verif.engine.edges import Edges
from cdma.verif.engine.memory import NEVER, Memory
from cdma.verif.simulator.plan import bench_settings, leave_row, leaving_result

_LATENCY = 100
_CLOCK, _HALF_PERIOD = "aclk", 500
_TALLY = {"packets": 1, "words": 0, "checks": 1, "cycles": 0, "notes": {}}


@cocotb.test()
async def measure(dut: object) -> None:
    """Copies one tensor; the cycles from its first read address to its last write response."""
    with leaving_result("measure", lambda: _TALLY, repr):
        await _copy(dut, bench_settings()["bytes"])


async def _copy(dut: object, length: int) -> None:
    def pin(name: str) -> object:
        return getattr(dut, name)

    memory = Memory(random.Random(1), SIZE)
    memory.allow(0, SIZE)
    beat = len(pin("m_axi_wstrb"))
    memory.latency = _LATENCY
    data = np.random.default_rng(1).bytes(length)
    memory.write(SOURCE, data)
    for direction, address in (("read", SOURCE), ("write", DESTINATION)):
        for name, value in (("addr", address), ("len", length), ("tag", 0), ("valid", 0)):
            pin(f"s_axis_{direction}_desc_{name}").value = value
    pin("aresetn").value = 0
    edges = Edges(dut, {_CLOCK: (_HALF_PERIOD, 0)})
    edges.serve(memory, dut, "m_axi", "m_axi", _CLOCK)
    await ClockCycles(pin("aclk"), 8)
    pin("aresetn").value = 1
    waiting = {"read", "write"}
    for direction in waiting:
        pin(f"s_axis_{direction}_desc_valid").value = 1
    for _ in range(16 * length // beat):
        await RisingEdge(pin("aclk"))
        edges.check()
        for direction in sorted(waiting):
            if int(pin(f"s_axis_{direction}_desc_ready").value):
                pin(f"s_axis_{direction}_desc_valid").value = 0
                waiting.discard(direction)
        if int(pin("m_axis_write_desc_status_valid").value):
            break
    assert memory.read(DESTINATION, length) == data, "wrong data"
    assert memory.first_read != NEVER
    assert memory.last_answer != NEVER
    cycles = memory.last_answer - memory.first_read
    leave_row({"cycles": cycles, "utilisation": round(length / beat / cycles, 4)})
