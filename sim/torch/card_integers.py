"""Numbers of a card as integers of 8 bits there: those of :func:`.quantised`, in a stream that stays on the card."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from cdma.sim.gpu.compress import compress
from cdma.sim.gpu.decompress import restored
from cdma.sim.gpu.packed import Packed

from .coded import Coded, Step, as_coded, as_numbers, integer_format, integers_of, sampling
from .on_card import held_by, order, work_on

__all__ = ["quantised_there"]

#: The kernels have words of whole bytes, so integers of 4 bits are not made on a card.
_BITS = 8


def quantised_there(flat: Tensor, step: Step, fault: Tensor) -> Coded | None:
    """Compresses the integers of numbers on their card; waits for the card. None where 8 bits do not hold them.

    ``fault``
        Becomes 1 when a stream that is given back is no longer whole.
    """
    if _BITS not in step.bits or (found := integers_of(flat, replace(step, bits=(_BITS,)))) is None:
        return None
    words = found.whole.view(torch.uint8)
    sample = words[:: sampling(len(words))].cpu().numpy()
    format = integer_format(sample, len(words), _BITS, step.code_bits)
    packed = compress(words, format)
    back = _IntegersThere(packed, found.exponent, flat.dtype, work_on(flat.device), fault)
    return as_coded(held_by(packed), format, back, found)


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
        return as_numbers(restored(self.packed, self.fault).view(torch.int8), self.exponent, self.dtype)
