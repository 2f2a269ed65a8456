"""An engine as a design under test."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.options import NO_CLOCKS
from cdma.verif.simulator.simulate import Design

from .rule_book import with_rules
from .several_clocks import with_late_flops

__all__ = ["SMALL", "EngineDesign"]

#: What the tests run on by default: ports of different widths, and small queues that fill up.
SMALL = EngineConfig(
    format=Format(word_bits=16, code_bits=2, values=(0,)),
    lanes=4,
    dev_data_bits=64,
    host_data_bits=128,
    dev_address_bits=40,
    host_address_bits=48,
    burst_beats=8,
    outstanding=4,
    latency=32,
    descriptors=4,
    ring_entries=64,
)


@dataclass(frozen=True)
class EngineDesign(Design):
    """An engine as ``cdma generate engine`` writes it."""

    config: EngineConfig = SMALL
    init: bool = True
    block: str = "engine"

    @property
    def summary(self) -> str:
        config = self.config
        ports = f"dev {config.dev_data_bits}, host {config.host_data_bits} bits"
        control = "registers" if config.registers else "streams"
        return f"{ports}, {control}, codecs {config.codec.summary()}"

    def watched(self, verilog: str) -> str:
        text = with_rules(verilog, self)
        return text if self.config.clocks == NO_CLOCKS else with_late_flops(text)
