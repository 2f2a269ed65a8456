"""AxCACHE, AxPROT, AxQOS and AxUSER as software sets them for each channel."""

from __future__ import annotations

from cdma.hdl.spec.options import SIDEBAND_TARGETS
from cdma.verif.engine.context import Pair, both, engine_test, pairs_of
from cdma.verif.engine.ring import RingBench
from cdma.verif.simulator.plan import planned


@planned(
    "AxCACHE, AxPROT, AxQOS and AxUSER of each channel and target written at rest and during transfers",
    "every address has its channel's, and none changes before the channel rests",
    needs=lambda design: design.config.sideband_registers,
)
@engine_test
async def sideband(bench: RingBench, budget: int) -> None:
    """One pair after the other, if there are several: the others have other values."""
    pairs = await pairs_of(bench) if bench.config.channels > 1 else [bench]
    during = sum([await _of_pair(pair, budget) for pair in pairs])
    assert during, "no register was written during a transfer"
    bench.notes["written during a transfer"] = during


async def _of_pair(bench: RingBench, budget: int) -> int:
    """Gives how many registers were written during a transfer."""
    during = 0

    def some(target: str) -> dict[str, int]:
        values = bench.config.sideband.values(target)
        return {name: bench.rng.randrange(1 << bits) for name, (bits, _) in values.items()}

    async def write(channel: str) -> dict[str, dict[str, int]]:
        made = {target: some(target) for target in SIDEBAND_TARGETS}
        for target, values in made.items():
            await bench.poke(f"{channel}.{target}_sideband", **values)
        return made

    async def idle(channel: str) -> None:
        await bench.until(f"{channel}.status", "busy", 0)

    async def job(channel: str) -> None:
        nonlocal during
        for _ in range(max(3, budget // 40)):
            bench.pauses()

            def say(values: dict[str, dict[str, int]]) -> None:
                for target, members in values.items():
                    bench.say(channel, target, members)

            # What is written now holds from the next transfer on, ...
            say(await write(channel))
            await bench.rings[channel].enable()
            long = bench.transfer(channel, bench.rng.randint(200, 600))
            await bench.rings[channel].submit([long.record()])
            # ... and what is written during one, from its end on.
            later = await write(channel)
            during += await bench.peek(f"{channel}.status", "busy")
            bench.check(channel, long, await bench.rings[channel].next())
            await idle(channel)
            say(later)
            await bench.run(channel, [bench.transfer(channel, bench.rng.randint(1, 60)) for _ in range(3)])
            await bench.rings[channel].disable()
            await idle(channel)

    await both(bench, job)
    if isinstance(bench, Pair):
        bench.account()
    return during
