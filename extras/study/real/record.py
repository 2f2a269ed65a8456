"""What is kept of a trained network: for each tensor its density, the bytes in every format, and what layouts and bounds do.

A record is JSON, ``data/real/NAME.json`` for those that come with cdma; a line is a tensor.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.toml_table import TableError, read_json
from cdma.hdl.spec.format import Format
from cdma.sim.codec.fit import Fit, TensorProfile, field_variants, fit, profile
from cdma.sim.codec.model import analyse
from cdma.sim.codec.number_types import bfloat16_bits
from cdma.study.compare.comparison import compare
from cdma.study.compare.entropy import bounded
from cdma.study.recorded import DATA

from .networks import Network
from .taps import INPUT, Tapped

#: Operations whose outputs are hardly ever negative, with zeros only where their inputs have them or are too small.
_POSITIVE = ("sigmoid", "logistic", "pow", "sqrt", "mul", "div", "sub", "where", "reducesum")
#: The exponent of the bound on the error, relative to the peak.
BOUND = -5
#: Codecs whose ratios depend on the layout.
_BY_LAYOUT = ("rl", "zl")
#: Parts of the channels that have at most the density that is recorded.
_QUARTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: The bytes of a tensor in every format: as it is, and rounded.
_BY_FORMAT = ("own", "rounded")
#: Exponents that are counted one by one, and elements of which a bound is tried.
_EXPONENTS, _BOUNDED = 12, 1 << 17


@dataclass(frozen=True)
class Tensor:
    """A tensor of a network.

    ``density``, ``minus_zeros``: Part of the elements that are not zero, bit for bit; and those that are minus zero.
    ``negative``: Part of the elements that are less than zero.
    ``channels``: The densities that no, a quarter, half, three quarters and all of the channels stay within.
    ``exponents``: The most frequent exponents of eight bits with their shares of all elements that are not zero.
    ``own``, ``rounded``: Bytes in every format as it is, and rounded to bfloat16.
    ``layouts``: Ratios of run lengths and of zlib by layout, for tensors of planes.
    ``bounded``: Ratios within ``2**BOUND`` of the peak: this hardware's, SZ's way and JPEG-ACT's, for tensors of
        planes.
    """

    name: str
    operation: str
    shape: Sequence[int]
    number_type: str
    density: float
    minus_zeros: int
    negative: float
    channels: Sequence[float]
    exponents: Mapping[str, float]
    own: Mapping[str, int]
    rounded: Mapping[str, int]
    layouts: Mapping[str, Sequence[float]]
    bounded: Sequence[float]

    @property
    def kind(self) -> str:
        """What sort of tensor it is, by its numbers and by what computed it."""
        if "softmax" in self.operation:
            return "weights of attention"
        if not self.negative and self.density < 1 and self.operation not in _POSITIVE:
            return "after a ReLU"
        if "norm" in self.operation:
            return "after a normalisation"
        if any(word in self.operation for word in ("conv", "linear", "matmul", "fully_connected")):
            return "products"
        return "sums, gates and others"

    def profile(self, *, rounded: bool = False) -> TensorProfile:
        """What a verdict is made of; ``rounded`` to bfloat16."""
        fits = tuple(
            Fit(_format(name), size) for name, size in (self.rounded if rounded else self.own).items()
        )
        kind = "bfloat16" if rounded else self.number_type
        raw = int(np.prod(self.shape)) * (4 if kind == "float32" else 2)
        return TensorProfile(self.name, tuple(self.shape), kind, raw, self.density, self.minus_zeros, fits)


@dataclass(frozen=True)
class Operation:
    """An operation of a network that makes a tensor.

    ``reads``: The places of the operations whose tensors it reads; -1 is the input of the network.
    ``elements``, ``parameters``, ``macs``: Elements of its tensor, its parameters, its multiplications.
    ``density``, ``packed``: Of its tensor, and bytes in the best format for bfloat16 per byte of bfloat16.
    """

    operation: str
    reads: Sequence[int]
    elements: int
    parameters: int
    macs: int
    density: float
    packed: float


@dataclass(frozen=True)
class Record:
    """A network: where it comes from, and a sample of its tensors.

    ``computed``, ``bytes``: How many tensors it computes, and their bytes.
    ``operations``: All of them in their order, if it is known what each reads.
    """

    name: str
    package: str
    licence: str
    what: str
    given: str
    computed: int
    bytes: int
    versions: Mapping[str, str]
    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...] = ()

    @cached_property
    def density(self) -> float:
        """Part of the elements of the recorded tensors that are not zero."""
        sizes = [float(np.prod(tensor.shape)) for tensor in self.tensors]
        return float(np.average([tensor.density for tensor in self.tensors], weights=sizes))

    def text(self) -> str:
        """The file, with a line for each tensor."""
        rows = [asdict(tensor) for tensor in self.tensors]
        # The names of the formats stand once, in the order of their first tensor.
        formats = {
            each: list(dict.fromkeys(name for row in rows for name in row[each])) for each in _BY_FORMAT
        }
        for row in rows:
            row |= {each: [row[each].get(name, 0) for name in names] for each, names in formats.items()}
        head = {key: value for key, value in asdict(self).items() if key not in _LINES}
        head |= {"formats": list(formats.values()), "columns": [field.name for field in fields(Tensor)]}
        lines = dict(zip(_LINES, (rows, map(asdict, self.operations)), strict=True))
        lists = ",\n".join(f' "{name}": [\n{_lines(each)}\n ]' for name, each in lines.items())
        return f"{json.dumps(head, indent=1)[:-2]},\n{lists}\n}}\n"


#: What a record has a line for each of.
_LINES = ("tensors", "operations")


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return ",\n".join(json.dumps(list(row.values()), separators=(",", ":")) for row in rows)


def recorded_names() -> tuple[str, ...]:
    """The networks whose records come with cdma."""
    return tuple(sorted(path.stem for path in (DATA / "real").glob("*.json")))


def load_record(path: Path) -> Record:
    """Reads a record."""
    table = read_json(path)
    try:
        columns, formats = table.get("columns"), table.get("formats")
        rows = []
        for values in table.get("tensors"):
            row = dict(zip(columns, values, strict=True))
            for key, names in zip(_BY_FORMAT, formats, strict=True):
                row[key] = {name: size for name, size in zip(names, row[key], strict=True) if size}
            rows.append(Tensor(**row))
        head = {name: table.get(name) for name in Record.__dataclass_fields__ if name not in _LINES}
        operations = tuple(Operation(*values) for values in table.get("operations"))
        return Record(**head, tensors=tuple(rows), operations=operations)
    except (TypeError, ValueError, KeyError) as error:
        raise TableError(f"{path} is not a record of a network: {error}") from None


def recorded(name: str) -> Record:
    """The record of that name that comes with cdma."""
    return load_record(DATA / "real" / f"{name}.json")


def make_record(
    network: Network,
    tensors: Iterable[Tapped],
    most: int,
    versions: Mapping[str, str],
    progress: Callable[[float], None] = lambda part: None,
) -> Record:
    """The record of what a network has computed: of ``most`` tensors, evenly spaced, if it has more."""
    taps = list(tensors)
    found = [tap for tap in taps if tap.fresh]
    chosen = np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).round().astype(int))
    rows = []
    for done, place in enumerate(chosen, 1):
        rows.append(_tensor(found[place]))
        progress(done / len(chosen))
    size = sum(tap.numbers.nbytes for tap in found)
    said = {name: getattr(network, name) for name in ("name", "package", "licence", "what", "given")}
    known = all(tap.reads is not None for tap in taps)
    operations = _operations(taps) if known else ()
    return Record(**said, computed=len(found), bytes=size, versions=dict(versions), tensors=_named_once(rows),
        operations=operations)  # fmt: skip


def _operations(taps: Sequence[Tapped]) -> tuple[Operation, ...]:
    places, rows = {INPUT: -1}, []
    for place, tap in enumerate(taps):
        bits = tap.numbers if tap.number_type == "bfloat16" else bfloat16_bits(tap.numbers)
        fits = (fit(bits, each) for each in field_variants(Format.preset("bf16")))
        sizes = (analyse(bits, each).compressed_bytes + len(each.values) for each in fits)
        counts = tap.numbers.size, tap.parameters, tap.macs
        density = _short(np.count_nonzero(tap.numbers.view(f"u{tap.numbers.itemsize}")) / tap.numbers.size)
        reads = [places[name] for name in tap.reads or ()]
        rows.append(Operation(tap.operation, reads, *counts, density, _short(min(sizes) / bits.nbytes)))
        places[tap.name] = place
    return tuple(rows)


def _named_once(rows: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors, with a number where a name comes again."""
    seen: dict[str, int] = {}
    named = []
    for row in rows:
        seen[row.name] = seen.get(row.name, 0) + 1
        named.append(row if seen[row.name] == 1 else replace(row, name=f"{row.name} ({seen[row.name]})"))
    return tuple(named)


