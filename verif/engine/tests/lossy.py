"""Numbers that become integers, and integers that become numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cdma.hdl.spec.records import Mode, Status
from cdma.hdl.spec.shape import Shape
from cdma.verif.engine.bench import EngineBench
from cdma.verif.engine.context import both, engine_test
from cdma.verif.engine.transfer import Transfer, random_numbers, random_step
from cdma.verif.simulator.plan import planned


def _beyond(bench: EngineBench, channel: str, mode: Mode, **options: Any) -> Transfer:
    """A transfer of numbers of which some or many may be anything."""
    step = random_step(bench.rng, bench.config)
    count = bench.rng.choice((1, 2, bench.rng.randint(1, 300)))
    share = bench.rng.choice((0.0, 0.01, 0.3, 1.0))
    raw = random_numbers(bench.np, count, bench.config, step, beyond=share)
    return bench.transfer(channel, count, mode=mode, raw=raw, step=step, **options)


def _with_margins(bench: EngineBench, channel: str) -> Transfer:
    """A row between margins, which are the number 0 in mode fvc too, whatever the first value of the table is."""
    beat = max(bench.config.align("dev"), bench.config.dev_data_bits // 8)
    shape = Shape(4 * beat, before=beat, after=2 * beat)
    return bench.transfer(channel, 0, mode=Mode.FVC, shape=shape, step=random_step(bench.rng, bench.config))


@planned(
    "numbers and integers through the error-bounded stage in every mode, with any step, also numbers "
    "that are not within the bound",
    "the model's bits; LOSSY_RANGE with the count and the first, behind every other cause; the next descriptor runs",
    needs=lambda design: design.config.quantisation is not None,
)
@engine_test
async def lossy(bench: EngineBench, budget: int) -> None:
    found: Counter[Status] = Counter()

    async def job(channel: str) -> None:
        config = bench.config
        if config.dimensions:
            await bench.set_table(channel, [1] * config.codec.table_size)
        await bench.channels[channel].enable()
        for _ in range(max(6, budget // 12)):
            bench.pauses(bench.rng.choice((0.0, 0.3)))
            made = [_beyond(bench, channel, mode) for mode in (*Mode, *Mode)]
            bench.rng.shuffle(made)
            if channel == "offload":
                # What does not fit counts before what is not within the bound.
                made.append(_beyond(bench, channel, Mode.RAW, capacity=bench.rng.randint(1, 40)))
            if config.dimensions:
                made.append(_with_margins(bench, channel))
            await bench.run(channel, [*made, bench.transfer(channel, 20)])
            found.update(each.expected.status for each in made if channel == "offload")
        await bench.channels[channel].disable()

    await both(bench, job)
    assert found[Status.LOSSY_RANGE], found
    assert found[Status.OK], found
    bench.notes["beyond the bound"] = found[Status.LOSSY_RANGE]
