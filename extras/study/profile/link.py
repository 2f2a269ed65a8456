"""The transfers of a tensor: their duration, plain and compressed, and whether compression is worth it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from cdma.base.errors import ParameterError
from cdma.sim.codec.fit import Fit, TensorProfile
from cdma.study.system.engine_rate import DIRECTIONS
from cdma.study.system.machine import load_assumptions
from cdma.study.system.policies import KernelTimes
from cdma.torch.swapping.policies import CostModel


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
    #: What computation hides: of every tensor, and of single tensors by name. Without the first, every tensor needs its own
    #: for a verdict.
    hidden: Hidden | None = None
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
    """The offload and the prefetch of one tensor, in the format ``fit`` of the engine."""

    tensor: TensorProfile
    settings: Settings
    fit: Fit

    @property
    def ratio(self) -> float:
        """Raw bytes per compressed byte."""
        return self.tensor.raw / self.fit.compressed

    @property
    def plain(self) -> tuple[float, float]:
        """Seconds of offload and prefetch without compression."""
        out, back = self.settings.rates
        return self.tensor.raw / out, self.tensor.raw / back

    def compressed(self, units: float | None = None) -> tuple[float, float]:
        """Returns seconds of offload and prefetch: those of the link, or of the units if they are slower."""
        most = self.settings.unit_rate * (self.settings.units if units is None else units)
        size, raw = self.fit.compressed, self.tensor.raw / most
        out, back = self.settings.rates
        return max(size / out, raw), max(size / back, raw)

    @property
    def hidden(self) -> Hidden | None:
        """What computation hides; None if that is not given."""
        return self.settings.hidden_by_name.get(self.tensor.name, self.settings.hidden)

    @property
    def ours(self) -> Verdict | None:
        """Compression overlaps with the transfer, and the stream has its headers; None without what computation hides."""
        hidden = self.hidden
        if hidden is None:
            return None
        return Verdict(_wait(self.plain, hidden), _wait(self.compressed(), hidden))

    @property
    def cswap(self) -> Verdict | None:
        """CSWAP's inequality: first compression, then the transfer of the elements that are not zero, without a mask."""
        if self.hidden is None:
            return None
        raw, density = self.tensor.raw, self.tensor.density
        hidden = self.hidden.forward, self.hidden.backward
        model = CostModel(raw, density, *self.settings.rates, *hidden)
        work = self.settings.kernel_seconds(raw, density)
        return Verdict(model.plain, model.compressed(work, 0.0))

    @property
    def units(self) -> int:
        """The fewest units with which the link, not they, limits both transfers."""
        rate = max(self.settings.rates) * self.ratio
        return max(1, math.ceil(rate / self.settings.unit_rate - 1e-9))


def _wait(seconds: tuple[float, float], hidden: Hidden) -> float:
    """What is left of a transfer's seconds beside the computation."""
    return max(seconds[0] - hidden.forward, 0.0) + max(seconds[1] - hidden.backward, 0.0)
