"""What every cocotb test of a stage starts from: design, bench, random numbers, and a result to leave."""

from __future__ import annotations

import functools
import random
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

import cocotb

from cdma.verif.monitors.pauses import Pause, pattern
from cdma.verif.monitors.rules import RuleError
from cdma.verif.monitors.tally import Tally
from cdma.verif.simulator.result import bench_settings, leave_samples, leaving_result

from .bench import Bench
from .design import StageDesign
from .numbers import any_words
from .packet import Packet, dequantise_packet, quantise_packet

__all__ = ["Context", "stage_test"]


class Context:
    """What a test has to work with: the bench, its parameters, and its random numbers."""

    def __init__(self, dut: Any, name: str) -> None:
        settings = bench_settings()
        self.design = StageDesign.from_json(settings["design"])
        self.config = self.design.config
        self.budget: int = settings["packets"]
        self.rng = random.Random(f"{settings['seed']}/{name}")
        self.tally = Tally()
        self.dut = dut
        self.bench = Bench(dut, self.design, self.rng, self.tally)

    def explain(self, error: BaseException) -> str:
        """What a failure is, in a sentence."""
        return f"cycle {self.bench.now}: {error}" if isinstance(error, RuleError) else repr(error)

    def any_exponent(self) -> int:
        """The exponent of a step: often the least or the greatest."""
        form = self.config.form
        ends = (form.least_exponent, form.greatest_exponent)
        return self.rng.choice((*ends, 0, self.rng.randint(*ends), self.rng.randint(*ends)))

    def any_packet(self, length: int | None = None, exponent: int | None = None) -> Packet:
        """A packet of any words, of some length and some step."""
        form, lanes = self.config.form, self.config.lanes
        if length is None:
            length = self.rng.choice((1, self.rng.randint(1, lanes), self.rng.randint(1, 20 * lanes)))
        if exponent is None:
            exponent = self.any_exponent()
        if self.design.quantises:
            return quantise_packet(any_words(self.rng, form, exponent, length), exponent, self.config)
        words = [self.rng.choice((0, self.rng.getrandbits(form.bits))) for _ in range(length)]
        return dequantise_packet(words, exponent, self.config)

    def any_pauses(self) -> dict[str, Pause]:
        """A random pattern on every stream."""
        return {
            "input": pattern(self.rng, sink=False)[1],
            "output": pattern(self.rng, sink=True)[1],
            "report": pattern(self.rng, sink=True)[1],
        }


def stage_test(body: Callable[[Context], Awaitable[None]]) -> Any:
    """Makes a cocotb test of ``body``: starts the bench, and leaves the tally or the failure as result."""
    name = body.__name__

    @functools.wraps(body)
    async def run(dut: Any) -> None:
        context = Context(dut, name)
        with leaving_result(name, lambda: asdict(context.tally), context.explain):
            await context.bench.start()
            await body(context)
            leave_samples(context.bench.samples())

    return cocotb.test()(run)
