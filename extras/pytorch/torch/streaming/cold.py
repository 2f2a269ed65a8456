"""A unit that waits on the host, in one block of memory, and whose weights are made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cdma.hdl.spec.format import Format
from cdma.torch.memory import layout_of

from .bundle import Bundle, bundled
from .codecs import Chosen, Codec, chosen
from .units import Unit

__all__ = ["Cold", "Measured", "measured"]


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

    ``block``
        Its memory there.
    ``running``
        The modules in whose calls it is needed now.
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
            weight.data = tensor

    def hide(self) -> None:
        """Leaves the weights without elements: who reads one gets an error of its shape."""
        for weight in self.measured.unit.weights:
            weight.data = weight.data.new_empty(0)


def _elements(weight: Tensor) -> Tensor:
    """The elements of a weight, in one dimension."""
    return layout_of(weight.detach())[0]()
