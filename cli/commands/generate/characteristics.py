"""What is said of a block beside its Verilog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Characteristics"]


@dataclass(frozen=True)
class Characteristics:
    """A block in words and numbers.

    ``title``
        What it is, in a few words.
    ``bytes_per_cycle``
        Its rate of raw data.
    ``parameters``
        Its parameters, for a script.
    ``facts``
        Throughput, latency and the like, for the datasheet.
    ``rows``
        What is printed about it, by label; empty ones are left out.
    """

    title: str
    bytes_per_cycle: float
    parameters: Mapping[str, Any]
    facts: Mapping[str, str]
    rows: Mapping[str, str]
