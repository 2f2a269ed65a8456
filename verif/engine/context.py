"""What every cocotb test of an engine starts from: a bench of the right kind, and a result to leave."""

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
from cocotb.triggers import ClockCycles

from .bench import CHANNELS
from .design import EngineDesign
from .ring import RingBench
from .stream import StreamBench

__all__ = ["both", "engine_test"]


def engine_test(body: Callable[[Any, int], Awaitable[None]]) -> Any:
    """Makes a cocotb test of ``body``, which gets the bench, started, and the budget of transfers."""
    name = body.__name__

    @functools.wraps(body)
    async def run(dut: Any) -> None:
        settings = json.loads(os.environ["CDMA_BENCH"])
        rng = random.Random(f"{settings['seed']}/{name}")
        design = EngineDesign.from_json(settings["design"])
        bench = (RingBench if design.config.registers else StreamBench)(dut, design, rng)
        failure = None
        began = time.monotonic()
        try:
            await bench.start()
            await body(bench, settings["packets"])
            # The last completion is in memory before its write is answered.
            await ClockCycles(dut.aclk, 100)
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


async def both(bench: Any, job: Callable[[str], Awaitable[None]]) -> None:
    """Runs a job on both channels at once."""
    tasks = [cocotb.start_soon(bench.blame(job(channel))) for channel in CHANNELS]
    for task in tasks:
        await task
