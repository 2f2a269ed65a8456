"""The performance contract, as numbers that tests compare with; ``docs/verification.md`` explains them."""

from __future__ import annotations

from ..hdl.params import CodecConfig

__all__ = ["BACK_TO_BACK", "constant", "latency_limit"]

#: Cycles that a packet may cost on top of its own bound when it follows another without a gap.
BACK_TO_BACK = 1


def constant(config: CodecConfig) -> int:
    """Cycles on top of the sum over windows: a compressor cannot send a header before its window is in."""
    return max(8, config.beats + 4)


def latency_limit(config: CodecConfig, block: str) -> int:
    """Cycles from the first beat in to the first beat out of a dense window."""
    if block == "compressor":
        # A window's beats, or the stages that many lanes need for their levels of the butterfly.
        return max(6, config.beats + 2)
    header_beats = -(-config.format.header_words // config.lanes)
    return 3 + header_beats
