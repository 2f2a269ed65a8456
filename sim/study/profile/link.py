"""The transfers of a tensor: their duration, plain and compressed, and whether compression is worth it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from cdma.base.errors import ParameterError
from cdma.sim.codec.tensor_profile import TensorProfile
from cdma.sim.study.system.assumptions import load_assumptions
from cdma.sim.study.system.cswap import KernelTimes
from cdma.sim.study.system.engine_rate import DIRECTIONS

__all__ = ["Hidden", "Settings", "Transfer", "Verdict"]


def _finite(name: str, value: float, unit: str, *, zero: bool = False) -> None:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value < 0 or (value == 0 and not zero):
        least = "0 or more" if zero else "more than 0"
        raise ParameterError(f"{name} is {value!r}; it must be a number of {unit}, {least}")


#: How a file has hidden times.
_MILLISECONDS = {"scale": 1e-3, "least": 0}


@dataclass(frozen=True)
class Hidden:
    """Seconds of a tensor's transfers that computation hides: the offload's, and the prefetch's."""

    forward: float = field(default=0.0, metadata=_MILLISECONDS)
    backward: float = field(default=0.0, metadata=_MILLISECONDS)

    def __post_init__(self) -> None:
        for name in ("forward", "backward"):
            _finite(f"hidden {name}", getattr(self, name), "seconds", zero=True)


@dataclass(frozen=True)
class Settings:
    """The link, the engine, and the computation beside the transfers; in bytes per second and seconds."""

    #: The link's effective rate to the host, and back.
    link: float = 12.8e9
    link_back: float | None = None
    #: Units, and the raw bytes per second that each compresses or decompresses: 8 words of 4 bytes at 1 GHz.
    units: int = 1
    unit_rate: float = 32e9
    #: The device's memory. CSWAP's kernels compress and decompress there, and do not overlap with the transfer; by default
    #: they take the copies in this memory that were measured for the compiled codec.
    memory: float = 547.7e9
    #: One rate of these kernels in the place of measured copies.
    kernel_rate: float | None = None
    #: What computation hides: of every tensor, and of single tensors by name.
    hidden: Hidden = Hidden()
    hidden_by_name: Mapping[str, Hidden] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("link", "link_back", "unit_rate", "memory", "kernel_rate"):
            if getattr(self, name) is not None:
                _finite(name, getattr(self, name), "bytes per second")
        if isinstance(self.units, bool) or not isinstance(self.units, int) or self.units < 1:
            raise ParameterError(f"units is {self.units!r}; it must be a whole number, 1 or more")

    @property
    def rates(self) -> tuple[float, float]:
        """The link's rate to the host, and back."""
        return self.link, self.link if self.link_back is None else self.link_back

    def kernel_seconds(self, raw: int, density: float) -> float:
        """Returns how long CSWAP's kernels take to compress and to decompress so many bytes."""
        if self.kernel_rate is not None:
            return 2 * raw / self.kernel_rate
        times = _kernel_times(self.memory)
        return sum(times.seconds(direction, raw, density) for direction in DIRECTIONS)


@lru_cache(maxsize=4)
def _kernel_times(memory: float) -> KernelTimes:
    """CSWAP's kernels on a device with this memory bandwidth."""
    return KernelTimes(load_assumptions().kernels, memory)


@dataclass(frozen=True)
class Verdict:
    """Seconds that the compute units wait for a tensor's transfers, without compression and with it."""

    plain: float
    compressed: float

    @property
    def worth(self) -> bool:
        """Whether compression makes the wait shorter."""
        return self.compressed < self.plain


@dataclass(frozen=True)
class Transfer:
    """The offload and the prefetch of one tensor, in its best fit."""

    tensor: TensorProfile
    settings: Settings

    @property
    def plain(self) -> tuple[float, float]:
        """Seconds of offload and prefetch without compression."""
        out, back = self.settings.rates
        return self.tensor.raw / out, self.tensor.raw / back

    def compressed(self, units: float | None = None) -> tuple[float, float]:
        """Returns seconds of offload and prefetch: those of the link, or of the units if they are slower."""
        most = self.settings.unit_rate * (self.settings.units if units is None else units)
        size, raw = self.tensor.best.compressed, self.tensor.raw / most
        out, back = self.settings.rates
        return max(size / out, raw), max(size / back, raw)

    @property
    def ours(self) -> Verdict:
        """Compression overlaps with the transfer, and the stream has its headers."""
        return Verdict(self._wait(self.plain), self._wait(self.compressed()))

    @property
    def cswap(self) -> Verdict:
        """CSWAP's inequality: first compression, then the transfer of the elements that are not zero, without a mask."""
        out, back = self.plain
        density = self.tensor.density
        work = self.settings.kernel_seconds(self.tensor.raw, density)
        return Verdict(self._wait(self.plain), work + self._wait((out * density, back * density)))

    @property
    def units(self) -> int:
        """The fewest units with which the link, not they, limits both transfers."""
        rate = max(self.settings.rates) * self.tensor.ratio
        return max(1, math.ceil(rate / self.settings.unit_rate - 1e-9))

    def _wait(self, seconds: tuple[float, float]) -> float:
        hidden = self.settings.hidden_by_name.get(self.tensor.name, self.settings.hidden)
        return max(seconds[0] - hidden.forward, 0.0) + max(seconds[1] - hidden.backward, 0.0)
