"""Which units of a model are needed next, by what was needed after the last two, and which of them stay on the device, by
how many bytes there are. Weights that are away have their shape, type and device; reading one is an error that says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from cdma.base.errors import ParameterError

from .depot import Depot, Held
from .units import Unit, bundled

#: Methods that read no element, and attributes that are views of them.
_METHODS = frozenset(
    (
        *("size", "dim", "ndimension", "numel", "nelement", "element_size", "stride", "type", "data_ptr"),
        *("get_device", "is_contiguous", "is_floating_point", "is_complex", "is_signed", "untyped_storage"),
    )
)
_VIEWS = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))


class Away(nn.Parameter):
    """What a parameter is while it is away."""

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        name = function.__name__
        attribute = getattr(getattr(function, "__self__", None), "__name__", "")
        if name in _METHODS or (name == "__get__" and attribute not in _VIEWS):
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **(kwargs or {}))
        raise ParameterError(
            f"{attribute or name} reads a weight that is away: while a model is streamed, weights are there in calls of "
            "their modules alone"
        )


def without_elements(weight: Tensor, device: torch.device) -> Tensor:
    """Of the shape and type of a weight, in the memory of one element."""
    nothing = math.nan if weight.is_floating_point() or weight.is_complex() else 0
    return torch.full((), nothing, dtype=weight.dtype, device=device).expand(weight.shape)


def send(weight: nn.Parameter, nothing: Tensor) -> None:
    """Has a weight be away."""
    bring(weight, nothing)
    weight.__class__ = Away


def bring(weight: nn.Parameter, elements: Tensor) -> None:
    """Has a weight have elements."""
    weight.__class__ = nn.Parameter
    weight.data = elements


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


class Cold:
    """A unit, and what it takes where it is held; nothing is moved before :meth:`send`.

    ``running``: The modules in whose calls it is needed now.
    """

    held: Held

    def __init__(self, unit: Unit, depot: Depot) -> None:
        self.unit, self.running = unit, list[nn.Module]()
        self._expected = depot.expected(unit.weights)
        self.bundle = bundled(unit.weights, self._expected, depot.codec, exact=True)

    def send(self, depot: Depot) -> None:
        """Brings the unit to the host."""
        self.held = depot.put(self.unit.weights, expected=self._expected)
        self._nothing = [without_elements(weight, depot.device) for weight in self.unit.weights]
        self.hide()

    def show(self, tensors: Sequence[Tensor]) -> None:
        """Lets the weights have their elements."""
        for weight, tensor in zip(self.unit.weights, tensors, strict=True):
            bring(weight, tensor)

    def hide(self) -> None:
        """Leaves the weights without elements: who reads one gets an error."""
        for weight, nothing in zip(self.unit.weights, self._nothing, strict=True):
            send(weight, nothing)


@dataclass(frozen=True)
class Plan:
    """What stays (``hot``) and what waits on the host (``cold``), and the memory through which the latter comes.

    ``slot``: Bytes of each of ``slots`` places for blocks that have arrived or are on their way.
    ``expanded``, ``scratch``: Bytes for the elements of one unit, and for making them.
    """

    hot: tuple[Cold, ...]
    cold: tuple[Cold, ...]
    slots: int
    slot: int
    expanded: int
    scratch: int

    @property
    def nbytes(self) -> int:
        """Bytes of the device: weights that stay, and memory for those that come."""
        return (
            sum(unit.bundle.raw for unit in self.hot) + self.slots * self.slot + self.expanded + self.scratch
        )


def plan(units: Sequence[Cold], always: int, device_bytes: int, slots: int) -> Plan:
    """The plan with the most weights on the device.

    ``always``: Bytes of the device that something takes whatever is planned.

    What is large must stay if there is no room to bring it. Beside that, what is used in several places stays first, then
    what is no block, and then blocks with even distances, so that copies have time between them.
    """
    by_size = sorted(units, key=lambda unit: -unit.bundle.raw)
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
        largest = max(least.cold or units, key=lambda unit: unit.bundle.raw)
        raise ParameterError(
            f"device_bytes is {device_bytes:,}; {least.nbytes + always:,} are needed, for the largest unit that comes, "
            f"{largest.unit.name} with {largest.bundle.raw:,} bytes, must have room {slots} times: once while it computes, "
            f"and for {slots - 1} ahead on their way"
        )
    for unit in _by_preference(units):
        more = _with(units, {id(unit), *map(id, made.hot)}, slots)
        if more.nbytes <= room:
            made = more
    return made


def _with(units: Sequence[Cold], hot: set[int], slots: int) -> Plan:
    cold = tuple(unit for unit in units if id(unit) not in hot)
    return Plan(
        tuple(unit for unit in units if id(unit) in hot),
        cold,
        slots if cold else 0,
        max((unit.bundle.held for unit in cold), default=0),
        max((unit.bundle.expanded for unit in cold), default=0),
        max((unit.bundle.scratch for unit in cold), default=0),
    )


def _by_preference(units: Sequence[Cold]) -> list[Cold]:
    tied = [unit for unit in units if len(unit.unit.modules) > 1]
    single = [unit for unit in units if len(unit.unit.modules) == 1 and not unit.unit.repeated]
    blocks = [unit for unit in units if len(unit.unit.modules) == 1 and unit.unit.repeated]
    return tied + single + [blocks[place] for place in _spread(len(blocks))]


def _spread(count: int) -> list[int]:
    """The numbers below ``count``, so that the first few of them have even distances: by their bits from behind."""
    bits = max(1, (count - 1).bit_length())
    turned = (int(f"{number:0{bits}b}"[::-1], 2) for number in range(1 << bits))
    return [number for number in turned if number < count]
