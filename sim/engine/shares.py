"""Whose turn it is, of several queue pairs: the specification of what hardware chooses."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.spec.shares import TURN_LOG2

__all__ = ["ShareModel"]

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
