"""The design under test: which block, with which parameters; travels to the simulation process as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cdma.hdl.spec.codec import CodecConfig

__all__ = ["CodecDesign"]


@dataclass(frozen=True)
class CodecDesign:
    """A compressor or a decompressor as ``cdma generate`` writes it."""

    block: str
    config: CodecConfig = field(default_factory=CodecConfig)
    init: bool = True

    @property
    def top(self) -> str:
        """The name of the module."""
        return f"cdma_{self.block}"

    @property
    def ports(self) -> tuple[str, ...]:
        """The names of the ports, all of which the bench reads or drives."""
        from cdma.hdl.codec.shell import codec_ports

        ports = codec_ports(self.config, length=self.block == "decompressor")
        return tuple(port.name for port in ports)

    def verilog(self) -> str:
        """The text that a user gets."""
        return _verilog(self)

    def with_values(self, values: Sequence[int]) -> CodecConfig:
        """The parameters with another table, for a table that comes in at run time."""
        return dataclasses.replace(self.config, format=self.config.format.with_table(values))

    def __str__(self) -> str:
        start = "" if self.init else ", no initial values"
        return f"{self.block} {self.config.summary()}{start}"

    def to_json(self) -> str:
        """The design as JSON text."""
        return json.dumps({"block": self.block, "config": self.config.settings(), "init": self.init})

    @classmethod
    def from_json(cls, text: str) -> CodecDesign:
        """The design that :meth:`to_json` wrote."""
        fields = json.loads(text)
        return cls(fields["block"], CodecConfig.from_settings(fields["config"]), fields["init"])


@lru_cache(maxsize=16)
def _verilog(design: CodecDesign) -> str:
    from cdma.hdl.codec.generate import codec_verilog

    return codec_verilog(design.block, design.config, name=design.top, init=design.init)
