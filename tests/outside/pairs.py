"""A queue pair as its software sees it, which has a page of registers and memory of its own."""

from __future__ import annotations

import copy

from .bench import CHANNELS, Bench
from .driver import Channel

_PAGE = 0x1000
#: Bytes of each memory that a pair has.
_OWN = 1 << 24


class Pair:
    """A pair, whose windows are its own and locked.

    ``bench``
        The bench as far as it is this pair's: its driver, its rings, where its transfers lie.
    """

    def __init__(self, whole: Bench, number: int) -> None:
        self.whole, self.number = whole, number
        self.bench = bench = copy.copy(whole)
        bench.driver = self.driver = whole.driver.of_page(number * _PAGE)
        first = {port: (top // 2 & -_OWN) + number * _OWN for port, top in whole.top.items()}
        self.own = {port: range(at, at + _OWN) for port, at in first.items()}
        bench.tables = {name: list(table) for name, table in whole.first_tables.items()}
        bench.next = {port: at + _OWN // 2 for port, at in first.items()}
        bench.channels = {
            name: Channel(
                self.driver, whole.memory["host"], name, first["host"] + 0x2000 * index, 3, whole.index_log2
            )
            for index, name in enumerate(CHANNELS)
        }

    async def start(self) -> None:
        """Opens and locks its windows, and gives its rings to the engine."""
        for port, own in self.own.items():
            await self.driver.write64(f"{port}_window.base", own.start)
            await self.driver.write64(f"{port}_window.limit", own.stop - 1)
            await self.driver.write(f"{port}_window.lock", locked=1)
        for name in CHANNELS:
            await self.bench.channels[name].start()

    def finish(self) -> None:
        """Adds what it has done to what the bench has done, and raises what that objected to."""
        for name in ("transfers", "words", "checks"):
            setattr(self.whole, name, getattr(self.whole, name) + getattr(self.bench, name))
        self.whole.finish()

    @property
    def interrupts(self) -> bool:
        """Whether its line is high."""
        return bool(int(self.whole.dut.irq.value) >> self.number & 1)


async def pairs_of(bench: Bench) -> list[Pair]:
    """All pairs of the engine."""
    more = bench.fields["more_pairs"] + 8 * bench.fields.get("pairs_beyond", 0)
    return [Pair(bench, number) for number in range(1 + more)]
