"""Codecs side by side: the ratio of each on a tensor, in every number type and layout.

What formats make of recorded tensors of networks: the ratio of every preset, beside general compressors and bounds; and
words, windows and bits of a code, as a line over the density.

The tensors of the presets are those of a small transformer in training, rounded to bfloat16, and of networks that people
run: a decoder's, and those after a ReLU, each as bfloat16, and all of these together as bfloat16, float32 and 8 bits.

The lines are of ``data/samples.npz``, in each type of numbers. The table of frequent words is the one that suits all tensors
of a type together, as an engine has one table for a run. Compressed bytes per raw byte lie on a line over the density of the
numbers, which is exact where a word is a number and only zero has a code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError, ParameterError
from cdma.gpu.peers import codecs
from cdma.gpu.peers.codecs import learn_format
from cdma.hdl.spec.format import PRESETS, Format
from cdma.sim.codec.fit import field_variants, fit
from cdma.sim.codec.model import analyse
from cdma.sim.codec.number_types import LAYOUTS, NUMBER_TYPES, arrange, convert, word_bits_of
from cdma.sim.codec.words import words_of
from cdma.study.compare.entropy import byte_bound, entropy_bits, field_counts, huffman_bits, table_bound
from cdma.study.recorded import DATA, recorded_samples, recorded_tokens

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
    names: Sequence[str] | None = None,
) -> Iterator[Row]:
    """Yields one row for each number type and layout; ``names`` are the codecs, by default all installed."""
    if not tensor.size:
        raise ParameterError(f"{network} {layer} has the shape {tensor.shape}; an empty tensor has no ratio")
    names = codecs.available() if names is None else names
    for number_type in number_types:
        word_bits = word_bits_of(number_type)
        numbers = convert(tensor, number_type)
        for layout in LAYOUTS:
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


class BadSamples(CdmaError, ValueError):
    """A file does not hold the samples of a transformer."""


@dataclass(frozen=True)
class Data:
    """A tensor, or several together, in one number type; bfloat16 numbers by their bits."""

    name: str
    number_type: str
    numbers: NDArray[Any]

    @property
    def density(self) -> float:
        """Part of the numbers that have any bit set."""
        return float(np.count_nonzero(self.numbers.view(f"u{self.numbers.itemsize}"))) / len(self.numbers)


@dataclass(frozen=True)
class DataRow:
    """The ratio of one codec: raw bytes per byte of the stream, and of the table where it was fitted."""

    data: str
    number_type: str
    density: float
    codec: str
    ratio: float


def load_data(transformer: Path | None = None) -> list[Data]:
    """Loads the recorded tensors, or other samples of a transformer that ``cdma study bench formats --train`` wrote."""
    path = transformer or DATA / "transformer.npz"
    found = [Data(name, "bfloat16", numbers) for name, numbers in _archive(path).items()]
    if any(
        data.numbers.dtype != np.uint16 or data.numbers.ndim != 1 or not data.numbers.size for data in found
    ):
        raise BadSamples(f"{path} does not hold bfloat16 numbers as uint16, in one dimension")
    found += [Data(name, "bfloat16", numbers.ravel()) for name, numbers in recorded_tokens().items()]
    relu = recorded_samples()
    found += [
        Data(f"relu.{name}", "bfloat16", convert(tensor, "bfloat16").ravel()) for name, tensor in relu.items()
    ]
    for number_type in ("bfloat16", "float32", "int8"):
        parts = [convert(tensor, number_type).ravel() for tensor in relu.values()]
        found.append(Data("relu, all", number_type, np.concatenate(parts)))
    return found


def _archive(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise BadSamples(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, AttributeError):
        raise BadSamples(f"{path} is not a .npz file of numbers") from None


def rows(data: Data) -> Iterator[DataRow]:
    """Yields a row for each preset that fits the numbers, then for other codecs, then for bounds."""
    for codec, ratio in _ratios(data.numbers).items():
        yield DataRow(data.name, data.number_type, data.density, codec, ratio)


def _ratios(numbers: NDArray[Any]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    bits = 8 * numbers.itemsize
    for name in PRESETS:
        format = Format.preset(name)
        if bits % format.word_bits:
            continue
        found[name] = numbers.nbytes / analyse(numbers, format).compressed_bytes
        if format.field_bits:
            found[f"{name} fitted"] = _fitted_ratio(numbers, format)
            found[f"{name} best"] = max(_fitted_ratio(numbers, kind) for kind in field_variants(format))
    raw = numbers.tobytes()
    found["LZ4"] = len(raw) / len(import_module("lz4.block").compress(raw, store_size=False))
    found["zstd 1"] = len(raw) / len(import_module("zstandard").ZstdCompressor(level=1).compress(raw))
    if bits in (16, 32):
        format = Format.preset("bf16" if bits == 16 else "fp32")
        counts = field_counts(words_of(numbers, format), format)
        rest = bits - format.field_bits
        found["Huffman"] = bits / (huffman_bits(counts) + rest)
        found["entropy"] = bits / (entropy_bits(counts) + rest)
    return found


def _fitted_ratio(numbers: NDArray[Any], format: Format) -> float:
    """The ratio with the table that suits the numbers best, which travels beside them."""
    fitted = fit(numbers, format, whole=True)
    table = len(fitted.values) * format.field_bits // 8
    return numbers.nbytes / (analyse(numbers, fitted).compressed_bytes + table)


#: The types of numbers as networks name them, and as tensors do.
TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}
_WORDS, _WINDOWS, _CODES = (8, 16, 32), (32, 64), (1, 2, 3, 4)


@dataclass(frozen=True)
class WordLaw:
    """Compressed bytes per raw byte are ``base + slope * density``; ``error`` is the largest distance of a tensor from that
    line, and ``ratio`` that of all tensors together."""

    number_type: str
    word_bits: int
    window: int
    code_bits: int
    base: float
    slope: float
    error: float
    ratio: float


def word_laws() -> Iterator[WordLaw]:
    """Yields the law of each format whose words are as wide as a number, or a part of one."""
    samples = recorded_samples().values()
    for number_type, kind in TYPES.items():
        tensors = [convert(sample, kind).ravel() for sample in samples]
        for word_bits, window, code_bits in product(_WORDS, _WINDOWS, _CODES):
            if word_bits <= 8 * tensors[0].itemsize:
                yield _law(number_type, tensors, Format(word_bits, window, code_bits))


def _law(number_type: str, tensors: list[NDArray[Any]], format: Format) -> WordLaw:
    table = fit(np.concatenate(tensors), format) if format.code_bits > 1 else format
    #: Of each tensor the part of the numbers that have any bit set.
    density = np.array([np.count_nonzero(each.view(f"u{each.itemsize}")) / len(each) for each in tensors])
    fraction = np.array([1 / analyse(tensor, table).ratio for tensor in tensors])
    design = np.stack([np.ones_like(density), density], axis=1)
    base, slope = np.linalg.lstsq(design, fraction, rcond=None)[0].tolist()
    return WordLaw(
        number_type,
        format.word_bits,
        format.window,
        format.code_bits,
        base,
        slope,
        float(np.abs(design @ (base, slope) - fraction).max()),
        analyse(np.concatenate(tensors), table).ratio,
    )
