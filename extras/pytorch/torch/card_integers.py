"""Numbers of a card as integers of 8 bits there: those of :func:`.quantised`, in a stream that stays on the card."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from cdma.gpu.decoder import restored_numbers
from cdma.gpu.encoder import compress_numbers
from cdma.gpu.packed import Packed

from .coded import Coded, Step, as_coded, integer_format, integers_of
from .on_card import held_by, order, work_on

__all__ = ["quantised_there"]

#: The kernels have words of whole bytes, so integers of 4 bits are not made on a card.
_BITS = 8


def quantised_there(flat: Tensor, sample: Tensor, step: Step, fault: Tensor) -> Coded | None:
    """Compresses the integers of numbers on their card; waits for the card once. None where 8 bits do not hold them.

    ``sample``
        Those of the numbers, on the host, that decide the format: the same as :func:`.quantised` takes.
    ``fault``
        Becomes 1 when a stream that is given back is no longer whole.
    """
    if _BITS not in step.bits or (some := integers_of(sample, replace(step, bits=(_BITS,)))) is None:
        return None
    format = integer_format(some.whole.view(torch.uint8).numpy(), flat.numel(), _BITS, step.code_bits)
    made = compress_numbers(flat, format, some.exponent, step.keep_nonzero)
    if made is None:
        return None
    found = replace(some, error=made.error, squares=made.squares, numbers=made.numbers)
    back = _IntegersThere(made.packed, some.exponent, flat.dtype, work_on(flat.device), fault)
    return as_coded(held_by(made.packed), format, back, found)


@dataclass(frozen=True)
class _IntegersThere:
    """A stream of integers on a card, for a tensor of numbers."""

    packed: Packed
    exponent: int
    dtype: torch.dtype
    made: Any
    fault: Tensor

    def __call__(self) -> Tensor:
        order(self.made, self.packed.data, self.packed.index, self.packed.length)
        return restored_numbers(self.packed, self.exponent, self.dtype, self.fault)
