"""Networks as tables of layers, with the shapes inferred from the first layer to the last.

A network is a TOML file::

    name = "small"
    input = [3, 32, 32]        # channels, height, width
    batch = 64
    densities = "vgg"          # whose recorded densities its layers take
    layers = [
      {name = "conv0", kind = "conv", filters = 16, kernel = 3, padding = 1, relu = true},
      {name = "pool0", kind = "pool", kernel = 2, stride = 2},
      {name = "fc0", kind = "fc", units = 10},
      {name = "prob", kind = "softmax"},
    ]

A layer reads the one before it, or those named by ``from``. ``relu = true``, ``batchnorm = true`` and
``dropout = 0.5`` put such layers after a ``conv``, ``fc``, ``add`` or ``batchnorm``; the name of the row in
``from`` then stands for the last of them. ``density = 0.4`` fixes the density of the output, in the place of a
recorded one. ``type = "bf16"`` is the type of a layer's numbers (``fp32``, ``bf16``, ``fp16``, ``int8``), or beside
``name`` that of all layers.

A row ``{name = "block", kind = "repeat", times = 12, layers = [...]}`` stands for its layers twelve times over, as
``block0/...`` to ``block11/...``; within it, ``from`` looks among the layers of the repetition first, and
``"before"`` is the layer before the repetition. Tokens are images of one row, ``input = [1, 1, 128]`` for 128 of them.

Networks that people run are made from the operations in their records. A map has the density of its own record, and in codes
of the exponent its own compressed bytes. Numbers are of bf16, as for a training today; an image of the batch is the whole
input that the record was made with. Operations without a kind of layer count as the nearest that reads and keeps the
same: every function of one tensor as ``silu``, whose input the backward computation reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cdma.base.toml_table import Table, TableError
from cdma.study.real.record import Operation, Record, recorded, recorded_names
from cdma.study.recorded import table_named, table_names

from .layers import BUILDERS, NUMBER_BYTES, TOKEN_BUILDERS, Layer, Shape, attention, batchnorm, dropout

#: The name of the images that the first layer reads.
INPUT = "input"

_BUILDERS = {**BUILDERS, **TOKEN_BUILDERS}
_KINDS = (*_BUILDERS, "attention")
#: Kinds with ``relu`` and ``dropout`` in their own row.
_LEADS = ("conv", "fc", "linear", "add", "batchnorm", "embedding")


@dataclass(frozen=True)
class Network:
    """A network for training: its layers in the order of computation."""

    name: str
    input_shape: Shape
    batch: int
    #: The network whose recorded densities stand for this one's.
    densities: str
    layers: tuple[Layer, ...]
    #: The type of the numbers of its input.
    number_type: str = "fp32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {layer.name: layer for layer in self.layers})

    def layer(self, name: str) -> Layer:
        """The layer of that name."""
        by_name: Mapping[str, Layer] = self._by_name  # type: ignore[attr-defined]
        return by_name[name]

    def elements(self, name: str) -> int:
        """Values of the output of a layer, or of the input, for one image."""
        if name == INPUT:
            channels, height, width = self.input_shape
            return channels * height * width
        return self.layer(name).elements

    def bytes_of(self, name: str) -> int:
        """Bytes of the output of a layer, or of the input, for one image."""
        number = NUMBER_BYTES[self.number_type] if name == INPUT else self.layer(name).number_bytes
        return self.elements(name) * number

    @property
    def parameters(self) -> int:
        """Trained parameters of all layers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def macs(self) -> int:
        """Multiplications with accumulation for one image, forward."""
        return sum(layer.macs for layer in self.layers)


def network_names() -> tuple[str, ...]:
    """Returns the networks that come with the package."""
    return table_names("network")


def load_network(name: str) -> Network:
    """Returns the network of that name that comes with the package, or is recorded, or the one in that TOML file."""
    if name not in network_names() and name in recorded_names():
        return recorded_network(recorded(name))
    return read_network(table_named("network", name))


def read_network(table: Table) -> Network:
    """Returns the network that a table describes; refuses one that cannot be computed."""
    name = table.text("name")
    sides = table.get("input")
    if not isinstance(sides, list) or len(sides) != 3:
        raise TableError(
            f"{table.where} has input = {sides!r}; it must be a list of channels, height and width"
        )
    entries = Table(f"{table.where}, input", dict(zip(("channels", "height", "width"), sides, strict=True)))
    shape = (entries.whole("channels"), entries.whole("height"), entries.whole("width"))
    types = tuple(NUMBER_BYTES)
    number_type = table.choice("type", types, "fp32")
    reader = _Reader(table.where, shape, number_type)
    for row in table.rows("layers"):
        reader.add(row)
    network = Network(
        name,
        shape,
        table.whole("batch"),
        table.text("densities", "vgg"),
        tuple(reader.layers.values()),
        number_type,
    )
    table.done()
    return network


