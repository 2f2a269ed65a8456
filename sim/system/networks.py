"""Networks as tables of layers: shapes, parameters and multiplications by shape inference.

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
``dropout = 0.5`` put such layers behind a ``conv``, ``fc``, ``add`` or ``batchnorm``; whoever names the layer
in ``from`` then gets what comes out behind them. ``density = 0.4`` lays down the density of what a layer
gives, instead of a recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdma.sim.support.data import DATA
from cdma.sim.support.toml_table import Table, TableError, read_toml

__all__ = ["INPUT", "KINDS", "Layer", "Network", "load_network", "network_names", "read_network"]

#: The name of the images that the first layer reads.
INPUT = "input"

_POOL_MODES = ("max", "average")
_DATA = DATA / "networks"

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Layer:
    """One layer, its shapes worked out."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    #: Channels, height and width of what it gives, for one image.
    shape: Shape
    #: Trained parameters.
    parameters: int = 0
    #: Multiplications with accumulation for one image.
    macs: int = 0
    #: Whether a convolution has kernels of 3 by 3 at every place, which have quicker algorithms.
    small_kernel: bool = False
    #: ``max`` or ``average`` for pooling.
    mode: str = ""
    #: Part of the values that dropout sets to zero.
    rate: float = 0.0
    #: Density of what it gives, where the table lays it down.
    density: float | None = None

    @property
    def elements(self) -> int:
        """Values that it gives for one image."""
        channels, height, width = self.shape
        return channels * height * width


