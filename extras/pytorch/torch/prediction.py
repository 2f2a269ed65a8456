"""What is expected of the stream of a tensor before it is made: its format, whether it pays, and how long it will be.

The stream of a tensor is as long as the last one was. So much space, and a little more, is taken for it, and nothing waits
for its length. The elements stay until the length has come, and a stream that did not fit is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from statistics import median

import torch
from torch import Tensor

from cdma.door import analyse, fit
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import Analysis

from .coded import lossless_format

#: Passes until the format of a tensor, and whether one pays, is looked for again.
REFRESH = 100
#: The part of its bytes that a stream must save, and the part for the time of each copy on the GPU.
_LEAST, _PRICE = 1 / 16, 1 / 20
#: Bytes that are timed, and rounds.
_SAMPLE, _ROUNDS = 1 << 24, 3
#: Bytes beyond the last length: a part of it, and some.
_MARGIN, _LEAST_MARGIN = 128, 1024
#: Formats for the exponents of numbers. The fields of fp16 lie where those of bf16 do, but for three bits.
_EXPONENTS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "bf16"}


@dataclass(slots=True)
class Expected:
    """The stream of a tensor: its format, None if none pays, and its bytes.

    ``since``: When that was looked at.
    ``copies``: Copies of the tensor within its GPU for the time of the stream there and back, where time counts.
    """

    format: Format | None
    length: int
    raw: int
    since: int = 0
    copies: float = 0.0

    @property
    def space(self) -> int:
        """Bytes for it, a multiple of any stream word's, and no more than those of the elements."""
        return min(self.length + self.length // _MARGIN + _LEAST_MARGIN, self.raw) & ~63

    def was(self, length: int) -> None:
        """The stream had so many bytes."""
        self.length = length
        if not pays(length, self.raw, self.copies):
            self.format = None


def pays(length: float, raw: int, copies: float = 0.0) -> bool:
    """Whether a stream of that length pays that takes the time of so many copies of ``raw`` bytes."""
    return raw - length >= raw * max(_LEAST, copies * _PRICE)


def looked_at(
    flat: Tensor, formats: Iterable[Format], since: int = 0, cost: Callable[[Format], float] = lambda _: 0.0
) -> tuple[Expected, Analysis]:
    """What is expected of the shortest stream of elements, all of which are counted: this waits for a GPU."""
    found = min((analyse(flat, format) for format in formats), key=lambda each: each.compressed_bytes)
    assert isinstance(found.format, Format)
    made = Expected(found.format, found.compressed_bytes, flat.nbytes, since, cost(found.format))
    made.was(made.length)
    return made, found


def formats_of(flat: Tensor, dense: bool) -> list[Format]:
    """The formats that may suit a tensor; ``dense`` has that of exponents among them."""
    formats = [lossless_format(flat.dtype)]
    if dense and flat.dtype in _EXPONENTS:
        formats.append(fit(flat, Format.preset(_EXPONENTS[flat.dtype])))
    return formats


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