class _Reader:
    """Adds layers one after the other, and infers their shapes."""

    def __init__(self, where: str, shape: Shape, number_type: str) -> None:
        self._where = where
        self._type = number_type
        self.layers: dict[str, Layer] = {}
        self._shapes: dict[str, Shape] = {INPUT: shape}
        #: The layer that a name in ``from`` stands for: the last of those that one row became.
        self._gives: dict[str, str] = {INPUT: INPUT}
        self._last = INPUT
        #: Within a repetition: what the names of its layers begin with, and the layer before it.
        self._prefix, self._before = "", ""

    def add(self, row: Table) -> None:
        if row.get("kind", None) == "repeat":
            self._repeat(row)
            return
        name = self._prefix + row.text("name")
        row = Table(f"{row.where} ({name})", {key: row.get(key) for key in row.names()})
        row.text("name")
        if name in self._gives:
            raise TableError(f"{row.where} is called like an earlier layer; a name may occur once")
        kind = row.choice("kind", _KINDS)
        inputs = self._inputs(row)
        shapes = [self._shapes[source] for source in inputs]
        number_type = row.choice("type", tuple(NUMBER_BYTES), self._type)
        done = len(self.layers)
        if kind == "attention":
            for layer in attention(row, name, inputs, shapes):
                self._append(layer)
        else:
            self._append(_BUILDERS[kind](row, name, inputs, shapes))
        if kind in _LEADS:
            self._followers(row, kind, name)
        if "density" in row:
            density = row.number("density", least=0.0, most=1.0)
            self.layers[self._last] = replace(self.layers[self._last], density=density)
        for new in list(self.layers)[done:]:
            self.layers[new] = replace(self.layers[new], number_type=number_type)
        row.done()
        self._gives[name] = self._last

    def _repeat(self, row: Table) -> None:
        """Adds the layers of a repetition, as often as it says."""
        name = row.text("name")
        if self._prefix:
            raise TableError(f"{row.where} ({name}) is a repetition within another one")
        row.text("kind")
        for index in range(row.whole("times")):
            self._prefix, self._before = f"{name}{index}/", self._last
            for inner in row.rows("layers"):
                self.add(inner)
        self._prefix = ""
        row.done()

    def _followers(self, row: Table, kind: str, first: str) -> None:
        """Adds the layers that a row asks for after its own."""
        if kind in ("conv", "fc") and row.flag("batchnorm", False):
            self._append(batchnorm(f"{first}/batchnorm", self._last, self._shapes[self._last]))
        if row.flag("relu", False):
            self._append(Layer(f"{first}/relu", "relu", (self._last,), self._shapes[self._last]))
        rate = row.number("dropout", 0.0, least=0.0)
        if rate:
            self._append(dropout(first + "/dropout", self._last, self._shapes[self._last], rate, row.where))

    def _append(self, layer: Layer) -> None:
        self.layers[layer.name] = layer
        self._shapes[layer.name] = layer.shape
        self._last = layer.name

    def _inputs(self, row: Table) -> tuple[str, ...]:
        named = row.get("from", None)
        if named is None:
            return (self._last,)
        names = [named] if isinstance(named, str) else named
        if not isinstance(names, list) or not names:
            raise TableError(
                f"{row.where} has from = {named!r}; it must be a layer's name or a list of names"
            )
        return tuple(self._named(row, name) for name in names)

    def _named(self, row: Table, name: object) -> str:
        """Returns the layer that a name in ``from`` stands for."""
        if isinstance(name, str):
            if self._prefix and name == "before":
                return self._before
            for full in (self._prefix + name, name):
                if full in self._gives:
                    return self._gives[full]
        raise TableError(f"{row.where} reads {name!r}, which no layer before it is called")


#: From the operations of ONNX, TensorFlow Lite, ncnn and PyTorch to kinds of layers.
_OPERATIONS = {
    "conv": "conv conv2d conv_2d depthwise_conv_2d convolution convolutiondepthwise convtranspose transpose_conv",
    "linear": "linear matmul gemm fully_connected lstm",
    "relu": "relu",
    "pool": "maxpool maxpool2d max_pool_2d averagepool average_pool_2d globalaveragepool mean reducemean reducesum "
    "reducemax reducemin resize resize_bilinear interp pixelshuffle where neg",
    "batchnorm": "batchnorm2d batchnormalization",
    "concat": "concat concatenation",
    "softmax": "softmax",
    "add": "add sub binaryop eltwise",
    "mul": "mul div",
}
_KIND = {operation: kind for kind, operations in _OPERATIONS.items() for operation in operations.split()}


def recorded_network(record: Record, batch: int = 32) -> Network:
    """The network of a record that has operations."""
    names = [f"{place}:{operation.operation}" for place, operation in enumerate(record.operations)]
    layers = [
        _layer(name, operation, names) for name, operation in zip(names, record.operations, strict=True)
    ]
    # What the first operation reads is not recorded; it is little beside the maps, and nobody offloads it.
    return Network(record.name, (1, 1, 1), batch, "vgg", tuple(layers), "bf16")


def _layer(name: str, operation: Operation, names: list[str]) -> Layer:
    inputs = tuple(names[place] if place >= 0 else INPUT for place in operation.reads)
    kind = _KIND.get(operation.operation, "silu")
    if kind == "linear" and not operation.parameters:
        kind = "context"  # A product of two tensors.
    elif kind in ("add", "mul") and len(inputs) == 1:
        kind = "add"  # With a constant: the backward computation reads nothing.
    return Layer(
        name,
        kind,
        inputs,
        (operation.elements, 1, 1),
        operation.parameters,
        operation.macs,
        mode="max"
        if "maxpool" in operation.operation.replace("_", "")
        else "average"
        if kind == "pool"
        else "",
        density=operation.density,
        packed=operation.packed,
        number_type="bf16",
    )
