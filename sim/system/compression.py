"""The compressed size of the maps of a network, by algorithm and moment of the training."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from cdma.hdl.spec.format import Format

from .density_table import DensityTable
from .feature_maps import FeatureMap, Source
from .networks import Network

__all__ = ["ALGORITHMS", "Compression"]

#: Zero-value compression, zero run-length coding, and zlib: in hardware that is as fast as the others, as the cDMA
#: paper assumes, and in hardware that is known to exist (``zl_hw``).
ALGORITHMS = ("zv", "rl", "zl", "zl_hw")


@dataclass(frozen=True)
class Compression:
    """The maps of one network under one algorithm.

    The ratio of zero-value compression follows from the density. That of the other algorithms depends on where the
    zeros lie, so the recorded ratio is used. Without a recorded ratio, that on the straight line through all records
    of the codec in ``lines`` is used.
    """

    network: Network
    densities: DensityTable
    algorithm: str
    #: Records of ratios, for densities that come without.
    lines: DensityTable
    format: Format = field(default_factory=Format)

    def density(self, item: FeatureMap, progress: float) -> float:
        """Returns the part of a map's words that is not zero."""
        parts = [
            part.elements * part.density(self.densities, self.network.densities, progress)
            for part in item.sources
        ]
        return sum(parts) / sum(part.elements for part in item.sources)

    def fraction(self, item: FeatureMap, progress: float) -> float:
        """Returns compressed bytes of a map per raw byte."""
        parts = [part.elements * self._fraction(part, progress) for part in item.sources]
        return sum(parts) / sum(part.elements for part in item.sources)

    def _fraction(self, part: Source, progress: float) -> float:
        density = part.density(self.densities, self.network.densities, progress)
        if self.algorithm == "zv":
            form = self.format
            return form.header_words / form.window + density
        codec = "zl" if self.algorithm == "zl_hw" else self.algorithm
        if part.recorded and codec in self._recorded:
            return self.densities.look_up(
                self.network.densities, part.kind, part.depth, progress, quantity=codec
            )
        if codec == "rl" and density == 1.0:
            return 1.0  # Without a run nothing is added.
        base, slope = self._line(codec)
        return max(base + slope * density, 1e-3)

    @cached_property
    def _recorded(self) -> tuple[str, ...]:
        return self.densities.codecs(self.network.densities)

    def _line(self, codec: str) -> tuple[float, float]:
        return self.lines.line(codec)
