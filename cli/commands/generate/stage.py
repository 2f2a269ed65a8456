"""A quantiser or a dequantiser."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.options import stage_config_from

from .made import Made

__all__ = ["MadeStage"]


@dataclass(frozen=True)
class MadeStage(Made):
    """A block of an error-bounded stage of ``config``."""

    config: StageConfig

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> MadeStage:
        """The block that the arguments ask for."""
        return cls(arguments, stage_config_from(arguments))

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"error-bounded {self.arguments.block}"

    @property
    def bytes_per_cycle(self) -> float:
        return self.config.number_bytes

    def parameters(self) -> dict[str, Any]:
        return self.config.settings()

    def facts(self) -> dict[str, str]:
        quantises = self.arguments.block == STAGES[0]
        return {
            "numbers": f"{self.bytes_per_cycle:g} bytes per cycle",
            "latency": "2 cycles" if quantises else "1 cycle",
            "packets": "one cycle more for each" if quantises else "back to back",
            "error": "at most half a step, or reported" if quantises else "none",
        }

    def rows(self) -> dict[str, str]:
        form = self.config.form
        steps = f"2^{form.least_exponent} to 2^{form.greatest_exponent}"
        return {
            "numbers": f"{form.number}, {self.config.lanes} per beat: {self.bytes_per_cycle:g} bytes per cycle",
            "integers": f"{form.bits} bits, {-form.limit} to {form.limit}, in steps of {steps}",
            "zero": "made of zero alone" if form.keep_nonzero else "",
        }
