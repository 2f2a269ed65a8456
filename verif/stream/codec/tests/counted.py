"""The test of a netlist that counts what its nets do: of tensors, one after the other, and at rest."""

from __future__ import annotations

import numpy as np
from cocotb.triggers import ClockCycles

from cdma.verif.simulator.plan import REST_CYCLES, counting, leave_row
from cdma.verif.stream.codec.context import Context, codec_test


@codec_test
async def counted(context: Context) -> None:
    """Sends the words of each file through the block at full speed, compares every bit, and waits at the end."""
    bench, dut = context.bench, context.dut
    bench.set_pauses()
    for path in context.settings["words"]:
        packet = context.packet(np.load(path))
        async with counting(dut):
            (delivery,) = await bench.run([packet])
        leave_row({"cycles": delivery.cycles})
    async with counting(dut):
        await ClockCycles(dut.aclk, REST_CYCLES)
