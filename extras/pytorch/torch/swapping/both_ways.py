"""A tensor that goes over a link and comes back, as it is and compressed, with the seconds of every part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cdma.base.errors import CdmaError
from cdma.hdl.spec.format import Format

from .link import Link
from .packing import pack
from .prediction import Expected

__all__ = ["BothWays", "Swap", "WrongSwap"]


class WrongSwap(CdmaError):
    """A tensor did not come back as it left."""


@dataclass(frozen=True)
class Swap:
    """Seconds that a tensor was copied out and back, and that kernels compressed and decompressed it."""

    out: float
    back: float
    compress: float = 0.0
    decompress: float = 0.0

    def exposed(self, forward: float, backward: float) -> float:
        """Seconds that computing waits for, where so many hide each copy."""
        copies = max(self.out - forward, 0.0) + max(self.back - backward, 0.0)
        return self.compress + self.decompress + copies


class BothWays:
    """Swaps one tensor, again and again, while nothing else uses the link."""

    def __init__(self, flat: Tensor, link: Link, format: Format) -> None:
        self._flat, self._link, self._format = flat, link, format
        bound = format.bound_bytes(flat.nbytes * 8 // format.word_bits)
        self._host = link.memory(max(flat.nbytes, bound))
        self._fault = torch.zeros(1, dtype=torch.int32, device=flat.device)

    def raw(self) -> Swap:
        """The elements go and come back as they are."""
        out, back, target = self._copied(self._flat.view(torch.uint8))
        self._check(target.view(self._flat.dtype))
        return Swap(out, back)

    def compressed(self) -> Swap:
        """A stream goes and comes back: so many bytes of it as are sent where its length is what was expected."""
        stream, compress = self._timed(lambda: pack(self._flat, self._format))
        length, bound = int(stream.packing.length), stream.data.numel()
        sent = Expected(self._format, length, 0, bound).space if length < bound else bound
        out, back, target = self._copied(stream.data[:sent])
        restored, decompress = self._timed(lambda: stream.packing.unpack(target, self._fault))
        self._check(restored)
        return Swap(out, back, compress, decompress)

    def _copied(self, source: Tensor) -> tuple[float, float, Tensor]:
        host = self._host[: source.numel()]
        out = self._link.out([(source, host)])
        out.synchronize()
        back = self._link.back(host, out)
        back.wait()
        back.synchronize()
        seconds = self._link.seconds
        return seconds(out.begin, out.end), seconds(back.begin, back.end), back.target

    def _timed(self, work: Callable[[], Any]) -> tuple[Any, float]:
        begin = self._link.mark()
        result = work()
        return result, self._link.seconds(begin, self._link.mark())

    def _check(self, restored: Tensor) -> None:
        """Compares bits."""
        if not torch.equal(restored.view(torch.uint8), self._flat.view(torch.uint8)):
            raise WrongSwap(f"a tensor of {self._flat.nbytes} bytes did not come back as it left")
