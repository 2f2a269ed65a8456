"""The engine under test: its parameters, its Verilog, and the ports that the bench touches."""

from __future__ import annotations

import json
from dataclasses import dataclass

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.cache import content_key, generator_key, kept_text

__all__ = ["SMALL", "EngineDesign"]

#: What the regression runs on unless told otherwise: ports of different widths, and small queues that fill
#: up.
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
class EngineDesign:
    """An engine as ``cdma generate engine`` writes it."""

    config: EngineConfig = SMALL
    init: bool = True

    @property
    def top(self) -> str:
        """The name of the module."""
        return "cdma_engine"

    def ports(self) -> list[str]:
        """The names of the ports."""
        from cdma.hdl.engine.engine import engine_ports

        return [port.name for port in engine_ports(self.config)]

    def verilog(self) -> str:
        """The text that a user gets; kept by what it is made from, because making it takes a while."""

        def make() -> str:
            from cdma.hdl.engine.generate import engine_verilog

            return engine_verilog(self.config, name=self.top, init=self.init)

        return kept_text("verilog", content_key(generator_key(), self.to_json()), ".v", make)

    def to_json(self) -> str:
        """The design as JSON text."""
        return json.dumps({"config": self.config.settings(), "init": self.init})

    @classmethod
    def from_json(cls, text: str) -> EngineDesign:
        """The design that :meth:`to_json` wrote."""
        fields = json.loads(text)
        return cls(EngineConfig.from_settings(fields["config"]), fields["init"])
