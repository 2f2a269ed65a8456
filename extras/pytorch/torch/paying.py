"""Whether a stream pays: the one rule for what stands, or is sent, in place of elements."""

from __future__ import annotations

from functools import cache
from statistics import median

import torch

from cdma.hdl.spec.format import Format

#: The part of its bytes that a stream must save, and the part for the time of each copy on the GPU.
_LEAST, _PRICE = 1 / 16, 1 / 20
#: Bytes that are timed, and rounds.
_SAMPLE, _ROUNDS = 1 << 24, 3


def pays(length: float, raw: int, copies: float = 0.0) -> bool:
    """Whether a stream of that length pays that takes the time of so many copies of ``raw`` bytes."""
    return raw - length >= raw * max(_LEAST, copies * _PRICE)


@cache
def copies(format: Format, device: torch.device) -> float:
    """Copies of a tensor within its GPU for the time of a stream of it there and back, measured there once; of a processor
    0."""
    if device.type != "cuda":
        return 0.0
    from cdma.gpu.decoder import restored
    from cdma.gpu.encoder import compress
    from cdma.gpu.measure import numbers, seconds_of

    with torch.cuda.device(device):
        source = numbers(format, 0.5, _SAMPLE, seed=0)
        target, fault = torch.empty_like(source), torch.zeros(1, dtype=torch.int32, device=device)
        out = torch.empty(format.bound_bytes(source.numel()), dtype=torch.uint8, device=device)
        packed = compress(source, format, out=out)
        works = (
            lambda: target.copy_(source),
            lambda: compress(source, format, out=out),
            lambda: restored(packed, fault, out=target),
        )
        copy, there, back = (median(seconds_of(work, _ROUNDS)) for work in works)
    return (there + back) / copy
