"""A block that is generated: its package, and what is said of it."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cdma._version import __version__
from cdma.hdl.deliver.block import Block
from cdma.hdl.deliver.designs import block_design, block_ports
from cdma.hdl.spec.registers.description import RegisterMap

from .measured import measured

__all__ = ["Made"]

#: Clock periods in ns that the constraints say where the user does not: of standard cells, and of FPGAs.
_PERIOD, _PIPELINED_PERIOD = 1.0, 8.0


@dataclass(frozen=True)
class Made(ABC):
    """What ``cdma generate`` makes of its arguments, which name the block."""

    arguments: argparse.Namespace
    config: Any

    #: What the block is, in a few words.
    title = ""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The parameters for a script."""

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """What the block does with them: throughput, latency, ..."""

    @abstractmethod
    def rows(self) -> dict[str, str]:
        """What is printed about the block, by its label."""

    @property
    @abstractmethod
    def bytes_per_cycle(self) -> float:
        """Of raw data."""

    def missing(self) -> str:
        """What is not written because something is not installed; empty if nothing is."""
        return ""

    @property
    def pipelined(self) -> bool:
        """Whether it is made for an FPGA."""
        return False

    def waste(self) -> tuple[str, ...]:
        """What of it cannot be used, to warn of."""
        return ()

    def registers(self) -> RegisterMap | None:
        """The registers behind its AXI4-Lite port."""
        return None

    def texts(self) -> dict[str, str]:
        """The texts about the registers, and the driver, by file name."""
        return {}

    @cached_property
    def block(self) -> Block:
        """All that goes into the package."""
        asked = self.arguments
        wishes = {"name": asked.name, "prefix": asked.prefix, "init": asked.init, "memories": asked.memories}
        design = block_design(asked.block, self.config, **wishes)
        period = asked.period
        if period is None:
            period = _PIPELINED_PERIOD if self.pipelined else _PERIOD
        return Block(
            asked.name,
            self.title,
            __version__,
            block_ports(asked.block, self.config),
            design,
            {**self.config.describe(), "initial values": "yes" if asked.init else "no"},
            self.facts(),
            period,
            self.registers(),
            self.texts(),
            measured(asked.area, asked.block, self.config.settings()) if asked.area is not None else {},
        )
