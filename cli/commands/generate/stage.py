"""The characteristics of a quantiser or a dequantiser."""

from __future__ import annotations

from cdma.hdl.spec.stage import STAGES, StageConfig

from .characteristics import Characteristics

__all__ = ["stage_characteristics"]


def stage_characteristics(block: str, config: StageConfig) -> Characteristics:
    """Those of the stage ``block``."""
    form, rate = config.form, f"{config.number_bytes} bytes per cycle"
    quantises = block == STAGES[0]
    facts = {
        "numbers": rate,
        "latency": "2 cycles" if quantises else "1 cycle",
        "packets": "one cycle more for each" if quantises else "back to back",
        "error": "at most half a step, or reported" if quantises else "none",
    }
    steps = f"2^{form.least_exponent} to 2^{form.greatest_exponent}"
    rows = {
        "numbers": f"{form.number}, {config.lanes} per beat: {rate}",
        "integers": f"{form.bits} bits, {-form.limit} to {form.limit}, in steps of {steps}",
        "zero": "made of zero alone" if form.keep_nonzero else "",
    }
    return Characteristics(f"error-bounded {block}", config.number_bytes, config.settings(), facts, rows)
