"""Tensors in one block of memory, which one copy moves, and how their elements are made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cdma.torch.memory import layout_of

from .codecs import Chosen, Codec, Part

__all__ = ["Bundle", "Piece", "bundled"]

#: What is in a block begins at multiples of so many bytes, as memory of a card does.
_ALIGN = 256


@dataclass(frozen=True)
class Piece:
    """One tensor of a block.

    ``at``
        Where its elements are in memory for those of all.
    ``place``, ``beside``
        Where its stream, or its elements, and what stands beside the stream begin in the block.
    """

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
class Bundle:
    """How tensors lie in a block.

    ``held``
        Bytes of the block.
    ``expanded``, ``scratch``
        Bytes of the elements where they must be made of the block, and what the device needs for that; 0 where all tensors
        lie in the block as they are.
    """

    pieces: tuple[Piece, ...]
    raw: int
    held: int
    expanded: int
    scratch: int

    @property
    def is_packed(self) -> bool:
        """Whether the elements must be made of the block."""
        return self.expanded > 0

    def pack(self, flats: Iterable[Tensor], codec: Codec, block: Tensor) -> None:
        """Makes the block of the elements of each tensor, in one dimension."""
        for piece, elements in zip(self.pieces, flats, strict=True):
            part = piece.part(block)
            if part is None:
                block[piece.place : piece.place + piece.raw].copy_(elements.view(torch.uint8))
            else:
                codec.pack(elements, part)

    def expand(self, codec: Codec, block: Tensor, target: Tensor) -> None:
        """Makes the elements of all tensors of a block that has arrived."""
        for piece in self.pieces:
            elements = target[piece.at : piece.at + piece.raw]
            part = piece.part(block)
            if part is None:
                elements.copy_(block[piece.place : piece.place + piece.raw])
            else:
                codec.expand(part, elements)

    def check(self, codec: Codec, block: Tensor) -> None:
        """Raises :class:`.CorruptStream` if a stream of a block on the device is not whole."""
        for piece in self.pieces:
            part = piece.part(block)
            if part is not None:
                codec.check(part)

    def tensors(self, memory: Tensor) -> list[Tensor]:
        """The tensors in memory for their elements, which is the block where they lie in it as they are."""
        found = []
        for piece in self.pieces:
            begin = piece.at if self.is_packed else piece.place
            elements = memory[begin : begin + piece.raw].view(piece.dtype)
            found.append(elements.as_strided(piece.size, piece.stride))
        return found


def bundled(tensors: Sequence[Tensor], choices: Sequence[Chosen], codec: Codec) -> Bundle:
    """Lays tensors out in a block, each as it was chosen."""
    pieces: list[Piece] = []
    at = place = scratch = 0
    for tensor, choice in zip(tensors, choices, strict=True):
        flat, size, stride = layout_of(tensor.detach())
        nbytes = flat().numel() * tensor.element_size()
        beside = place + _aligned(choice.nbytes)
        pieces.append(Piece(tensor.dtype, size, stride, nbytes, choice, at, place, beside))
        at += _aligned(nbytes)
        place = beside + _aligned(choice.beside)
        if choice.format is not None:
            scratch = max(scratch, codec.scratch(nbytes, choice.format))
    packed = any(piece.chosen.format is not None for piece in pieces)
    return Bundle(tuple(pieces), sum(piece.raw for piece in pieces), place, at if packed else 0, scratch)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGN) * _ALIGN
