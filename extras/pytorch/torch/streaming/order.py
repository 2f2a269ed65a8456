"""Which units are needed next, by what was needed after the last two."""

from __future__ import annotations

from collections.abc import Sequence

from .cold import Cold

__all__ = ["Order"]


class Order:
    """What came after each pair of units the last time; before that, the order in which the model has them."""

    def __init__(self, units: Sequence[Cold]) -> None:
        self._usual = {id(unit): units[(place + 1) % len(units)] for place, unit in enumerate(units)}
        self._after: dict[tuple[int, int], Cold] = {}
        self._last, self._current = units[-1], units[-1]

    def needed(self, unit: Cold) -> None:
        """A unit is needed now."""
        self._after[id(self._last), id(self._current)] = unit
        self._last, self._current = self._current, unit

    def following(self, count: int) -> list[Cold]:
        """So many different units that are needed next, or fewer."""
        found: list[Cold] = []
        last, current = self._last, self._current
        for _ in range(4 * count):
            following = self._after.get((id(last), id(current)), self._usual[id(current)])
            last, current = current, following
            if following not in found:
                found.append(following)
            if len(found) == count:
                break
        return found
