"""Write data behind their addresses: against a count of both."""

from __future__ import annotations

import random
from typing import Any

from cdma.hdl.axi.address_first import AddressFirst
from cdma.hdl.axi.ports import WriteData
from tests.support.simulate import simulate

MOST = 5


def test_data_pass_after_their_address_and_never_wait_longer() -> None:
    dut = AddressFirst(WriteData(32, 32), MOST)
    source = random.Random(1)

    async def check(ctx: Any) -> None:
        ahead = passed = 0
        for cycle in range(3000):
            # Phases in which addresses, data or the bus are slow.
            likely = (
                (0.9, 0.5, 0.05)[cycle // 100 % 3],
                (0.5, 0.9)[cycle // 300 % 2],
                (1.0, 0.4)[cycle // 50 % 2],
            )
            taken = ahead < MOST and source.random() < likely[0]
            offered, ready = source.random() < likely[1], source.random() < likely[2]
            data, last = source.getrandbits(32), source.random() < 0.4
            ctx.set(dut.taken, taken)
            ctx.set(dut.input.valid, offered)
            ctx.set(dut.input.payload.data, data)
            ctx.set(dut.input.payload.last, last)
            ctx.set(dut.output.ready, ready)
            assert ctx.get(dut.output.valid) == (offered and ahead > 0)
            assert ctx.get(dut.input.ready) == (ready and ahead > 0)
            assert ctx.get(dut.output.payload.data) == data
            assert ctx.get(dut.output.payload.last) == last
            if offered and ready and ahead:
                passed += 1
                ahead -= last
            ahead += taken
            await ctx.tick()
        assert passed > 300

    simulate(dut, check)
