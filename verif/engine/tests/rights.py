"""Accesses to registers without the right to use them."""

from __future__ import annotations

import cocotb
from cocotbext.axi import AxiResp

from cdma.hdl.spec.options import rights as rights_of
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.engine.context import engine_test
from cdma.verif.engine.ring import RingBench
from cdma.verif.simulator.plan import planned

#: What a hostile write asks for: anything that would stop a transfer or let it reach elsewhere.
_TARGETS = (
    "engine.command",
    "offload.control",
    "prefetch.command",
    "host_window.limit_low",
    "push.submit",
    "offload.ring_tail",
)


@planned(
    "accesses to registers with every AxPROT, between transfers on both channels",
    "those without the right are answered SLVERR, change nothing, are counted, and the first is kept",
    needs=lambda design: design.config.register_protection != "none",
)
@engine_test
async def rights(bench: RingBench, budget: int) -> None:
    mask, value = rights_of(bench.config.register_protection)
    wrong = [prot for prot in range(8) if prot & mask != value]
    denied = 0
    first = None

    async def intrude(count: int) -> None:
        nonlocal denied, first
        for _ in range(count):
            name, prot = bench.rng.choice(_TARGETS), bench.rng.choice(wrong)
            address, write = bench.registers[name].address, bench.rng.random() < 0.5
            first = first or (address, prot, int(write))
            if write:
                response = await bench.bus.write(address, b"\xff" * 4, prot)
            else:
                response = await bench.bus.read(address, prot)
                assert response.data == bytes(4), (
                    f"a read of {name} with AxPROT {prot} gives {response.data.hex()}"
                )
            assert response.resp == AxiResp.SLVERR, f"{name} with AxPROT {prot} is answered {response.resp!r}"
            denied += 1
            bench.checks += 1

    for _ in range(max(2, budget // 50)):
        bench.pauses()
        denied, first = 0, None
        await bench.poke("engine.command", clear_denied=1)
        jobs = [intrude(20)]
        for channel in CHANNELS:
            await bench.rings[channel].enable()
            jobs.append(
                bench.run(channel, [bench.transfer(channel, bench.rng.randint(1, 200)) for _ in range(4)])
            )
        for task in [cocotb.start_soon(bench.blame(job)) for job in jobs]:
            await task
        for channel in CHANNELS:
            await bench.rings[channel].disable()
        shown = bench.registers["engine.denied"].register
        found = await bench.peek("engine.denied")
        assert shown.field("count").get(found) == denied
        assert tuple(shown.field(name).get(found) for name in ("address", "prot", "write")) == first
    await bench.poke("engine.command", clear_denied=1)
    assert not await bench.peek("engine.denied", "count")
    # All others have the right.
    for prot in set(range(8)) - set(wrong):
        assert (await bench.bus.read(0, prot)).resp == AxiResp.OKAY
