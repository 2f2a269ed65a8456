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
recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cdma.sim.support.data import DATA
from cdma.sim.support.toml_table import Table, TableError, read_toml

from .layers import BUILDERS, Layer, Shape, batchnorm, dropout

__all__ = ["INPUT", "Network", "load_network", "network_names", "read_network"]

#: The name of the images that the first layer reads.
INPUT = "input"

_DATA = DATA / "networks"


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
        """Values of the output of a layer, or of the input, for one image."""
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
    """Returns the networks that come with the package."""
    return tuple(sorted(path.stem for path in _DATA.glob("*.toml")))


def load_network(name: str) -> Network:
    """Returns the network of that name that comes with the package, or the one in that TOML file."""
    if name in network_names():
        return read_network(read_toml(_DATA / f"{name}.toml"))
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return read_network(read_toml(path))
    raise TableError(f"network is {name!r}; it must be a TOML file or one of {', '.join(network_names())}")


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
    reader = _Reader(table.where, shape)
    for row in table.rows("layers"):
        reader.add(row)
    network = Network(
        name, shape, table.whole("batch"), table.text("densities", "vgg"), tuple(reader.layers.values())
    )
    table.done()
    return network


class _Reader:
    """Adds layers one after the other, and infers their shapes."""

    def __init__(self, where: str, shape: Shape) -> None:
        self._where = where
        self.layers: dict[str, Layer] = {}
        self._shapes: dict[str, Shape] = {INPUT: shape}
        #: The layer that a name in ``from`` stands for: the last of those that one row became.
        self._gives: dict[str, str] = {INPUT: INPUT}
        self._last = INPUT

    def add(self, row: Table) -> None:
        name = row.text("name")
        row = Table(f"{row.where} ({name})", {key: row.get(key) for key in row.names()})
        row.text("name")
        if name in self._gives:
            raise TableError(f"{row.where} is called like an earlier layer; a name may occur once")
        kind = row.choice("kind", tuple(BUILDERS))
        inputs = self._inputs(row)
        layer = BUILDERS[kind](row, name, inputs, [self._shapes[source] for source in inputs])
        self._append(layer)
        if kind in ("conv", "fc", "add", "batchnorm"):
            self._followers(row, kind)
        if "density" in row:
            density = row.number("density", least=0.0, most=1.0)
            last = self.layers[self._last]
            self.layers[self._last] = replace(last, density=density)
        row.done()
        self._gives[name] = self._last

    def _followers(self, row: Table, kind: str) -> None:
        """Adds the layers that a row asks for after its own."""
        first = row.text("name")
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
        for name in names:
            if not isinstance(name, str) or name not in self._gives:
                raise TableError(f"{row.where} reads {name!r}, which no layer before it is called")
        return tuple(self._gives[name] for name in names)
