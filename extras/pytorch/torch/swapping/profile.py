"""What an offload learns while it runs: sizes, densities, hidden times, times of kernels and rates of the link."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Any

from cdma.torch.keeping import Slot

from .cost import KernelFit, KernelSample
from .link import Copy, Link
from .policies import Learnt

__all__ = ["Profile"]

#: Samples that are kept of each kernel, and copies of each direction.
_SAMPLES = 512
#: Samples that a fit needs.
_LEAST = 3


class Profile:
    """Marks are taken while a pass runs, and turned into seconds when the next one begins.

    ``active``
        Whether this pass is one to learn from.
    ``tensors``
        What was learnt of each tensor of a pass.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self.active = False
        self.tensors: dict[Slot, Learnt] = {}
        self.rates: tuple[float, float] | None = None
        self.compress: KernelFit | None = None
        self.decompress: KernelFit | None = None
        self._marks: list[tuple[Learnt, str, Any, Any]] = []
        self._kernels: list[tuple[str, Learnt, Any, Any]] = []
        self._samples = {way: deque[KernelSample](maxlen=_SAMPLES) for way in ("compress", "decompress")}
        self._copies = {way: deque[tuple[Learnt, Copy]](maxlen=_SAMPLES) for way in ("out", "back")}
        self._kept: tuple[Learnt, Any] | None = None
        self._given: Any = None

    def of(self, slot: Slot, raw: int) -> Learnt:
        """What was learnt of a tensor that is kept now."""
        learnt = self.tensors.setdefault(slot, Learnt(raw))
        learnt.raw = raw
        return learnt

    def keeping(self, begin: Any) -> None:
        """A tensor is kept from this mark on: what was computed until then hides the copy of the one before."""
        if self.active and self._kept is not None:
            learnt, since = self._kept
            self._marks.append((learnt, "forward", since, begin))

    def kept(self, learnt: Learnt, end: Any) -> None:
        """A tensor was kept until this mark."""
        self._kept = learnt, end
        self._given = None

    def giving(self, learnt: Learnt, begin: Any) -> None:
        """A tensor is needed at this mark: what was computed since the last one hides its copy."""
        if self.active and self._given is not None:
            self._marks.append((learnt, "backward", self._given, begin))

    def given(self, end: Any) -> None:
        """A tensor was given back until this mark."""
        self._kept, self._given = None, end

    def kernel(self, way: str, learnt: Learnt, begin: Any, end: Any) -> None:
        """A kernel ran between two marks."""
        if self.active:
            self._kernels.append((way, learnt, begin, end))

    def copy(self, way: str, learnt: Learnt, copy: Copy) -> None:
        """A copy of a tensor is on its way."""
        if self.active:
            self._copies[way].append((learnt, copy))

    def settle(self) -> None:
        """Turns the marks of the last pass into what is known."""
        for learnt, what, begin, end in self._marks:
            setattr(learnt, what, self._link.seconds(begin, end))
        for way, learnt, begin, end in self._kernels:
            seconds = self._link.seconds(begin, end)
            self._samples[way].append(KernelSample(learnt.raw, learnt.density, max(seconds, 1e-9)))
        learnt_more = bool(self._kernels)
        self._marks.clear()
        self._kernels.clear()
        self._kept = self._given = None
        if learnt_more and (fits := self.fits()) is not None:
            self.compress, self.decompress = fits
        self.rates = self.rates_without()

    def rates_without(self, learnt: Learnt | None = None) -> tuple[float, float] | None:
        """Rates of the link by copies of all tensors but this one; None if there are none."""
        out, back = (
            [copy for whose, copy in taken if whose is not learnt] for taken in self._copies.values()
        )
        # Over a slow link nothing may have left by the time it is needed: then the way back is taken to be as fast.
        return (self._rate(out), self._rate(back or out)) if out else None

    def fits(self, counts: Callable[[float], bool] = lambda size: True) -> tuple[KernelFit, KernelFit] | None:
        """Laws of both kernels, from the tensors of those sizes that count; None if these are too few."""
        samples = [[one for one in taken if counts(one.size)] for taken in self._samples.values()]
        if min(map(len, samples)) < _LEAST:
            return None
        compress, decompress = map(KernelFit.of, samples)
        return compress, decompress

    def _rate(self, copies: list[Copy]) -> float:
        ended = [copy for copy in copies if copy.finished]
        found = [copy.nbytes / self._link.seconds(copy.begin, copy.end) for copy in ended]
        return median(found) if found else float("inf")
