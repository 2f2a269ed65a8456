"""Whose turn it is, of several queue pairs: the specification of what hardware chooses. An engine with several queue
pairs as software sees it: to each pair's software an engine of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAIR_SPAN_LOG2, TURN_LOG2, USUAL_PROT

from .memory import BusError, Memory
from .model import EngineModel

__all__ = ["PairsModel", "ShareModel"]

#: Turns that are given at once to those who are deep in debt.
_OFTEN = 256


class ShareModel:
    """One direction, with ``weights`` and ``levels`` that may change at any time."""

    def __init__(self, weights: Sequence[int], levels: Sequence[int], step_log2: int = TURN_LOG2) -> None:
        self.weights, self.levels, self.step_log2 = list(weights), list(levels), step_log2
        self.balances = [0] * len(self.weights)
        self._last = -1

    def look(self, asks: Sequence[bool]) -> int | None:
        """Chooses one that asks, or fills the accounts of the highest level that does; None then, or if none asks."""
        if not any(asks):
            return None
        highest = max(level for level, asking in zip(self.levels, asks, strict=True) if asking)
        mates = [number for number, level in enumerate(self.levels) if level == highest]
        able = [number for number in mates if asks[number] and self.balances[number] > 0]
        if not able:
            turns = {number: max(1, self.weights[number]) << self.step_log2 for number in mates}
            deep = {number: self.balances[number] + _OFTEN * turn <= 0 for number, turn in turns.items()}
            often = all(deep[number] for number in mates if asks[number])
            for number, turn in turns.items():
                if often:
                    self.balances[number] = self.balances[number] + _OFTEN * turn if deep[number] else turn
                else:
                    self.balances[number] = min(self.balances[number], 0) + turn
            return None
        self._last = next((number for number in able if number > self._last), able[0])
        return self._last

    def charge(self, number: int, units: int) -> None:
        """Notes that the one that was chosen moves so many units."""
        self.balances[number] -= units


class PairsModel:
    """An engine built from ``config``, between the memories ``dev`` and ``host``. Each pair's registers are in a page of its
    own. Which pair goes next is seen in time alone, which the model does not have; :class:`.ShareModel` says it."""

    def __init__(self, config: EngineConfig, dev: Memory, host: Memory) -> None:
        self.pairs = [EngineModel(config.of_pair(number), dev, host) for number in range(config.channels)]

    @property
    def irqs(self) -> list[bool]:
        """The interrupt line of each pair."""
        return [pair.irq for pair in self.pairs]

    def _pair(self, address: int) -> EngineModel:
        number = address >> PAIR_SPAN_LOG2
        if number >= len(self.pairs):
            raise BusError("SLVERR", address)
        return self.pairs[number]

    def read32(self, address: int, prot: int = USUAL_PROT) -> int:
        """Reads a register; raises :class:`BusError` if there is none at ``address``."""
        return self._pair(address).read32(address % (1 << PAIR_SPAN_LOG2), prot)

    def write32(self, address: int, value: int, prot: int = USUAL_PROT) -> None:
        """Writes a register; raises :class:`BusError` as :meth:`read32` does."""
        self._pair(address).write32(address % (1 << PAIR_SPAN_LOG2), value, prot)

    def step(self) -> bool:
        """Lets each channel of each pair carry out one descriptor or deliver one completion; returns whether any did."""
        done = [pair.step() for pair in self.pairs]
        return any(done)

    def run(self) -> None:
        """Steps until no channel has anything to do."""
        while self.step():
            pass
