"""Bytes on the device that are held for the backward pass, and those of them that are leaving.

How long the stream of a tensor will be, which is not known before it is made: as long as in the last pass.

A stream leaves before the host knows its length. So many bytes of it are copied as are expected, and a few more; the length
comes with them, and shows whether that was all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from cdma.door import analyse, fit
from cdma.hdl.spec.format import Format
from cdma.torch.coded import lossless_format
from cdma.torch.keeping import Slot
from cdma.torch.paying import pays

from .link import Copy
from .policies import Learnt


@dataclass
class Leaving:
    """Bytes that are being copied to the host, and are on the device until that has ended.

    ``source``: Where they are.
    ``size``: Bytes that are counted for them.
    ``wanted``: Whether the backward pass still needs them.
    ``left``: Called when they have left.
    """

    copy: Copy
    source: Tensor
    size: int
    wanted: Callable[[], bool]
    left: Callable[[], None]


class Gauge:
    """Counts bytes on the device.

    ``staying``: Whether what has left is held even so, until there is no room for it. In a backward pass it is soon
        needed.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self.now = self.peak = self.over = 0
        self.staying = False
        self._leaving: deque[Leaving] = deque()

    def add(self, size: int) -> None:
        """Counts more, or fewer, bytes."""
        self.over += size > 0 and self.is_full(size)
        self.now += size
        self.peak = max(self.peak, self.now)

    def is_full(self, size: int) -> bool:
        """Whether there is no room for so many bytes more."""
        return self._limit is not None and self.now + size > self._limit

    def leaving(self, leaving: Leaving) -> None:
        """Counts bytes until they have left."""
        self.add(leaving.size)
        self._leaving.append(leaving)

    def make_room(self, size: int) -> None:
        """Waits until so many bytes more have room, as far as leaving copies give any."""
        while self._leaving and self.is_full(size):
            self._leaving[0].copy.synchronize()
            self._let_go(self._leaving.popleft())

    def sweep(self) -> None:
        """Strikes out what has left."""
        stay = []
        while self._leaving and self._leaving[0].copy.finished:
            leaving = self._leaving.popleft()
            if self.staying and leaving.wanted():
                stay.append(leaving)
            else:
                self._let_go(leaving)
        self._leaving.extendleft(reversed(stay))

    def _let_go(self, leaving: Leaving) -> None:
        self.now -= leaving.size
        leaving.left()


#: Passes until the format of a tensor, and whether one pays, is looked for again.
_REFRESH = 100
#: Bytes that are copied beyond the last length: a part of it, and some.
_MARGIN, _LEAST_MARGIN = 128, 1024
#: Formats for the exponents of numbers. The fields of fp16 lie where those of bf16 do, but for three bits.
_EXPONENTS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "bf16"}


@dataclass
class Expected:
    """The stream of a tensor of a pass: its format, None if none pays, and its bytes."""

    format: Format | None
    length: int
    since: int
    raw: int

    @property
    def space(self) -> int:
        """Bytes that are copied, a multiple of any stream word's; a stream may have more.

        They are no more than those of the elements, which any stream has memory for.
        """
        return min(self.length + self.length // _MARGIN + _LEAST_MARGIN, self.raw) & ~63

    def was(self, length: int) -> None:
        """The stream had so many bytes."""
        self.length = length
        if not pays(length, self.raw):
            self.format = None


class Predictions:
    """What is expected of the tensors of a pass.

    ``dense``: Whether numbers may become streams of their exponents, too.
    """

    def __init__(self, dense: bool) -> None:
        self._dense = dense
        self._expected: dict[tuple[Slot, int, torch.dtype], Expected] = {}

    def of(self, slot: Slot, flat: Tensor, number: int, learnt: Learnt, again: bool) -> Expected:
        """What is expected of a tensor in the pass of that number.

        Of a new one, and of all from time to time or ``again``, what a stream would store is counted, for which the host
        waits.
        """
        key = slot, flat.numel(), flat.dtype
        expected = self._expected.get(key)
        if expected is None or again or number - expected.since >= _REFRESH:
            raw = flat.numel() * flat.element_size()
            found = [analyse(flat, format) for format in self._formats(flat)]
            best = min(found, key=lambda each: each.compressed_bytes)
            assert isinstance(best.format, Format)
            learnt.density = best.density
            learnt.mask = best.compressed_bytes - raw * best.density
            paying = pays(best.compressed_bytes, raw)
            expected = Expected(best.format if paying else None, best.compressed_bytes, number, raw)
            self._expected[key] = expected
        return expected

    def _formats(self, flat: Tensor) -> list[Format]:
        """The formats that may suit a tensor."""
        formats = [lossless_format(flat.dtype)]
        if self._dense and flat.dtype in _EXPONENTS:
            formats.append(fit(flat, Format.preset(_EXPONENTS[flat.dtype])))
        return formats
