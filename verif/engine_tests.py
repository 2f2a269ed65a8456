"""The cocotb tests of the engine; they run inside a simulation and leave what they did in a result file."""

from __future__ import annotations

import functools
import json
import os
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import cocotb

from .engine_bench import CHANNELS, EngineBench
from .engine_design import EngineDesign

__all__: list[str] = []


def engine_test(body: Callable[[EngineBench, int], Awaitable[None]]) -> Any:
    """Makes a cocotb test of ``body``, which gets the bench, started, and the budget of transfers."""
    name = body.__name__

    @functools.wraps(body)
    async def run(dut: Any) -> None:
        settings = json.loads(os.environ["CDMA_BENCH"])
        rng = random.Random(f"{settings['seed']}/{name}")
        bench = EngineBench(dut, EngineDesign.from_json(settings["design"]), rng)
        failure = None
        began = time.monotonic()
        try:
            await bench.start()
            await body(bench, settings["packets"])
            bench.finish()
        except BaseException as error:
            failure = f"cycle {bench.cycles}: {bench.failure or error!r}"
            raise
        finally:
            record = {
                "test": name,
                "failure": failure,
                "packets": bench.transfers,
                "words": bench.words,
                "checks": bench.checks,
                "cycles": bench.cycles,
                "seconds": time.monotonic() - began,
            }
            with Path(settings["result"]).open("a") as results:
                results.write(json.dumps(record) + "\n")

    return cocotb.test()(run)


def _some_table(bench: EngineBench) -> list[int]:
    top = (1 << bench.config.format.word_bits) - 1
    return [
        bench.rng.choice((0, 1, top, bench.rng.randint(0, top))) for _ in range(bench.config.codec.table_size)
    ]


def _some_length(bench: EngineBench) -> int:
    """Words: short ones, boundaries of beats, windows, bursts and pages, one more and one less."""
    config, rng = bench.config, bench.rng
    word_bytes = config.format.word_bits // 8
    choice = rng.random()
    if choice < 0.3:
        return rng.randint(1, 3 * config.lanes)
    if choice < 0.8:
        beat = rng.choice((config.dev_data_bits, config.host_data_bits)) // 8
        unit = rng.choice((beat, beat * config.burst_beats, config.format.window * word_bytes, 4096))
        return max(1, unit // word_bytes * rng.randint(1, 2) + rng.choice((-1, 0, 1)))
    return rng.randint(1, 2000)


async def _both(bench: EngineBench, job: Callable[[str], Awaitable[None]]) -> None:
    """Runs a job on both channels at once."""
    tasks = [cocotb.start_soon(bench.blame(job(channel))) for channel in CHANNELS]
    for task in tasks:
        await task


@engine_test
async def soak(bench: EngineBench, budget: int) -> None:
    """Both directions at once, random descriptors in rings, random back-pressure and latency, many ring
    wraps.
    """
    left = budget
    while left > 0:
        count = min(left, bench.rng.randint(10, 60))
        left -= count
        bench.pauses(bench.rng.choice((0.0, None, None)))
        for memory in bench.memory.values():
            memory.latency = bench.rng.choice((0, 10, 60))

        async def job(channel: str, count: int = count) -> None:
            await bench.set_table(channel, _some_table(bench))
            await bench.rings[channel].enable()
            transfers = [bench.transfer(channel, _some_length(bench)) for _ in range(count // 2 + 1)]
            await bench.run(channel, transfers)
            await bench.rings[channel].disable()

        await _both(bench, job)
