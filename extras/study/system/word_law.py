"""The compressed size of numbers in words, windows and codes of several sizes: the measured lines of
``data/word_laws.json``, which has the rows of ``cdma study bench words --json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from cdma.base.toml_table import TableError, read_json
from cdma.hdl.spec.format import Format
from cdma.study.recorded import DATA


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
