"""The context of a cocotb test of a stage: packets of numbers or of integers, with any step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdma.verif.simulator.plan import bench_settings
from cdma.verif.stream import bench
from cdma.verif.stream.bench import Delivery

from .design import StageDesign
from .packet import (
    StagePacket,
    StepPort,
    any_words,
    dequantise_packet,
    integer_kind,
    kept_words,
    number_kind,
    quantise_packet,
)


class Context(bench.Context[StageDesign, StagePacket]):
    streams = ("input", "output", "report")

    def __init__(self, dut: Any, name: str) -> None:
        super().__init__(dut, StageDesign.from_json(bench_settings()["design"]), name)
        self.config = self.design.config
        quantises = self.design.quantises
        self.bench.side = StepPort(dut.step, self.bench.input, self.rng, a_cycle_before=quantises)

    def any_exponent(self) -> int:
        """The exponent of a step: often the least or the greatest."""
        form = self.config.form
        ends = (form.least_exponent, form.greatest_exponent)
        return self.rng.choice((*ends, 0, self.rng.randint(*ends), self.rng.randint(*ends)))

    def packet(self, words: list[int], exponent: int) -> StagePacket:
        """The packet of these words for the block under test."""
        make = quantise_packet if self.design.quantises else dequantise_packet
        return make(words, exponent, self.config)

    def any_packet(self, length: int | None = None, exponent: int | None = None) -> StagePacket:
        form, lanes = self.config.form, self.config.lanes
        if length is None:
            length = self.rng.choice((1, self.rng.randint(1, lanes), self.rng.randint(1, 20 * lanes)))
        if exponent is None:
            exponent = self.any_exponent()
        if self.design.quantises:
            return self.packet(any_words(self.rng, form, exponent, length), exponent)
        words = [self.rng.choice((0, self.rng.getrandbits(form.bits))) for _ in range(length)]
        return self.packet(words, exponent)

    def describe(
        self, before: Delivery[StagePacket] | None, this: Delivery[StagePacket]
    ) -> Mapping[str, Any]:
        packet = this.packet
        return {
            "words": packet.words,
            "step": packet.step,
            "kinds": sorted(self._kinds(packet)),
            "reported": packet.reported,
            "first": packet.first,
            "held": this.held,
            "before": None if before is None else before.packet.step,
            "gap": None if before is None else this.taken[0] - before.taken[-1] - 1,
        }

    def _kinds(self, packet: StagePacket) -> set[str]:
        form = self.config.form
        words = set(kept_words(packet, self.design.bits_in))
        if self.design.quantises:
            return {number_kind(word, packet.step, form) for word in words}
        return {integer_kind(word, form) for word in words}


stage_test = bench.stream_test(Context)
