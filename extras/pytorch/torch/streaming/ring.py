"""Places on the device where blocks arrive, which are used again once their last reader has passed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from cdma.torch.swapping.link import Copy

from .cold import Cold
from .lanes import Lane, Passed

__all__ = ["Place", "Ring"]


class Place:
    """Memory of the device for one unit.

    ``unit``
        What is in it, or on its way to it by ``copy``.
    ``busy``
        Whether what is computed may still be about to read it.
    ``read``
        The last that was computed of it; what writes comes behind.
    """

    def __init__(self, size: int, device: torch.device, lane: Lane) -> None:
        self.memory = torch.empty(size, dtype=torch.uint8, device=device)
        self.unit: Cold | None = None
        self.copy: Copy | None = None
        self.busy = False
        self.read: Passed = lane.now()

    def give_back(self, lane: Lane) -> None:
        """Nothing that is computed from now on reads it."""
        self.busy = False
        self.read = lane.now()

    def forget(self, lane: Lane) -> None:
        """What is in it is not what was to come."""
        self.unit = None
        self.give_back(lane)


class Ring:
    """So many places, all of one size."""

    def __init__(self, lane: Lane, device: torch.device, places: int, size: int) -> None:
        self._lane, self._device, self._size = lane, device, size
        self._places = [Place(size, device, lane) for _ in range(places)]
        self.fetches = self.moved = self.late = self.beyond = 0

    @property
    def places(self) -> int:
        """How many units may be there or on their way."""
        return len(self._places)

    def fetch(self, wanted: Sequence[Cold]) -> None:
        """Has units come in this order, as far as there is room beside what is wanted before them."""
        for unit in wanted:
            if self._place_of(unit) is None:
                place = self._spare(wanted)
                if place is None:
                    return
                self._begin(place, unit)

    def take(self, unit: Cold, wanted: Sequence[Cold]) -> Place:
        """The place of a unit, which may be on its way still; it stays until it is given back.

        A unit that nobody has had come takes a place of one that is not ``wanted`` next, or else of another.
        """
        place = self._place_of(unit)
        if place is None:
            self.late += 1
            place = self._spare(wanted) or self._spare(())
            if place is None:
                self.beyond += 1
                place = Place(self._size, self._device, self._lane)
            self._begin(place, unit)
        place.busy = True
        return place

    def forget(self) -> None:
        """Has everything come anew that is not in use."""
        for place in self._places:
            if not place.busy:
                place.forget(self._lane)

    def synchronize(self) -> None:
        """Returns when nothing is on its way."""
        for place in self._places:
            if place.copy is not None:
                place.copy.synchronize()

    def _place_of(self, unit: Cold) -> Place | None:
        return next((place for place in self._places if place.unit is unit), None)

    def _spare(self, wanted: Sequence[Cold]) -> Place | None:
        """A place that is not busy and has nothing that is wanted."""
        free = (place for place in self._places if not place.busy and place.unit not in wanted)
        return next(free, None)

    def _begin(self, place: Place, unit: Cold) -> None:
        target = place.memory[: unit.block.numel()]
        place.unit = unit
        place.copy = self._lane.fetch(unit.block, target, place.read)
        self.fetches += 1
        self.moved += unit.block.numel()
