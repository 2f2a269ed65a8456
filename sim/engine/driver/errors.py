"""What a driver refuses, and what an engine reports."""

from __future__ import annotations

from dataclasses import dataclass

from cdma.base.errors import CdmaError
from cdma.hdl.spec.records import Status

__all__ = ["DriverError", "EngineError"]


class DriverError(CdmaError):
    """A request that this engine, or its present state, does not allow."""


@dataclass(frozen=True)
class EngineError:
    """The first error since the error registers were cleared."""

    status: Status
    tag: int
    address: int
