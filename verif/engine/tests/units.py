"""Engines with several device ports: what is uneven between these."""

from __future__ import annotations

import numpy as np

from cdma.hdl.spec.records import COMPLETION, Mode, Status
from cdma.sim.codec.words import word_dtype, words_to_bytes
from cdma.sim.engine.memory import unpack
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import both, engine_test
from cdma.verif.engine.transfer import Transfer
from cdma.verif.simulator.plan import planned


def _stripes(bench: EngineBench, number: int) -> int:
    return number * bench.config.stripe_bytes * 8 // bench.config.format.word_bits


def _one_sided(bench: EngineBench, unit: int, words: int) -> bytes:
    """Words without a zero in one stripe of so many as there are units, and zeros in the others."""
    form = bench.config.format
    made = bench.np.integers(1, 1 << form.word_bits, words).astype(word_dtype(form))
    stripe = np.arange(words) // _stripes(bench, 1)
    made[stripe % bench.config.units != unit] = 0
    return words_to_bytes(made)


@planned(
    "each device port in turn slow, and with all of the literals, both directions at once",
    "every byte in its place",
    needs=lambda design: design.config.units > 1,
    weight=3,
)
@engine_test
async def uneven(bench: EngineBench, budget: int) -> None:
    units = bench.config.units
    bench.pauses(0.1)
    ports = bench.ports["dev"]
    for channel in CHANNELS:
        await bench.channels[channel].enable()
    for unit in range(units):
        ports[unit].slow = 60

        async def job(channel: str, unit: int = unit) -> None:
            words = _stripes(bench, 2 * units) + bench.rng.randint(1, 40)
            await bench.run(
                channel,
                [
                    bench.transfer(channel, words, mode=Mode.ZVC, raw=_one_sided(bench, unit, words)),
                    bench.transfer(channel, bench.rng.randint(1, words)),
                    *(bench.transfer(channel, bench.rng.randint(1, 80)) for _ in range(units)),
                ],
            )

        await both(bench, job)
        ports[unit].slow = 0


@planned(
    "a device port that alone falls silent",
    "WATCHDOG with an address in one of its stripes, then all goes on",
    needs=lambda design: design.config.units > 1 and design.config.times,
)
@engine_test
async def silent_unit(bench: EngineBench, budget: int) -> None:
    config = bench.config
    # The other units have read their stripes ahead, and these take their turns on the link before the silent one's.
    turns = config.units * config.stripe_bytes * 8 // min(config.dev_data_bits, config.host_data_bits)
    await bench.set_watchdog(300 + turns)
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.enable()
        for port in bench.ports["dev"]:
            port.silent = True
            words = _stripes(bench, 2 * config.units)
            made: Transfer = bench.transfer(channel, words, mode=Mode.RAW)
            await end.submit([made.record()])
            got = unpack(COMPLETION, await end.next(10000))
            assert (got["status"], got["tag"]) == (Status.WATCHDOG, made.descriptor["tag"]), got
            assert port.owns(got["address"]), (channel, got)
            assert await end.flag("stuck")
            port.silent = False
            await bench.settle(channel)
            await end.resume()
            bench.check_memory(channel, made, exact=False)
            await bench.run(channel, [bench.transfer(channel, words)])
            bench.checks += 3