def _tensor(tap: Tapped) -> Tensor:
    numbers = tap.numbers
    bits = numbers if tap.number_type == "bfloat16" else bfloat16_bits(numbers)
    own, rounded = profile(tap.name, numbers, tap.number_type), profile(tap.name, bits, "bfloat16")
    planes = _planes(tap)
    return Tensor(
        tap.name,
        tap.operation,
        list(numbers.shape),
        tap.number_type,
        _short(own.density),
        own.minus_zeros,
        _short(float(np.mean((bits >> 15 == 1) & (bits & 0x7FFF != 0)))),
        _channels(numbers, tap.channels),
        _exponents(bits),
        {str(fit): fit.compressed for fit in own.fits},
        {str(fit): fit.compressed for fit in rounded.fits},
        {} if planes is None else _layouts(planes),
        [] if planes is None else _bounded(planes),
    )


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _channels(numbers: NDArray[Any], axis: int) -> list[float]:
    """Quartiles of the densities of channels."""
    if numbers.ndim < 2:
        return []
    others = tuple(each for each in range(numbers.ndim) if each != axis % numbers.ndim)
    bits = numbers.view(f"u{numbers.itemsize}")
    densities = np.count_nonzero(bits, axis=others) / (numbers.size / numbers.shape[axis])
    return [_short(value) for value in np.quantile(densities, _QUARTILES)]


