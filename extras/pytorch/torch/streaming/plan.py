"""Which units are needed next, by what was needed after the last two. A unit that waits on the host, in one block of
memory, and whose weights are made of it. Which units stay on the device, by how many bytes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.torch.memory import layout_of

from .away import bring, send, without_elements
from .codecs import Chosen, Codec, chosen
from .units import Bundle, Unit, bundled


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


@dataclass(frozen=True)
class Measured(Bundle):
    """What a unit takes where it is held."""

    unit: Unit


def measured(unit: Unit, codec: Codec, device: torch.device, format: Format | None, *, raw: bool) -> Measured:
    """Chooses how each weight of a unit is held; nothing is moved yet."""
    choices = [
        Chosen(None, flat.nbytes) if raw else chosen(codec, flat.to(device), format)
        for flat in map(_elements, unit.weights)
    ]
    made = bundled(unit.weights, choices, codec)
    return Measured(made.pieces, made.raw, made.held, made.expanded, made.scratch, unit)


class Cold:
    """A unit on the host.

    ``block``: Its memory there.
    ``running``: The modules in whose calls it is needed now.
    """

    def __init__(
        self, measured: Measured, codec: Codec, device: torch.device, memory: Callable[[int], Tensor]
    ) -> None:
        self.measured = measured
        self.running: list[nn.Module] = []
        self.block = memory(measured.held)
        # One after the other, so that the device has no more than one of them.
        flats = (_elements(weight).to(device) for weight in measured.unit.weights)
        measured.pack(flats, codec, self.block)
        self._nothing = [without_elements(weight, device) for weight in measured.unit.weights]

    @property
    def is_packed(self) -> bool:
        """Whether its elements must be made of the block."""
        return self.measured.is_packed

    def expand(self, codec: Codec, block: Tensor, target: Tensor) -> None:
        """Makes the elements of all weights of a block that has arrived."""
        self.measured.expand(codec, block, target)

    def check(self, codec: Codec, block: Tensor) -> None:
        """Raises :class:`.CorruptStream` if a stream of a block on the device is not whole."""
        self.measured.check(codec, block)

    def show(self, memory: Tensor) -> None:
        """Lets the weights have their elements in memory of the device."""
        for weight, tensor in zip(self.measured.unit.weights, self.measured.tensors(memory), strict=True):
            bring(weight, tensor)

    def hide(self) -> None:
        """Leaves the weights without elements: who reads one gets an error."""
        for weight, nothing in zip(self.measured.unit.weights, self._nothing, strict=True):
            send(weight, nothing)


def _elements(weight: Tensor) -> Tensor:
    """The elements of a weight, in one dimension."""
    return layout_of(weight.detach())[0]()


@dataclass(frozen=True)
class Plan:
    """What stays (``hot``) and what waits on the host (``cold``), and the memory through which the latter comes.

    ``slot``: Bytes of each of ``slots`` places for blocks that have arrived or are on their way.
    ``expanded``, ``scratch``: Bytes for the elements of one unit, and for making them.
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

    ``always``: Bytes of the device that something takes whatever is planned.

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
