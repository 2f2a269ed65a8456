"""The blocks that can be measured, as Verilog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdma.hdl.deliver.designs import Config, block_design

__all__ = ["Circuit", "Config", "circuit_of"]


@dataclass(frozen=True)
class Circuit:
    """What is measured: Verilog without initial values, its top module, and its name and parameters for a report."""

    block: str
    config: dict[str, Any]
    top: str
    verilog: str


def circuit_of(block: str, config: Config) -> Circuit:
    """A block without initial values, as for an ASIC."""
    top = f"cdma_{block}"
    return Circuit(block, config.settings(), top, block_design(block, config, name=top, init=False).text)
