"""What every cocotb test of an engine starts from: a bench of the right kind, and a result to leave. The bench that
measures: its memories have a fixed latency, never hold back, and may be written everywhere.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Awaitable, Callable
from typing import Any

import cocotb

from cdma.verif.simulator.plan import bench_settings, leave_samples, leaving_result

from .bench import CHANNELS, EngineBench
from .design import EngineDesign
from .measure import MOST_BYTES
from .memory import Memory
from .ring import RingBench
from .stream import StreamBench

__all__ = ["DESTINATION", "SIZE", "SOURCE", "PacedBench", "both", "engine_test"]

#: Hundreds of cycles within which the last responses come.
_ENDING = 20


def engine_test(body: Callable[[Any, int], Awaitable[None]], kind: type[EngineBench] | None = None) -> Any:
    """Makes a cocotb test of ``body``, which gets the bench, started, and the budget of transfers.

    ``kind`` is the bench to take; without it the bench is the one for engines with registers, or without.
    """
    name = body.__name__

    @functools.wraps(body)
    async def run(dut: Any) -> None:
        settings = bench_settings()
        design = EngineDesign.from_json(settings["design"])
        make = kind or (RingBench if design.config.registers else StreamBench)
        bench = make(dut, design, random.Random(f"{settings['seed']}/{name}"))
        with leaving_result(name, bench.tally, bench.explain):
            await bench.start()
            await body(bench, settings["packets"])
            # The last completion is in memory before its write is answered, which takes the memory's latency.
            for _ in range(_ENDING):
                await bench.after(100)
                if not bench.rules_of_axi.busy():
                    break
            bench.finish()
            leave_samples(bench.samples())

    return cocotb.test()(run)


async def both(bench: Any, job: Callable[[str], Awaitable[None]]) -> None:
    """Runs a job on both channels at once."""
    tasks = [cocotb.start_soon(bench.blame(job(channel))) for channel in CHANNELS]
    for task in tasks:
        await task


#: Where data are read from, and where they are written to.
SOURCE = 0x100000
DESTINATION = SOURCE + MOST_BYTES
#: Of each memory.
SIZE = DESTINATION + MOST_BYTES


class PacedBench(RingBench):
    """The bench with memories that take an address, a beat and give a beat in every cycle.

    ``host_period``
        Is that of the host's clock in periods of the core's; of those the cycles are.
    """

    @property
    def host_period(self) -> float:
        period: float = bench_settings().get("host_period", 1.0)
        return period

    def periods(self) -> dict[str, tuple[int, int]]:
        periods, domains = super().periods(), self.config.domains
        half, _ = periods[domains.core]
        return {
            clock: (round(half * (self.host_period if clock == domains.host else 1)), 0) for clock in periods
        }

    def make_memory(self) -> Memory:
        memory = Memory(self.rng, SIZE)
        memory.allow(0, SIZE)
        return memory
