"""Engines with a name: the least that moves tensors, the default, and one with everything that goes together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cdma.base.errors import ParameterError

__all__ = ["PROFILES", "Profile", "profile_named"]


@dataclass(frozen=True)
class Profile:
    """An engine that has a name.

    ``parameters``
        Those of the engine that differ from their defaults.
    ``summary``
        What it is, in a phrase.
    """

    parameters: Mapping[str, Any]
    summary: str


#: Every profile by name, from the smallest on.
PROFILES: dict[str, Profile] = {
    "minimal": Profile(
        {
            "registers": False,
            "descriptors": 2,
            "outstanding": 2,
            "burst_beats": 16,
            "latency": 32,
            "queue": 0,
            "windows": False,
            "times": False,
            "longest_bytes": 1 << 24,
        },
        "descriptors of 16 MiB at most and completions as streams, two bursts in flight, small codecs; no rings, counters, "
        "windows, watchdogs",
    ),
    "default": Profile({}, "rings, registers, counters, interrupt"),
    "full": Profile(
        {"alignment": "word", "crc": True, "sideband_registers": True, "register_slices": "in,out"},
        "the default with addresses of any word, CRC, sideband registers, and register slices at all ports",
    ),
}


def profile_named(name: object) -> Profile:
    """The profile of that name."""
    if not isinstance(name, str) or name not in PROFILES:
        raise ParameterError(f"profile is {name!r}; it must be one of {', '.join(PROFILES)}")
    return PROFILES[name]
