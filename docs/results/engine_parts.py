"""The parts of an engine, from the breakdown of its area by block."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

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
#: The same of what is between several clocks; what is of no crossing fits none of these.
CROSSINGS = {
    "FIFO of W": r"host_crossing\.w\b",
    "FIFO of R": r"host_crossing\.r\b",
    "FIFOs of AW, AR and B": r"host_crossing\.(aw|ar|b)\b",
    "what is answered or finished after a reset of the other side": r"host_crossing\.(answering|finishing)",
    "the handshake of resets": r"host_crossing",
    "accesses to registers, and the interrupt": r"register_crossing|irq_synchroniser",
}


def parts_of(breakdown: Sequence[Mapping[str, Any]], parts: Mapping[str, str] = PARTS) -> dict[str, float]:
    """kGE of each part."""
    found = dict.fromkeys(parts, 0.0)
    for row in breakdown:
        for part in [part for part, pattern in parts.items() if re.search(pattern, row["block"])][:1]:
            found[part] += row["kge"]
    return found
