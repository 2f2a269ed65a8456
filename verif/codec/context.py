"""What every cocotb test of a codec starts from: design, bench, random numbers, and a result to leave."""

from __future__ import annotations

import functools
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any

import cocotb
import numpy as np

from cdma.sim.codec.words import Words
from cdma.verif.monitors.pauses import Pause, pattern
from cdma.verif.monitors.rules import RuleError
from cdma.verif.monitors.tally import Tally
from cdma.verif.simulator.result import bench_settings, leave_samples, leaving_result

from . import stimulus
from .bench import Bench
from .codec_bench import bench_of, limits_of
from .design import CodecDesign
from .traffic import Packet, compress_packet, decompress_packet

__all__ = ["Context", "codec_test"]


class Context:
    """What a test has to work with: the bench, its parameters, and its random numbers."""

    def __init__(self, dut: Any, name: str) -> None:
        self.settings = settings = bench_settings()
        self.design = CodecDesign.from_json(settings["design"])
        self.budget: int = settings["packets"]
        seed = f"{settings['seed']}/{name}"
        self.rng = random.Random(seed)
        self.np = np.random.default_rng(list(seed.encode()))
        self.tally = Tally()
        self.dut = dut
        self.config = self.design.config
        self.bench = Bench(dut, self.design, self.rng, self.tally)
        if self.config.runtime_values:
            given = self.config.format.values
            self._set_table([*given, *(given[-1:] or (0,)) * (self.config.table_size - len(given))])
        self.compresses = self.design.block == "compressor"
        self.codec_bench = bench_of(self.config)
        self.limits = limits_of(self.config, self.design.block)

    def explain(self, error: BaseException) -> str:
        """What a failure is, in a sentence."""
        return f"cycle {self.bench.now}: {error}" if isinstance(error, RuleError) else repr(error)

    def packet(self, words: Words) -> Packet:
        """The packet of these raw words for the block under test."""
        make = compress_packet if self.compresses else decompress_packet
        return make(words, self.config)

    def fill(self, mask: stimulus.Mask) -> Words:
        """Words with literals where ``mask`` says."""
        return self.codec_bench.fill(self.np, mask, self.config)

    def from_mask(self, mask: stimulus.Mask) -> Packet:
        """A packet with literals where ``mask`` says."""
        return self.packet(self.fill(mask))

    def any_packet(self, length: int | None = None) -> Packet:
        """A packet of any shape, of some length."""
        count = stimulus.some_length(self.np, self.config) if length is None else length
        return self.from_mask(stimulus.mixed(self.np, count, self.config))

    def any_pauses(self) -> dict[str, Pause]:
        """A random pattern on every stream."""
        return {
            "input": pattern(self.rng, sink=False)[1],
            "length": pattern(self.rng, sink=False)[1],
            "output": pattern(self.rng, sink=True)[1],
            "report": pattern(self.rng, sink=True)[1],
        }

    def new_table(self) -> None:
        """Changes the run-time table, if the design has one."""
        if not self.config.runtime_values:
            return
        form = self.config.format
        top, entries = (1 << form.entry_bits) - 1, self.config.table_size
        choice = self.rng.random()
        if choice < 0.2:
            values = [0] * entries
        else:
            values = [self.rng.choice((0, 1, top, self.rng.randint(0, top))) for _ in range(entries)]
        self._set_table(values)

    def _set_table(self, values: Sequence[int]) -> None:
        self.config = self.design.with_values(values)
        self.bench.drive_values(values)


def codec_test(body: Callable[[Context], Awaitable[None]]) -> Any:
    """Makes a cocotb test of ``body``: starts the bench, and leaves the tally or the failure as result."""
    name = body.__name__

    @functools.wraps(body)
    async def run(dut: Any) -> None:
        context = Context(dut, name)
        with leaving_result(name, lambda: asdict(context.tally), context.explain):
            await context.bench.start()
            await body(context)
            leave_samples(context.bench.samples)

    return cocotb.test()(run)
