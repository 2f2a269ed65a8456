"""The compressed size of the maps of a network, by algorithm and moment of the training, and of numbers in words by
the lines of ``data/word_laws.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from cdma.base.errors import ParameterError
from cdma.base.toml_table import TableError, read_json
from cdma.hdl.spec.format import Format
from cdma.study.recorded import DATA

from .density_table import DensityTable
from .feature_maps import FeatureMap, Source
from .layers import NUMBER_BYTES
from .networks import INPUT, Network


@dataclass(frozen=True)
class WordLaw:
    """A line over the density of numbers."""

    base: float
    slope: float
    #: What headers have of it.
    headers: float

    def fraction(self, density: float) -> float:
        """Returns compressed bytes per raw byte."""
        return self.base + self.slope * density

    def literals(self, density: float) -> float:
        """Returns the part of the words that are literals."""
        return min(max(self.fraction(density) - self.headers, 0.0), 1.0)


def law_of(number_type: str, format: Format) -> WordLaw:
    """Returns the line of numbers of a type in a format."""
    key = number_type, format.word_bits, format.window, format.code_bits
    if key not in _laws():
        raise TableError(
            f"words of {format.word_bits} bits with numbers of {number_type} have no measured ratio"
        )
    base, slope = _laws()[key]
    return WordLaw(base, slope, format.code_bits / format.word_bits)


@cache
def _laws() -> Mapping[tuple[str, int, int, int], tuple[float, float]]:
    return {
        (row.text("number_type"), row.whole("word_bits"), row.whole("window"), row.whole("code_bits")): (
            row.number("base"),
            row.number("slope"),
        )
        for row in read_json(DATA / "word_laws.json").rows("laws")
    }


#: Zero-value compression, zero run-length coding, and zlib: in hardware that is as fast as the others, as the cDMA
#: paper assumes, and in hardware that is known to exist (``zl_hw``). ``fields`` are codes of the exponent, for numbers of
#: bf16 and fp32, with a table that suits the data.
ALGORITHMS = ("zv", "rl", "zl", "zl_hw", "fields")

#: Bits of a word, by the type of its numbers.
_BITS = {name: 8 * size for name, size in NUMBER_BYTES.items()}


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
    #: Of zero-value compression another format than that of whole numbers.
    format: Format | None = None

    def density(self, item: FeatureMap, progress: float) -> float:
        """Returns the part of a map's words that is not zero."""
        parts = [
            part.elements * part.density(self.densities, self.network.densities, progress)
            for part in item.sources
        ]
        return sum(parts) / sum(part.elements for part in item.sources)

    def fraction(self, item: FeatureMap, progress: float) -> float:
        """Returns compressed bytes of a map per raw byte."""
        kind = self.number_type(item)
        parts = [part.elements * self._fraction(part, progress, kind) for part in item.sources]
        return sum(parts) / sum(part.elements for part in item.sources)

    def literals(self, item: FeatureMap, progress: float) -> float:
        """Returns the part of a map's words that are literals."""
        density = min(self.density(item, progress), 1.0)
        if self.format is None:
            return density
        return law_of(self.number_type(item), self.format).literals(density)

    def number_type(self, item: FeatureMap) -> str:
        """Returns the type of the numbers of a map."""
        network = self.network
        return network.number_type if item.name == INPUT else network.layer(item.name).number_type

    def _fraction(self, part: Source, progress: float, number_type: str) -> float:
        density = part.density(self.densities, self.network.densities, progress)
        if self.algorithm == "zv" and self.format is not None:
            return law_of(number_type, self.format).fraction(density)
        if self.algorithm == "zv":
            return 1 / _BITS[number_type] + density
        if self.algorithm == "fields":
            return self._fields(part, progress, density, number_type)
        codec = "zl" if self.algorithm == "zl_hw" else self.algorithm
        if (recorded := self._looked_up(part, progress, codec)) is not None:
            return recorded
        if codec == "rl" and density == 1.0:
            return 1.0  # Without a run nothing is added.
        base, slope = self._line(codec)
        return max(base + slope * density, 1e-3)

    def _fields(self, part: Source, progress: float, density: float, number_type: str) -> float:
        """Codes of fields as recorded with numbers of bf16; of fp32, each word that is sent has two bytes more."""
        if number_type not in ("bf16", "fp32"):
            raise ParameterError(
                f"algorithm fields is given for numbers of {number_type}; it has codes for the exponents of bf16 and fp32"
            )
        fraction = self._looked_up(part, progress, "fields") if part.packed is None else part.packed
        if fraction is None:
            base, slope = self._line("fields")
            fraction = base + slope * density
        return fraction if number_type == "bf16" else (fraction + density) / 2

    def _looked_up(self, part: Source, progress: float, codec: str) -> float | None:
        """Returns the recorded compressed fraction by a codec, if there is one."""
        network = self.network.densities
        if part.recorded and codec in self._recorded and self.densities.has(network, part.kind):
            return self.densities.look_up(network, part.kind, part.depth, progress, quantity=codec)
        return None

    @cached_property
    def _recorded(self) -> tuple[str, ...]:
        return self.densities.codecs(self.network.densities)

    def _line(self, codec: str) -> tuple[float, float]:
        return self.lines.line(codec)
