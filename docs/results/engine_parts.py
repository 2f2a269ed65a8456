"""The parts of an engine, from the breakdown of its area by block."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["CODECS", "PARTS", "parts_of"]

CODECS = "codecs, their switches, width adapters"
#: What the path of a block ends with or has in it, by part; the first that fits counts.
PARTS = {
    CODECS: r"path\.(switch|checksum|reports|.*width)",
    "readers": r"path\.reader",
    "writers": r"path\.writer",
    "checks of descriptors": r"checker_|windows",
    "descriptors in flight": r"slots",
    "completions": r"completer",
    "rings": r"(^|\.)rings",
    "registers": r"registers",
    "counters": r"counters",
    "arbiters of the host port": r"host_(reads|writes)",
    "time and watchdogs": r"timebase|watchdog",
    "the rest": r"",
}


def parts_of(breakdown: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """kGE of each part."""
    found = dict.fromkeys(PARTS, 0.0)
    for row in breakdown:
        found[next(part for part, pattern in PARTS.items() if re.search(pattern, row["block"]))] += row["kge"]
    return found
