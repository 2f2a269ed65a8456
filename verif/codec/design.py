"""The design under test: which block, with which parameters; travels to the simulation process as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

__all__ = ["BLOCKS", "CodecDesign"]

BLOCKS = ("compressor", "decompressor")


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
        form = dataclasses.replace(self.config.format, values=tuple(values))
        return dataclasses.replace(self.config, format=form)

    def __str__(self) -> str:
        form = self.config.format
        table = "run-time table" if self.config.runtime_values else f"{len(form.values)} values"
        code = (
            "zero-value"
            if form.values == (0,) and form.code_bits == 1 and not self.config.runtime_values
            else table
        )
        start = ", pipelined" if self.config.pipelined else ""
        start += "" if self.init else ", no initial values"
        return (
            f"{self.block} {self.config.lanes}x{form.word_bits}, window {form.window}, "
            f"{form.code_bits}-bit codes, {code}{start}"
        )

    def to_json(self) -> str:
        """The design as JSON text."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> CodecDesign:
        """The design that :meth:`to_json` wrote."""
        fields = json.loads(text)
        config = fields["config"]
        form = Format(**{**config["format"], "values": tuple(config["format"]["values"])})
        return cls(fields["block"], CodecConfig(**{**config, "format": form}), fields["init"])


@lru_cache(maxsize=16)
def _verilog(design: CodecDesign) -> str:
    from cdma.hdl.codec.generate import codec_verilog

    return codec_verilog(design.block, design.config, name=design.top, init=design.init)
