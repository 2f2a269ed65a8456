"""One of several queue pairs, on the bench of the engine."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, cast

from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.spec.shares import PAIR_SPAN_LOG2

from .bench import CHANNELS
from .register_bus import RegisterBus, Response
from .ring import Ring, RingBench

__all__ = ["Pair", "pairs_of"]

#: Where the rings of all pairs but the first lie, and how far apart.
_RINGS, _STEP = 0xA000, 0x200
_LOG2 = 3


class _Page:
    """The registers of a pair at the register port."""

    def __init__(self, bus: RegisterBus, base: int) -> None:
        self.bus, self.base = bus, base

    async def read(self, address: int) -> Response:
        return await self.bus.read(self.base + address)

    async def write(self, address: int, data: bytes) -> Response:
        return await self.bus.write(self.base + address, data)


class Pair(RingBench):
    """The bench, as the software of one pair sees it. What is not its own is that of the ``bench``."""

    def __init__(self, bench: RingBench, number: int) -> None:
        self.__dict__["bench"] = bench
        self.number = number
        self.registers = register_map(bench.config.of_pair(number))
        self.bus = cast(RegisterBus, _Page(bench.bus, number << PAIR_SPAN_LOG2))
        self.tag = number << 28
        self.checks = self.transfers = self.words = 0
        self.tables = dict(bench.tables)
        self.spaces = dict(bench.spaces)
        self.owners = bench.owners and bench.owners.of_pair(number)
        self.rings = {name: Ring(self, name, _LOG2) for name in CHANNELS}
        self.channels = self.rings
        places = iter(range(_RINGS + 4 * _STEP * (number - 1), 0x10000, _STEP))
        for ring in self.rings.values() if number else ():
            ring.base, ring.completions = next(places), next(places)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bench, name)

    @property
    def cycles(self) -> int:
        return self.bench.cycles

    @property
    def interrupts(self) -> bool:
        """Whether its interrupt is asserted."""
        return bool(int(self.bench.dut.irq.value) >> self.number & 1)

    def pauses(self, share: float | None = None) -> None:
        self.bench.pauses(share)

    async def blame(self, job: Awaitable[None]) -> None:
        await self.bench.blame(job)

    def account(self) -> None:
        """Adds what it has done to what the bench has done."""
        for name in ("checks", "transfers", "words"):
            setattr(self.bench, name, getattr(self.bench, name) + getattr(self, name))


async def pairs_of(bench: RingBench) -> list[Pair]:
    """All pairs, with open windows, and descriptors of everybody."""
    pairs = [Pair(bench, number) for number in range(bench.config.channels)]
    for pair in pairs:
        await pair.open_windows()
        await pair.set_owners()
    return pairs
