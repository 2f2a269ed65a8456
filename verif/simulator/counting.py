"""How a bench tells a netlist that counts what its nets do when to count."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

__all__ = ["COUNTING", "REST_CYCLES", "counting"]

#: The port that says when to count; when it falls, what was counted is written.
COUNTING = "counting"
#: How long a block is counted at rest.
REST_CYCLES = 512


@asynccontextmanager
async def counting(dut: Any) -> AsyncIterator[None]:
    """Counts what happens meanwhile."""
    from cocotb.triggers import ClockCycles  # the names above are of use where no simulator is installed

    dut.counting.value = 1
    yield
    dut.counting.value = 0
    await ClockCycles(dut.aclk, 3)
