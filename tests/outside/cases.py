"""What the outsider tries."""

from __future__ import annotations

from .bench import Bench, outside_test

__all__: list[str] = []


@outside_test
async def transfers(bench: Bench, budget: int) -> None:
    """Transfers in all modes, some streams damaged, on both channels at once."""
    left = budget
    while left > 0:
        bench.pauses()
        some = min(left, 60)
        left -= some

        async def job(channel: str, some: int = some) -> None:
            await bench.set_table(channel)
            await bench.channels[channel].start()
            made = [bench.transfer(channel, damage=bench.rng.random() < 0.3) for _ in range(some // 2)]
            await bench.run(channel, made)
            await bench.channels[channel].stop()

        await bench.both(job)
