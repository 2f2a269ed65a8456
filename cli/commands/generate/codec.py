"""A compressor or a decompressor."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.codec import CodecConfig
from cdma.options import codec_config_from

from .made import Made

__all__ = ["MadeCodec"]


@dataclass(frozen=True)
class MadeCodec(Made):
    """A codec of ``config``."""

    config: CodecConfig

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> MadeCodec:
        """The codec that the arguments ask for."""
        if arguments.values is not None and arguments.runtime_values:
            # A regression drives the port with the values; Verilog has no use for them.
            raise ParameterError(
                "values and runtime-values are both given; the values are either fixed or come in on a port"
            )
        return cls(arguments, codec_config_from(arguments))

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"streaming {self.arguments.block}"

    @property
    def pipelined(self) -> bool:
        return self.config.pipelined

    @property
    def bytes_per_cycle(self) -> float:
        return self.config.data_bits / 8

    def parameters(self) -> dict[str, Any]:
        form = self.config.format
        rows = {"word_bits": form.word_bits, "lanes": self.config.lanes, **form.settings()}
        if "values" in rows and self.config.runtime_values:
            rows["values"] = None
        return {**rows, "table_size": self.config.table_size, "pipelined": self.config.pipelined}

    def facts(self) -> dict[str, str]:
        from cdma.verif.stream.codec.codec_bench import limits_of

        rate = {"raw data": f"{self.bytes_per_cycle:g} bytes per cycle"}
        if not self.config.work_conserving:
            return {**rate, "cycles of a packet": "exactly those of docs/verification.md, for this queue"}
        limits = limits_of(self.config, self.arguments.block)
        work = f"ceil(sum over its windows of the larger of raw and stream words / {self.config.lanes})"
        return {
            **rate,
            "cycles of a packet": f"first beat in to last beat out, at most {work} + {limits.constant}; "
            "docs/verification.md has the small print",
            "latency": f"first beat in to first beat out of a dense window, at most {limits.latency} cycles",
        }

    def rows(self) -> dict[str, str]:
        form = self.config.format
        values = ", ".join(map(hex, form.values))
        return {
            "words": f"{form.word_bits} bits, {self.config.lanes} per beat: {self.bytes_per_cycle:g} bytes per cycle",
            "window": f"{form.window} words, header of {form.window * form.code_bits} bits",
            "values": f"{self.config.table_size} on the port values"
            if self.config.runtime_values
            else values,
            "clock": "pipelined" if self.config.pipelined else "not pipelined",
        }