def _exponents(bits: NDArray[np.uint16]) -> dict[str, float]:
    counts = np.bincount((bits[bits != 0] >> 7) & 0xFF, minlength=256)
    most = [number for number in np.argsort(-counts, kind="stable")[:_EXPONENTS] if counts[number]]
    return {str(number): _short(counts[number] / counts.sum()) for number in most}


def _planes(tap: Tapped) -> NDArray[np.float32] | None:
    """The tensor as images, channels, rows and columns, with at most so many channels as bounds are tried on."""
    if tap.numbers.ndim != 4 or tap.number_type != "float32" or not np.isfinite(tap.numbers).all():
        return None
    planes = tap.numbers if tap.channels == 1 else tap.numbers.transpose(0, 3, 1, 2)
    most = max(1, _BOUNDED // max(1, planes[0, 0].size))
    chosen = np.ascontiguousarray(planes[:1, :most])
    return chosen if np.any(chosen) else None


def _layouts(planes: NDArray[np.float32]) -> dict[str, list[float]]:
    rows = compare(planes, network="", layer="", kind="", number_types=("float32",), names=_BY_LAYOUT)
    return {row.layout: [_short(row.ratio[name]) for name in _BY_LAYOUT] for row in rows}


def _bounded(planes: NDArray[np.float32]) -> list[float]:
    found = bounded(planes, BOUND)
    return [_short(found.cdma), _short(found.sz), _short(found.jpeg)]


def _format(name: str) -> Format:
    """A format that a :class:`.Fit` shows as ``name``; its table is another one."""
    base, _, more = name.partition(", ")
    code_bits = int(more[2:]) if more.startswith("c=") else 0
    if base.startswith(("zvc", "fvc")):
        return Format(int(base[3:]), code_bits=code_bits or 1).with_table((int(base.startswith("fvc")),))
    preset = Format.preset(base)
    if code_bits:
        preset = replace(preset, code_bits=code_bits, values=())
    return replace(preset, zero=preset.zero and more != "no zero").with_table((0,))
