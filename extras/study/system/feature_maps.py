"""What a network keeps from its forward for its backward computation: its feature maps, the layers that use them, and their
compressed size, by algorithm and moment of the training.

Layers that work in place (ReLU, dropout) share the map of their input, and layers that are only joined write into the
joint map directly, as in frameworks that save memory. A backward computation reads what that of cuDNN reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from cdma.base.errors import ParameterError
from cdma.base.toml_table import TableError, read_json
from cdma.hdl.spec.format import Format
from cdma.study.recorded import DATA

from .density_table import DensityTable
from .layers import NUMBER_BYTES, Layer
from .networks import INPUT, Network

#: The kind of a source with almost no zeros.
_DENSE = "dense"

#: Layers that do not read their own output again, so that another layer may work on it in place.
_IN_PLACE_ON = ("conv", "fc", "linear", "batchnorm", "add", "concat", "relu", "dropout", "embedding")

#: Layers whose backward computation reads their inputs.
_READ_INPUTS = ("conv", "fc", "linear", "batchnorm", "layernorm", "gelu", "silu", "mul", "scores", "context")

#: What layers of transformers give is like what one of these gives in the record; all else is like the residual.
_TOKEN_SOURCES = {"gelu": "gelu", "silu": "silu"}
_TOKEN_LAYERS = ("embedding", "linear", "layernorm", "attention", "context", "mul")


@dataclass(frozen=True)
class Source:
    """A part of a map whose density comes from one record."""

    elements: int
    #: ``relu``, ``fc``, ``pool`` or a kind of transformers of the recorded densities, or ``dense``.
    kind: str
    #: The depth in the network, 0 to 1, among its layers of that kind.
    depth: float = 0.0
    #: The part of the values that dropout keeps.
    kept: float = 1.0
    #: The density that the table of the network fixes, if it does, and what codes of the exponent make of a byte.
    fixed: float | None = None
    packed: float | None = None

    def density(self, table: DensityTable, network: str, progress: float) -> float:
        """Returns the part of the words that is not zero."""
        if self.fixed is not None:
            return self.fixed
        if self.kind == _DENSE or not table.has(network, self.kind):
            return self.kept
        return self.kept * table.look_up(network, self.kind, self.depth, progress)

    @property
    def recorded(self) -> bool:
        """Whether its density is that of a record, without a change."""
        return self.fixed is None and self.kind != _DENSE and self.kept == 1.0


@dataclass(frozen=True)
class FeatureMap:
    """One region of memory with activations. Layers are given by their position in the network."""

    name: str
    #: Values for one image.
    elements: int
    #: Layers that write it, in the order of computation; no layer writes the images.
    writers: tuple[int, ...]
    #: Layers that read it and write another map.
    readers: tuple[int, ...]
    #: Layers whose backward computation reads it.
    backward_users: tuple[int, ...]
    sources: tuple[Source, ...]

    @property
    def kept(self) -> bool:
        """Whether it must survive until the backward computation."""
        return bool(self.backward_users)

    @property
    def offloaded_at(self) -> int:
        """The layer beside whose forward computation it is offloaded: its last reader."""
        return self.readers[-1]

    @property
    def needed_at(self) -> int:
        """The layer whose backward computation reads it first."""
        return self.backward_users[-1]


def feature_maps(network: Network) -> list[FeatureMap]:
    """Returns the maps of a network, in the order in which they are written, after the images."""
    home = _homes(network)
    roots = [INPUT] + [layer.name for layer in network.layers if home[layer.name] == layer.name]
    writers: dict[str, list[int]] = {root: [] for root in roots}
    readers: dict[str, list[int]] = {root: [] for root in roots}
    users: dict[str, list[int]] = {root: [] for root in roots}
    for index, layer in enumerate(network.layers):
        here = home[layer.name]
        writers[here].append(index)
        for source in dict.fromkeys(home[name] for name in layer.inputs):
            if source != here:
                readers[source].append(index)
        for needed in dict.fromkeys(home[name] for name in _needed(layer)):
            users[needed].append(index)
    sources = _Sources(network)
    maps = [
        FeatureMap(
            root,
            network.elements(root),
            tuple(writers[root]),
            tuple(readers[root]),
            tuple(users[root]),
            tuple(sources.of(_content(network, home, root))),
        )
        for root in roots
    ]
    return sorted(maps, key=lambda item: item.writers[0] if item.writers else -1)


def copied_parts(network: Network) -> dict[str, float]:
    """Returns the part of each joint layer's values that is copied into it, because other layers read its inputs."""
    home = _homes(network)
    return {
        layer.name: sum(network.elements(name) for name in layer.inputs if home[name] != home[layer.name])
        / layer.elements
        for layer in network.layers
        if layer.kind == "concat"
    }


