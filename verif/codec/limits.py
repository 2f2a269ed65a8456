"""The performance contract, as numbers that tests compare with; ``docs/verification.md`` explains them."""

from __future__ import annotations

from cdma.hdl.spec.codec import CodecConfig

__all__ = ["back_to_back", "constant", "latency_limit", "least_window"]


def back_to_back(config: CodecConfig, block: str) -> int:
    """Cycles that a packet may cost on top of its own bound when it follows another without a gap."""
    return 2 if config.pipelined and block == "decompressor" else 1


def least_window(config: CodecConfig, block: str) -> int:
    """Words that a window counts as, however short: a pipelined decompressor takes four cycles for each."""
    return 4 * config.lanes if config.pipelined and block == "decompressor" else 1


def constant(config: CodecConfig, block: str) -> int:
    """Cycles on top of the sum over windows: a compressor cannot send a header before its window is in."""
    if config.pipelined:
        # The stages and the queues. A decompressor, too, waits for a whole window, with its header.
        return config.beats + (11 if block == "compressor" else 18 + _header_beats(config))
    return max(8, config.beats + 4)


def latency_limit(config: CodecConfig, block: str) -> int:
    """Cycles from the first beat in to the first beat out of a dense window."""
    if config.pipelined:
        return constant(config, block) - 1
    if block == "compressor":
        # A window's beats, or the stages that many lanes need for their levels of the butterfly.
        return max(6, config.beats + 2)
    return 3 + _header_beats(config)


def _header_beats(config: CodecConfig) -> int:
    return -(-config.format.header_words // config.lanes)
