"""One clock domain after the other is reset, while the others go on."""

from __future__ import annotations

from cdma.hdl.spec.options import reset_of
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.engine.context import engine_test
from cdma.verif.engine.design import REGISTERS
from cdma.verif.engine.ring import RingBench
from cdma.verif.engine.transfer import Transfer
from cdma.verif.simulator.plan import planned

#: Cycles within which nothing of what a reset has cut off is left.
_LEFT = 400
#: And within which the others have seen a reset.
_SEEN = 5


@planned(
    "the reset of one clock at random moments, of the host port, of the core and of the registers in turn",
    "what was open ends, nothing is written past what was allowed or later, and everything works again after it",
    needs=lambda design: (
        design.config.registers
        and design.config.domains.host_crosses
        and design.config.domains.registers_cross
    ),
    weight=2,
)
@engine_test
async def lone_resets(bench: RingBench, budget: int) -> None:
    domains = bench.config.domains
    clocks = list(dict.fromkeys((domains.host, domains.core, domains.registers)))
    for turn in range(max(6, budget // 20)):
        clock = clocks[turn % len(clocks)]
        bench.pauses()
        made = {channel: await _begin(bench, channel) for channel in CHANNELS}
        await bench.after(bench.rng.randint(1, 900))
        await _reset(bench, clock, bench.rng.randint(1, 5))
        if clock == domains.registers:
            # Nothing but accesses is lost, and none was open.
            for channel in CHANNELS:
                for each in made[channel]:
                    bench.check(channel, each, await bench.rings[channel].next())
                await bench.rings[channel].disable()
        elif clock == domains.core:
            for channel in CHANNELS:
                bench.rings[channel].forget()
            # Until the other end of the crossing has seen the reset, accesses are answered SLVERR.
            await bench.after(_SEEN * bench.pace)
            await bench.open_windows()
            await bench.set_owners()
        else:
            await bench.poke("engine.command", soft_reset=1)
            for _ in range(2000):
                if not await bench.peek("engine.status", "resetting"):
                    break
            else:
                raise AssertionError("the soft reset did not end")
        await bench.after(_LEFT * bench.pace)
        bench.rules_of_axi.finish(but=REGISTERS)
        for channel in CHANNELS:
            if clock != domains.registers:
                for each in made[channel]:
                    bench.check_memory(channel, each, exact=False)
            assert not await bench.peek(f"{channel}.status", "stuck")
            await bench.set_table(channel, [0] * bench.config.codec.table_size)
            await bench.rings[channel].enable()
            await bench.run(channel, [bench.transfer(channel, 100)])
            await bench.rings[channel].disable()


async def _begin(bench: RingBench, channel: str) -> list[Transfer]:
    ring = bench.rings[channel]
    await ring.enable()
    made = [bench.transfer(channel, bench.rng.randint(1, 800)) for _ in range(5)]
    await ring.submit([each.record() for each in made])
    return made


async def _reset(bench: RingBench, clock: str, cycles: int) -> None:
    """Resets what a clock has, whatever is open; its neighbours on the bus are reset, too."""
    pin = getattr(bench.dut, reset_of(clock))
    await bench.after(1)
    pin.value = 0
    await bench.after(cycles * bench.pace)
    pin.value = 1