def _homes(network: Network) -> dict[str, str]:
    """Returns the layer in whose map the values of each layer lie."""
    consumers: dict[str, list[str]] = {INPUT: []}
    for layer in network.layers:
        consumers[layer.name] = []
        for name in layer.inputs:
            consumers[name].append(layer.name)
    kinds = {layer.name: layer.kind for layer in network.layers}
    parent = {name: name for name in consumers}
    for layer in network.layers:
        if layer.kind in ("relu", "dropout"):
            (source,) = layer.inputs
            if consumers[source] == [layer.name] and kinds.get(source) in _IN_PLACE_ON:
                parent[layer.name] = source
        elif layer.kind == "concat":
            for source in layer.inputs:
                if consumers[source] == [layer.name] and source != INPUT:
                    parent[_root(parent, source)] = layer.name
    return {name: _root(parent, name) for name in parent}


def _content(network: Network, home: dict[str, str], root: str) -> str:
    """Returns the layer whose values a map holds in the end: the joint layer, or the last that works on it in place."""
    whole = [name for name, where in home.items() if where == root]
    return [name for name in whole if network.elements(name) == network.elements(root)][-1]


def _root(parent: dict[str, str], name: str) -> str:
    while parent[name] != name:
        name = parent[name]
    return name


def _needed(layer: Layer) -> tuple[str, ...]:
    """Returns what the backward computation of a layer reads beside gradients."""
    if layer.kind in _READ_INPUTS:
        return layer.inputs
    if layer.kind == "attention":
        return (*layer.inputs, layer.name)
    if layer.kind in ("relu", "softmax"):
        return (layer.name,)
    if layer.kind == "lrn" or (layer.kind == "pool" and layer.mode == "max"):
        return (*layer.inputs, layer.name)
    return ()


class _Sources:
    """Finds the sources of the densities of layers."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._ranks: dict[str, dict[str, float]] = {}
        chains: dict[str, list[str]] = {"relu": [], "fc": [], "pool": []}
        for layer in network.layers:
            if layer.kind == "relu":
                chains["fc" if self._after_fc(layer) else "relu"].append(layer.name)
            elif layer.kind == "pool" and layer.mode == "max":
                chains["pool"].append(layer.name)
        #: Keys and values, which attention reads as its second and third input.
        self._of_attention: dict[str, str] = {}
        for layer in network.layers:
            if layer.kind in ("scores", "attention"):
                self._of_attention[layer.inputs[1 if layer.kind == "attention" else -1]] = "keys"
            if layer.kind in ("context", "attention"):
                self._of_attention[layer.inputs[-1]] = "values"
        self._transformer = any(layer.kind == "layernorm" for layer in network.layers)
        for kind, names in chains.items():
            last = max(len(names) - 1, 1)
            self._ranks[kind] = {name: rank / last for rank, name in enumerate(names)}

    def of(self, name: str) -> list[Source]:
        """Returns the parts of the output of a layer."""
        elements = self._network.elements(name)
        if name == INPUT:
            return [Source(elements, _DENSE)]
        layer = self._network.layer(name)
        if layer.density is not None:
            return [Source(elements, _DENSE, fixed=layer.density, packed=layer.packed)]
        if layer.kind == "concat":
            return [part for source in layer.inputs for part in self.of(source)]
        if layer.kind == "lrn":
            return self.of(layer.inputs[0])  # Zero stays zero.
        if layer.kind == "dropout":
            return [self._dropped(part, layer.rate) for part in self.of(layer.inputs[0])]
        if layer.kind == "pool" and layer.mode == "max" and self._sparse(layer.inputs[0]):
            return [Source(elements, "pool", self._ranks["pool"][name])]
        if (token := self._token(layer)) is not None:
            return [Source(elements, token)]
        for kind in ("relu", "fc"):
            if name in self._ranks[kind]:
                return [Source(elements, kind, self._ranks[kind][name])]
        return [Source(elements, _DENSE)]

    def _token(self, layer: Layer) -> str | None:
        """Returns the recorded kind that the output of a layer of a transformer is like, if it is one."""
        if layer.kind not in _TOKEN_LAYERS:
            return _TOKEN_SOURCES.get(layer.kind) or (
                "residual" if layer.kind == "add" and self._transformer else None
            )
        return self._of_attention.get(layer.name, "residual")

    @staticmethod
    def _dropped(part: Source, rate: float) -> Source:
        if part.fixed is not None:
            return Source(part.elements, _DENSE, fixed=part.fixed * (1 - rate))
        return Source(part.elements, part.kind, part.depth, part.kept * (1 - rate))

    def _sparse(self, name: str) -> bool:
        return any(part.kind != _DENSE or part.fixed is not None for part in self.of(name))

    def _after_fc(self, layer: Layer) -> bool:
        source = layer.inputs[0]
        return source != INPUT and self._network.layer(source).kind == "fc"


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
