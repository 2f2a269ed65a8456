"""The context of a cocotb test of a codec: packets by the places of their literals, and the run-time table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cdma.sim.codec.words import Words
from cdma.verif.simulator.plan import bench_settings
from cdma.verif.stream import bench
from cdma.verif.stream.bench import Delivery

from . import stimulus
from .codec_bench import bench_of, limits_of
from .design import CodecDesign
from .stimulus import CodecPacket, compress_packet, decompress_packet


class Context(bench.Context[CodecDesign, CodecPacket]):
    streams = ("input", "length", "output", "report")

    def __init__(self, dut: Any, name: str) -> None:
        super().__init__(dut, CodecDesign.from_json(bench_settings()["design"]), name)
        self.np = np.random.default_rng(list(self.seed.encode()))
        self.config = self.design.config
        self._table: tuple[int, ...] = ()
        if self.config.runtime_values:
            values = self.config.format.values
            self._set_table([*values, *(values[-1:] or (0,)) * (self.config.table_size - len(values))])
        self.codec_bench = bench_of(self.config)
        self.limits = limits_of(self.config, self.design.block)
        # A group of absent windows leaves without a beat.
        self.bench.patience += self.limits.latency

    def packet(self, words: Words) -> CodecPacket:
        """The packet of these raw words for the block under test."""
        make = decompress_packet if self.design.decompresses else compress_packet
        return make(words, self.config)

    def fill(self, mask: stimulus.Mask) -> Words:
        return self.codec_bench.fill(self.np, mask, self.config)

    def from_mask(self, mask: stimulus.Mask) -> CodecPacket:
        """A packet with literals where ``mask`` says."""
        return self.packet(self.fill(mask))

    def any_packet(self, length: int | None = None) -> CodecPacket:
        count = stimulus.some_length(self.np, self.config) if length is None else length
        return self.from_mask(stimulus.mixed(self.np, count, self.config))

    def describe(
        self, before: Delivery[CodecPacket] | None, this: Delivery[CodecPacket]
    ) -> Mapping[str, Any]:
        packet, report = this.packet, this.packet.report
        words = report.words_out if self.design.decompresses else report.words_in
        return {
            # Of a packet with malformed beats nothing is known but its error.
            "words": None if packet.expected is None else words,
            "literals": report.literals,
            "error": report.error,
            "held": this.held,
            "after": None if before is None else before.packet.report.error,
            "gap": None if before is None else this.taken[0] - before.taken[-1] - 1,
            "table": self._table,
        }

    def new_table(self) -> None:
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
        self._table = tuple(values)
        bits = self.config.format.entry_bits
        self.dut.values.value = sum(value << (index * bits) for index, value in enumerate(values))


codec_test = bench.stream_test(Context)
