"""A compressor or a decompressor as a design under test."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.verilog.ports import Port
from cdma.verif.simulator.design import Design

__all__ = ["CodecDesign"]


@dataclass(frozen=True)
class CodecDesign(Design):
    """A compressor or a decompressor as ``cdma generate`` writes it."""

    block: str
    config: CodecConfig = CodecConfig()
    init: bool = True

    @property
    def ports(self) -> tuple[Port, ...]:
        from cdma.hdl.codec.shell import codec_ports

        return codec_ports(self.config, length=self.block == "decompressor")

    @property
    def summary(self) -> str:
        return self.config.summary()

    def generate(self) -> str:
        from cdma.hdl.codec.generate import codec_verilog

        return codec_verilog(self.block, self.config, name=self.top, init=self.init)

    def with_values(self, values: Sequence[int]) -> CodecConfig:
        """The parameters with another table, for a table that comes in at run time."""
        return dataclasses.replace(self.config, format=self.config.format.with_table(values))

    @classmethod
    def from_json(cls, text: str) -> CodecDesign:
        fields = json.loads(text)
        return cls(fields["block"], CodecConfig.from_settings(fields["config"]), fields["init"])
