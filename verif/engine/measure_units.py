"""How busy engines with several units keep the link, against density: cases of about the same time, and their bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Mode
from cdma.sim.codec.model import compress_words
from cdma.sim.engine.transfer import DIRECTIONS, TransferRules

from .literals import PATTERNS, literal_words, pattern_density
from .measure import MOST_BYTES

__all__ = ["DENSITIES", "UNITS", "bound_cycles", "unit_cases", "unit_row"]

UNITS = (1, 2, 4, 6, 8)
#: From no literal to nothing else. In between lie those at which the ratio of the default format is 8, 6, 4, 2 and 1, where
#: as many units as that can just fill the link, and one between two of them each.
DENSITIES = (0.0, 0.03125, 0.09375, 0.13542, 0.21875, 0.34375, 0.46875, 0.71875, 0.96875, 1.0)

#: Words whose stream says how long that of a tensor will be.
_SAMPLE_WORDS = 1 << 16


def unit_cases(
    config: EngineConfig,
    densities: Sequence[float] = DENSITIES,
    *,
    directions: Sequence[str] = DIRECTIONS,
    patterns: Sequence[str] = PATTERNS,
    cycles: int = 16384,
    latency: int = 100,
) -> list[dict[str, Any]]:
    """One tensor each, of as many stripes as make the bound about ``cycles``. With one unit its stripes lie nowhere else, so
    there literals are scattered only.
    """
    shares = [
        (pattern, density) for pattern in patterns for density in _densities(config, pattern, densities)
    ]
    return [
        {
            "direction": direction,
            "mode": Mode.ZVC.name.lower(),
            "pattern": pattern,
            "density": density,
            "bytes": _tensor_bytes(config, pattern, density, cycles),
            "descriptors": 1,
            "memory_latency": latency,
        }
        for direction in directions
        for pattern, density in shares
    ]


def _densities(config: EngineConfig, pattern: str, densities: Sequence[float]) -> Sequence[float]:
    if pattern == "scattered":
        return densities
    return [pattern_density(pattern, config.units)] if config.units > 1 else []


def _tensor_bytes(config: EngineConfig, pattern: str, density: float, cycles: int) -> int:
    """Bytes of the tensor: a multiple of two stripes of each unit, because patterns have two halves."""
    bits = config.format.word_bits
    unit = 2 * config.units * config.stripe_bytes
    words = literal_words(_SAMPLE_WORDS, bits, density)
    format = TransferRules(config, "offload").format(Mode.ZVC, ())
    stream = compress_words(words, format).nbytes
    raw = words.nbytes
    size = max(unit, round(cycles * raw / bound_cycles(config, raw, stream) / unit) * unit)
    if size > MOST_BYTES:
        raise ParameterError(
            f"cycles is {cycles}; {config.units} units read {size} bytes in them at density {density:g}, and the bench's "
            f"memory has {MOST_BYTES}"
        )
    return size


def bound_cycles(config: EngineConfig, raw: int, stream: int) -> int:
    """The cycles that the link needs for ``stream`` bytes, or all device ports together for ``raw`` bytes: the more of
    both.
    """
    link = -(-stream * 8 // config.host_data_bits)
    device = -(-raw * 8 // (config.units * config.dev_data_bits))
    return max(link, device)


def unit_row(config: EngineConfig, measured: dict[str, Any]) -> dict[str, Any]:
    """A row of :func:`.measure_engine` with what it says of the link.

    ``bound``
        The least cycles that link and device ports allow.
    ``share``
        ``bound / cycles``.
    ``link_utilisation``
        ``compressed_bytes / link width / cycles``.
    """
    raw, stream, cycles = measured["bytes"], measured["compressed_bytes"], measured["cycles"]
    bound = bound_cycles(config, raw, stream)
    return {
        "units": config.units,
        "stripe_bytes": config.stripe_bytes,
        **{name: measured[name] for name in ("direction", "pattern", "density")},
        "ratio": round(raw / stream, 3),
        **{name: measured[name] for name in ("bytes", "compressed_bytes", "memory_latency", "cycles")},
        "link_utilisation": round(stream * 8 / config.host_data_bits / cycles, 4),
        "bound": bound,
        "share": round(bound / cycles, 4),
    }
