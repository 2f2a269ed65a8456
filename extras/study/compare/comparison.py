"""Codecs side by side: the ratio of each on a tensor, in every number type and layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError
from cdma.gpu.peers import codecs
from cdma.gpu.peers.codecs import learn_format
from cdma.hdl.spec.format import Format
from cdma.sim.codec.number_types import LAYOUTS, NUMBER_TYPES, arrange, convert, word_bits_of
from cdma.sim.codec.words import words_of

from .entropy import byte_bound, table_bound

#: The bounds that a row has; ``docs/study/codecs.md`` defines them.
BOUNDS = ("mask", "table", "byte")


@dataclass(frozen=True)
class Row:
    """One tensor in one number type and layout."""

    network: str
    layer: str
    kind: str
    number_type: str
    layout: str
    words: int
    #: Part of the words that are not zero.
    density: float = field(metadata={"least": 0, "most": 1})
    #: Raw bytes per compressed byte by codec.
    ratio: Mapping[str, float]
    #: The same for each of :data:`BOUNDS`.
    bound: Mapping[str, float]

    @property
    def raw_bytes(self) -> int:
        """Bytes of the tensor in its number type."""
        return self.words * word_bits_of(self.number_type) // 8


@dataclass(frozen=True)
class Summary:
    """All tensors of one number type and layout, by codec."""

    number_type: str
    layout: str
    tensors: int
    #: The mean over the networks of raw bytes over compressed bytes of all the network's tensors.
    average: Mapping[str, float]
    #: The ratio of the tensor that compresses best.
    maximum: Mapping[str, float]
    #: Like ``average``, for each of :data:`BOUNDS`.
    bound: Mapping[str, float]


def compare(
    tensor: NDArray[np.float32],
    *,
    network: str,
    layer: str,
    kind: str,
    number_types: Sequence[str] = NUMBER_TYPES,
    layouts: Sequence[str] = tuple(LAYOUTS),
    names: Sequence[str] | None = None,
) -> Iterator[Row]:
    """Yields one row for each number type and layout; ``names`` are the codecs, by default all installed."""
    if not tensor.size:
        raise ParameterError(f"{network} {layer} has the shape {tensor.shape}; an empty tensor has no ratio")
    names = codecs.available() if names is None else names
    for number_type in number_types:
        word_bits = word_bits_of(number_type)
        numbers = convert(tensor, number_type)
        for layout in layouts:
            words = words_of(arrange(numbers, layout), Format(word_bits=word_bits))
            ratio = {name: words.nbytes / codecs.make(name, word_bits, words).size(words) for name in names}
            bound = {
                "mask": table_bound(words, learn_format(words, word_bits, 1)),
                "table": table_bound(words, learn_format(words, word_bits, 4)),
                "byte": byte_bound(words),
            }
            density = float(np.count_nonzero(words)) / len(words)
            yield Row(network, layer, kind, number_type, layout, len(words), density, ratio, bound)


def summarise(rows: Iterable[Row]) -> list[Summary]:
    """Returns one summary for each number type and layout, in the order in which they first occur."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.number_type, row.layout), []).append(row)
    return [
        Summary(
            number_type,
            layout,
            len(group),
            {name: _average(group, [row.ratio[name] for row in group]) for name in group[0].ratio},
            {name: max(row.ratio[name] for row in group) for name in group[0].ratio},
            {name: _average(group, [row.bound[name] for row in group]) for name in group[0].bound},
        )
        for (number_type, layout), group in groups.items()
    ]


def _average(rows: Sequence[Row], ratios: Sequence[float]) -> float:
    """Returns the mean over networks of all raw bytes per compressed byte."""
    raw: dict[str, float] = {}
    compressed: dict[str, float] = {}
    for row, ratio in zip(rows, ratios, strict=True):
        raw[row.network] = raw.get(row.network, 0) + row.raw_bytes
        compressed[row.network] = compressed.get(row.network, 0) + row.raw_bytes / ratio
    return float(np.mean([raw[network] / compressed[network] for network in raw]))
