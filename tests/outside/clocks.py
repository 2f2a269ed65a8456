"""The clocks and resets of an engine, by its ports: of several each has its period, phase and jitter at random."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer

_PERIOD_NS = 10
#: Of several clocks, in ps.
_SHORTEST, _LONGEST = 3000, 24000
#: The part of half a period that jitter takes or adds.
_JITTER = 0.2
#: Edges of the slowest clock in which a change is known on the other side of a crossing.
_ACROSS = 8


class Clocks:
    """All clocks run, and everything is in reset.

    ``slowest``
        Is the pin of the slowest one.
    ``across``
        Is the number of its cycles after which what one part has done is seen at every other.
    """

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut = dut
        names = [name for name in ("aclk", "dev_aclk", "host_aclk", "s_axil_aclk") if hasattr(dut, name)]
        self.resets = [self._reset_of(name) for name in names]
        for reset in self.resets:
            reset.value = 0
        self.across = 0
        self.slowest = getattr(dut, names[0])
        if len(names) == 1:
            cocotb.start_soon(Clock(self.slowest, _PERIOD_NS, unit="ns").start())
            return
        self.across = _ACROSS
        periods = {name: rng.randint(_SHORTEST, _LONGEST) for name in names}
        self.slowest = getattr(dut, max(periods, key=lambda name: periods[name]))
        for name, period in periods.items():
            cocotb.start_soon(_run(getattr(dut, name), period // 2, random.Random(rng.random())))

    def of(self, part: str) -> tuple[Any, Any]:
        """The clock and the reset of ``dev``, ``host`` or ``s_axil``."""
        own = f"{part}_aclk"
        name = own if hasattr(self.dut, own) else "aclk"
        return getattr(self.dut, name), self._reset_of(name)

    async def start(self) -> None:
        """Ends the reset of all parts, of each at a moment of its own."""
        await ClockCycles(self.slowest, 5)
        for reset in self.resets:
            reset.value = 1
            await Timer(_PERIOD_NS, "ns")
        await ClockCycles(self.slowest, 2 + self.across)

    def _reset_of(self, clock: str) -> Any:
        return getattr(self.dut, clock.replace("aclk", "aresetn"))


async def _run(pin: Any, half: int, rng: random.Random) -> None:
    level = 0
    while True:
        pin.value = level
        await Timer(half + rng.randint(-int(half * _JITTER), int(half * _JITTER)), "ps")
        level ^= 1
