"""What a test of a block with streams has done, so that nothing can pass by doing nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Tally"]


@dataclass
class Tally:
    """The packets and words that came out as they must, comparisons, clock cycles, and what a test notes beside."""

    packets: int = 0
    words: int = 0
    checks: int = 0
    cycles: int = 0
    notes: dict[str, Any] = field(default_factory=dict)
