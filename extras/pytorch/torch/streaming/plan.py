"""Which units stay on the device, by how many bytes there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cdma.base.errors import ParameterError

from .cold import Measured

__all__ = ["Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """What stays (``hot``) and what waits on the host (``cold``), and the memory through which the latter comes.

    ``slot``
        Bytes of each of ``slots`` places for blocks that have arrived or are on their way.
    ``expanded``, ``scratch``
        Bytes for the elements of one unit, and for making them.
    """

    hot: tuple[Measured, ...]
    cold: tuple[Measured, ...]
    slots: int
    slot: int
    expanded: int
    scratch: int

    @property
    def nbytes(self) -> int:
        """Bytes of the device: weights that stay, and memory for those that come."""
        return sum(unit.raw for unit in self.hot) + self.slots * self.slot + self.expanded + self.scratch


def plan(units: Sequence[Measured], always: int, device_bytes: int, slots: int) -> Plan:
    """The plan with the most weights on the device.

    ``always``
        Bytes of the device that something takes whatever is planned.

    What is large must stay if there is no room to bring it. Beside that, what is used in several places stays first, then
    what is no block, and then blocks with even distances, so that copies have time between them.
    """
    by_size = sorted(units, key=lambda unit: -unit.raw)
    least = min(
        (_with(units, set(map(id, by_size[:count])), slots) for count in range(len(units) + 1)),
        key=lambda made: made.nbytes,
    )
    room = device_bytes - always
    made = next(
        (
            each
            for count in range(len(units) + 1)
            if (each := _with(units, set(map(id, by_size[:count])), slots)).nbytes <= room
        ),
        None,
    )
    if made is None:
        largest = max(least.cold or units, key=lambda unit: unit.raw)
        raise ParameterError(
            f"device_bytes is {device_bytes:,}; {least.nbytes + always:,} are needed, for the largest unit that comes, "
            f"{largest.unit.name} with {largest.raw:,} bytes, must have room {slots} times: once while it computes, and "
            f"for {slots - 1} ahead on their way"
        )
    for unit in _by_preference(units):
        more = _with(units, {id(unit), *map(id, made.hot)}, slots)
        if more.nbytes <= room:
            made = more
    return made


def _with(units: Sequence[Measured], hot: set[int], slots: int) -> Plan:
    cold = tuple(unit for unit in units if id(unit) not in hot)
    return Plan(
        tuple(unit for unit in units if id(unit) in hot),
        cold,
        slots if cold else 0,
        max((unit.held for unit in cold), default=0),
        max((unit.expanded for unit in cold), default=0),
        max((unit.scratch for unit in cold), default=0),
    )


def _by_preference(units: Sequence[Measured]) -> list[Measured]:
    tied = [unit for unit in units if len(unit.unit.modules) > 1]
    single = [unit for unit in units if len(unit.unit.modules) == 1 and not unit.unit.repeated]
    blocks = [unit for unit in units if len(unit.unit.modules) == 1 and unit.unit.repeated]
    return tied + single + [blocks[place] for place in _spread(len(blocks))]


def _spread(count: int) -> list[int]:
    """The numbers below ``count``, so that the first few of them have even distances: by their bits from behind."""
    bits = max(1, (count - 1).bit_length())
    turned = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(1 << bits))
    return [number for number in turned if number < count]