@dataclass(frozen=True)
class Network:
    """A network for training: its layers in the order of computation."""

    name: str
    input_shape: Shape
    batch: int
    #: The network whose recorded densities stand for this one's.
    densities: str
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {layer.name: layer for layer in self.layers})

    def layer(self, name: str) -> Layer:
        """The layer of that name."""
        by_name: Mapping[str, Layer] = self._by_name  # type: ignore[attr-defined]
        return by_name[name]

    def elements(self, name: str) -> int:
        """Values that a layer, or the input, gives for one image."""
        if name == INPUT:
            channels, height, width = self.input_shape
            return channels * height * width
        return self.layer(name).elements

    @property
    def parameters(self) -> int:
        """Trained parameters of all layers."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def macs(self) -> int:
        """Multiplications with accumulation for one image, forward."""
        return sum(layer.macs for layer in self.layers)


def network_names() -> tuple[str, ...]:
    """The networks that come with the package."""
    return tuple(sorted(path.stem for path in _DATA.glob("*.toml")))


def load_network(name: str) -> Network:
    """The network of that name that comes with the package, or the one in that TOML file."""
    if name in network_names():
        return read_network(read_toml(_DATA / f"{name}.toml"))
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return read_network(read_toml(path))
    raise TableError(f"network is {name!r}; it must be a TOML file or one of {', '.join(network_names())}")


def read_network(table: Table) -> Network:
    """The network that a table describes; refuses what cannot be computed."""
    name = table.text("name")
    sides = table.get("input")
    if not isinstance(sides, list) or len(sides) != 3:
        raise TableError(
            f"{table.where} has input = {sides!r}; it must be a list of channels, height and width"
        )
    entries = Table(f"{table.where}, input", dict(zip(("channels", "height", "width"), sides, strict=True)))
    shape = (entries.whole("channels"), entries.whole("height"), entries.whole("width"))
    reader = _Reader(table.where, shape)
    for row in table.rows("layers"):
        reader.add(row)
    network = Network(
        name, shape, table.whole("batch"), table.text("densities", "vgg"), tuple(reader.layers.values())
    )
    table.done()
    return network


class _Reader:
    """Infers shapes while the layers come in."""

    def __init__(self, where: str, shape: Shape) -> None:
        self._where = where
        self.layers: dict[str, Layer] = {}
        self._shapes: dict[str, Shape] = {INPUT: shape}
        #: What a name in ``from`` stands for: the last of the layers that one row became.
        self._gives: dict[str, str] = {INPUT: INPUT}
        self._last = INPUT

    def add(self, row: Table) -> None:
        name = row.text("name")
        row = Table(f"{row.where} ({name})", {key: row.get(key) for key in row.names()})
        row.text("name")
        if name in self._gives:
            raise TableError(f"{row.where} is called like an earlier layer; a name may occur once")
        kind = row.choice("kind", KINDS)
        inputs = self._inputs(row)
        layer = _BUILDERS[kind](row, name, inputs, [self._shapes[source] for source in inputs])
        self._place(layer)
        if kind in ("conv", "fc", "add", "batchnorm"):
            self._followers(row, kind)
        if "density" in row:
            density = row.number("density", least=0.0, most=1.0)
            last = self.layers[self._last]
            self.layers[self._last] = Layer(**{**vars(last), "density": density})
        row.done()
        self._gives[name] = self._last

    def _followers(self, row: Table, kind: str) -> None:
        """The layers that a row asks for behind its own."""
        first = row.text("name")
        if kind in ("conv", "fc") and row.flag("batchnorm", False):
            shape = self._shapes[self._last]
            self._place(Layer(f"{first}/batchnorm", "batchnorm", (self._last,), shape, 2 * shape[0]))
        if row.flag("relu", False):
            self._place(Layer(f"{first}/relu", "relu", (self._last,), self._shapes[self._last]))
        rate = row.number("dropout", 0.0, least=0.0)
        if rate:
            self._place(_dropout(first + "/dropout", self._last, self._shapes[self._last], rate, row.where))

    def _place(self, layer: Layer) -> None:
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
        for name in names:
            if not isinstance(name, str) or name not in self._gives:
                raise TableError(f"{row.where} reads {name!r}, which no layer before it is called")
        return tuple(self._gives[name] for name in names)


def _one(row: Table, inputs: tuple[str, ...], shapes: list[Shape]) -> Shape:
    if len(inputs) != 1:
        raise TableError(f"{row.where} reads {len(inputs)} layers; this kind reads one")
    return shapes[0]


def _pair(row: Table, key: str, default: Any, least: int) -> tuple[int, int]:
    """A number for both height and width, or a list of the two."""
    value = row.get(key, default)
    pair = value if isinstance(value, list) else [value, value]
    if len(pair) != 2:
        raise TableError(
            f"{row.where} has {key} = {value!r}; it must be a number or a list of height and width"
        )
    for number in pair:
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise TableError(f"{row.where} has {key} = {value!r}; it must be whole numbers, {least} or more")
    return pair[0], pair[1]


def _slide(row: Table, shape: Shape, *, ceil: bool, default_stride: Any = 1) -> tuple[int, int, int, int]:
    """Kernel height and width, and height and width of what a sliding kernel gives."""
    kernel = _pair(row, "kernel", None, 1)
    stride = _pair(row, "stride", default_stride, 1)
    padding = _pair(row, "padding", 0, 0)
    sides = []
    for side, window, step, margin in zip(shape[1:], kernel, stride, padding, strict=True):
        room = side + 2 * margin - window
        if room < 0:
            raise TableError(
                f"{row.where} slides a kernel of {window} over {side} values with {margin} of padding on "
                "each side; the kernel must not be larger"
            )
        count = -(-room // step) + 1 if ceil else room // step + 1
        if ceil and (count - 1) * step >= side + margin:
            count -= 1  # a window must begin within the image or its first margin
        sides.append(count)
    return kernel[0], kernel[1], sides[0], sides[1]


def _conv(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    shape = _one(row, inputs, shapes)
    filters, groups = row.whole("filters"), row.whole("groups", 1)
    if shape[0] % groups or filters % groups:
        raise TableError(
            f"{row.where} has groups = {groups}; it must divide {shape[0]} channels in and {filters} filters"
        )
    high, wide, height, width = _slide(row, shape, ceil=False)
    weights = filters * (shape[0] // groups) * high * wide
    # Batch normalisation has its own offset, which makes a bias useless.
    bias = row.flag("bias", not row.get("batchnorm", False))
    return Layer(
        name,
        "conv",
        inputs,
        (filters, height, width),
        weights + filters * bias,
        weights * height * width,
        small_kernel=(high, wide) == (3, 3) and _pair(row, "stride", 1, 1) == (1, 1),
    )


def _pool(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    shape = _one(row, inputs, shapes)
    mode = row.choice("mode", _POOL_MODES, "max")
    if row.flag("global", False):
        return Layer(name, "pool", inputs, (shape[0], 1, 1), mode=mode)
    kernel = row.get("kernel")
    _, _, height, width = _slide(row, shape, ceil=row.flag("ceil", False), default_stride=kernel)
    return Layer(name, "pool", inputs, (shape[0], height, width), mode=mode)


def _fc(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    channels, height, width = _one(row, inputs, shapes)
    units = row.whole("units")
    weights = channels * height * width * units
    return Layer(name, "fc", inputs, (units, 1, 1), weights + units * row.flag("bias", True), weights)


def _batchnorm(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    shape = _one(row, inputs, shapes)
    return Layer(name, "batchnorm", inputs, shape, 2 * shape[0])


def _same_shape(kind: str) -> Any:
    def build(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
        return Layer(name, kind, inputs, _one(row, inputs, shapes))

    return build


def _dropout(name: str, source: str, shape: Shape, rate: float, where: str) -> Layer:
    if not 0 < rate < 1:
        raise TableError(f"{where} drops {rate!r} of the values; it must be more than 0 and less than 1")
    return Layer(name, "dropout", (source,), shape, rate=rate)


def _dropout_row(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    return _dropout(name, inputs[0], _one(row, inputs, shapes), row.number("rate"), row.where)


def _concat(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    if len({shape[1:] for shape in shapes}) != 1:
        raise TableError(
            f"{row.where} joins layers of different height or width: {', '.join(map(str, shapes))}"
        )
    return Layer(name, "concat", inputs, (sum(shape[0] for shape in shapes), *shapes[0][1:]))


def _add(row: Table, name: str, inputs: tuple[str, ...], shapes: list[Shape]) -> Layer:
    if len(inputs) < 2 or len(set(shapes)) != 1:
        raise TableError(
            f"{row.where} adds {', '.join(map(str, shapes))}; it needs two or more layers of one shape"
        )
    return Layer(name, "add", inputs, shapes[0])


_BUILDERS = {
    "conv": _conv,
    "pool": _pool,
    "fc": _fc,
    "relu": _same_shape("relu"),
    "lrn": _same_shape("lrn"),
    "softmax": _same_shape("softmax"),
    "batchnorm": _batchnorm,
    "dropout": _dropout_row,
    "concat": _concat,
    "add": _add,
}

#: Kinds of layers.
KINDS = tuple(_BUILDERS)
