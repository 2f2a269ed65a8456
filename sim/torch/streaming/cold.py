"""A unit that waits on the host: one block of memory, which one copy brings, and how its weights are made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cdma.hdl.spec.format import Format

from ..memory import layout_of
from .codecs import Chosen, Codec, Part, chosen
from .units import Unit

__all__ = ["Cold", "Measured", "measured"]

#: What is in a block begins at multiples of so many bytes, as memory of a card does.
_ALIGN = 256


@dataclass(frozen=True)
class Piece:
    """One weight of a unit.

    ``at``
        Where its elements are in memory for those of the unit.
    ``place``, ``beside``
        Where its stream, or its elements, and what stands beside the stream begin in the block.
    """

    weight: nn.Parameter
    dtype: torch.dtype
    size: torch.Size
    stride: tuple[int, ...]
    raw: int
    chosen: Chosen
    at: int
    place: int
    beside: int

    def part(self, block: Tensor) -> Part | None:
        """Its stream in a block; None if its elements are there as they are."""
        if self.chosen.format is None:
            return None
        return Part(
            self.raw * 8 // self.chosen.format.word_bits,
            self.chosen.format,
            block[self.place : self.place + self.chosen.nbytes],
            block[self.beside : self.beside + self.chosen.beside],
        )


@dataclass(frozen=True)
class Measured:
    """What a unit takes where it is held.

    ``held``
        Bytes of the block.
    ``expanded``, ``scratch``
        Bytes of its elements where they must be made of the block, and what the device needs for that; 0 where all weights
        lie in the block as they are.
    """

    unit: Unit
    pieces: tuple[Piece, ...]
    raw: int
    held: int
    expanded: int
    scratch: int


def measured(unit: Unit, codec: Codec, device: torch.device, format: Format | None, *, raw: bool) -> Measured:
    """Chooses how each weight of a unit is held; nothing is moved yet."""
    pieces: list[Piece] = []
    at = place = scratch = 0
    for weight in unit.weights:
        flat, size, stride = layout_of(weight.detach())
        elements = flat()
        nbytes = elements.numel() * elements.element_size()
        choice = Chosen(None, nbytes) if raw else chosen(codec, elements.to(device), format)
        beside = place + _aligned(choice.nbytes)
        piece = Piece(weight, weight.dtype, size, stride, nbytes, choice, at, place, beside)
        pieces.append(piece)
        at += _aligned(nbytes)
        place = beside + _aligned(choice.beside)
        if choice.format is not None:
            scratch = max(scratch, codec.scratch(nbytes, choice.format))
    packed = any(piece.chosen.format is not None for piece in pieces)
    return Measured(
        unit, tuple(pieces), sum(piece.raw for piece in pieces), place, at if packed else 0, scratch
    )


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
        for piece in measured.pieces:
            elements = layout_of(piece.weight.detach())[0]()
            part = piece.part(self.block)
            if part is None:
                self.block[piece.place : piece.place + piece.raw].copy_(elements.view(torch.uint8))
            else:
                codec.pack(elements.to(device), part)

    @property
    def is_packed(self) -> bool:
        """Whether its elements must be made of the block."""
        return self.measured.expanded > 0

    def expand(self, codec: Codec, block: Tensor, target: Tensor) -> None:
        """Makes the elements of all weights of a block that has arrived."""
        for piece in self.measured.pieces:
            elements = target[piece.at : piece.at + piece.raw]
            part = piece.part(block)
            if part is None:
                elements.copy_(block[piece.place : piece.place + piece.raw])
            else:
                codec.expand(part, elements)

    def check(self, codec: Codec, block: Tensor) -> None:
        """Raises :class:`.CorruptStream` if a stream of a block on the device is not whole."""
        for piece in self.measured.pieces:
            part = piece.part(block)
            if part is not None:
                codec.check(part)

    def show(self, memory: Tensor) -> None:
        """Lets the weights have their elements in memory of the device."""
        for piece in self.measured.pieces:
            begin = piece.at if self.is_packed else piece.place
            elements = memory[begin : begin + piece.raw].view(piece.dtype)
            piece.weight.data = elements.as_strided(piece.size, piece.stride)

    def hide(self) -> None:
        """Leaves the weights without elements: who reads one gets an error of its shape."""
        for piece in self.measured.pieces:
            piece.weight.data = piece.weight.data.new_empty(0)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGN) * _ALIGN
