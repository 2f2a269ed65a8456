"""Recorded densities of small trained networks, from which those of layers of large networks are derived.

The file (``data/densities.json``, or a user's) is a JSON object::

    {
      "source": "the command that recorded it",
      "networks": {
        "vgg": {
          "layers": [
            {
              "name": "relu0", "kind": "relu", "shape": [16, 32, 32],
              "progress": [0.0, 0.1, 1.0],
              "density":  [0.51, 0.40, 0.44],
              "ratio": {"zv": [1.84, 2.3, 2.1], "rl": [...], "zl": [...]}
            }
          ]
        }
      }
    }

Layers stand in the order of computation. ``kind`` is ``relu`` (after a convolution), ``fc`` (a ReLU after a
fully connected layer) or ``pool`` (maximum pooling), or of transformers ``residual``, ``gelu``, ``silu``, ``keys`` or
``values``. ``progress`` runs from 0, untrained, to 1, trained, and
rises; ``density`` is the part of the float32 words that is not zero; ``ratio``, which may be left out, is for
each codec raw bytes per compressed byte of NCHW tensors; ``shape``, which may be left out, is that of one image's
activations. A key ``default`` beside ``networks`` names the network whose record serves every network without one.
``data``, ``schedule`` and ``versions`` beside ``networks``, and ``accuracy`` beside ``layers``, are remarks that nothing
reads; any other key is refused.

Large networks are not trained here. :meth:`DensityTable.look_up` gives a layer of a large network the record
of the small one at the same kind, relative depth and progress, each interpolated linearly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cdma.base.toml_table import Table, TableError, read_json
from cdma.study.real.record import Tensor, recorded, recorded_names
from cdma.study.recorded import DATA

#: Kinds of recorded layers of transformers.
TOKEN_KINDS = ("residual", "gelu", "silu", "keys", "values")

#: Kinds of recorded layers.
KINDS = ("relu", "fc", "pool", *TOKEN_KINDS)


def recorded_densities_path() -> Path:
    """Returns the path of the densities that come with the package."""
    return DATA / "densities.json"


def transformer_densities_path() -> Path:
    """Returns the path of the record of the small transformer, which belongs to the densities of the package."""
    return DATA / "transformer_densities.json"


def bundled_densities() -> dict[str, Path]:
    """Returns the files of densities that come with the package, by name."""
    return {
        "recorded": recorded_densities_path(),
        **{path.stem: path for path in sorted((DATA / "densities").glob("*.json"))},
    }


@dataclass(frozen=True)
class LayerRecord:
    """The density of one layer, and compressed bytes per raw byte by codec, over the training."""

    name: str
    kind: str
    progress: NDArray[np.float64]
    density: NDArray[np.float64]
    fraction: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    #: Channels, height and width of one image's activations, or features alone; () if not recorded.
    shape: tuple[int, ...] = ()

    def at(self, progress: float, quantity: str = "density") -> float:
        """Returns the density, or the compressed fraction by a codec, at a moment of the training."""
        values = self.density if quantity == "density" else self.fraction[quantity]
        return float(np.interp(progress, self.progress, values))


@dataclass(frozen=True)
class DensityTable:
    """The records of several networks."""

    source: str
    networks: Mapping[str, Sequence[LayerRecord]]
    #: The network whose record serves every network without one.
    default: str | None = None

    def look_up(
        self, network: str, kind: str, depth: float, progress: float, quantity: str = "density"
    ) -> float:
        """Interpolates between the layers of ``kind`` of ``network`` at a relative ``depth``, 0 to 1 from first to last.

        If the network has no layer of that kind, its ReLU layers are used.
        """
        layers = self._layers(network, kind)
        depths = np.linspace(0.0, 1.0, len(layers)) if len(layers) > 1 else np.zeros(1)
        return float(np.interp(depth, depths, [layer.at(progress, quantity) for layer in layers]))

    def has(self, network: str, kind: str) -> bool:
        """Whether layers of ``kind`` can be looked up; those of transformers have no others in their place."""
        return kind not in TOKEN_KINDS or any(layer.kind == kind for layer in self._network(network))

    def codecs(self, network: str) -> tuple[str, ...]:
        """Returns the codecs whose ratio is recorded for every layer of ``network``."""
        layers = self._network(network)
        return tuple(name for name in layers[0].fraction if all(name in layer.fraction for layer in layers))

    def line(self, codec: str) -> tuple[float, float]:
        """Returns base and slope of a codec's compressed fraction over density, by least squares over all records."""
        density, fraction = [], []
        for layers in self.networks.values():
            for layer in layers:
                if codec in layer.fraction:
                    density.append(layer.density)
                    fraction.append(layer.fraction[codec])
        if not density:
            raise TableError(
                f"{self.source} has no ratio of {codec!r}; record it, or choose another algorithm"
            )
        x = np.concatenate(density)
        design = np.stack([np.ones_like(x), x], axis=1)
        base, slope = np.linalg.lstsq(design, np.concatenate(fraction), rcond=None)[0]
        return float(base), float(slope)

    def _network(self, network: str) -> Sequence[LayerRecord]:
        if network not in self.networks and self.default is not None:
            network = self.default
        if network not in self.networks:
            names = ", ".join(self.networks)
            raise TableError(f"{self.source} has no densities of {network!r}; it has {names}")
        return self.networks[network]

    def _layers(self, network: str, kind: str) -> Sequence[LayerRecord]:
        layers = self._network(network)
        return [layer for layer in layers if layer.kind == kind] or [
            layer for layer in layers if layer.kind == "relu"
        ]


def load_densities(path: Path | None = None) -> DensityTable:
    """Reads a file of densities, by default the one that comes with the package."""
    table = read_json(path or recorded_densities_path())
    networks = table.table("networks")
    records: dict[str, list[LayerRecord]] = {}
    for name in networks.names():
        network = networks.table(name)
        records[name] = [_layer(row) for row in network.rows("layers")]
        network.get("accuracy", None)
        network.done()
        if not any(layer.kind in ("relu", "residual") for layer in records[name]):
            raise TableError(
                f"{network.where} has no layer of kind 'relu', or 'residual' if it is a transformer, without which "
                "nothing can be looked up"
            )
    if not records:
        raise TableError(f"{networks.where} has no network")
    source = table.text("source", str(table.where))
    default = table.choice("default", list(records)) if "default" in table else None
    for remark in ("data", "schedule", "versions"):
        table.get(remark, None)
    table.done()
    return DensityTable(source, records, default)


def with_transformer(table: DensityTable) -> DensityTable:
    """Returns the table with the record of the small transformer beside its own."""
    return replace(
        table, networks={**load_densities(transformer_densities_path()).networks, **table.networks}
    )


def with_run(table: DensityTable) -> DensityTable:
    """Returns the table with the networks in use beside its own, by what is after a ReLU, or by the tokens of a decoder."""
    networks = {}
    for name in recorded_names():
        tensors = recorded(name).tensors
        networks[name] = _token_layers(tensors) or relu_layers(tensors)
    return replace(
        table, networks={name: layers for name, layers in networks.items() if layers} | {**table.networks}
    )


def relu_layers(tensors: Iterable[Tensor]) -> list[LayerRecord]:
    """What is after a ReLU in a network in use, whose densities stay as they are."""
    found = [tensor for tensor in tensors if tensor.kind == "after a ReLU"]
    return [LayerRecord(each.name, "relu", np.zeros(1), np.array([each.density])) for each in found]


#: What the names of the modules of a decoder end with that are not like the residual.
_TOKEN_MODULES = {"k_proj": "keys", "v_proj": "values", "act_fn": "silu"}


def _token_layers(tensors: Sequence[Tensor]) -> list[LayerRecord]:
    """The maps of a decoder in use, with codes of the exponent; nothing of another network."""
    if not any(each.name.endswith("k_proj") for each in tensors):
        return []
    found = []
    for each in tensors:
        raw = 2 * float(np.prod(each.shape))
        packed = min(size for name, size in each.rounded.items() if name.startswith("bf16")) / raw
        kind = _TOKEN_MODULES.get(each.name.rpartition(".")[2], "residual")
        record = np.array([each.density]), {"fields": np.array([packed])}
        found.append(LayerRecord(each.name, kind, np.zeros(1), *record))
    return found


def _layer(row: Table) -> LayerRecord:
    name = row.text("name")
    progress = np.array(row.numbers("progress"))
    if (np.diff(progress) <= 0).any() or progress[-1] > 1:
        raise TableError(
            f"{row.where} has progress = {progress.tolist()}; it must rise and stay within 0 and 1"
        )
    density = _over(row, "density", progress)
    if (density > 1).any():
        raise TableError(f"{row.where} has a density of {density.max():g}; a density lies within 0 and 1")
    fraction = {}
    ratios = row.table("ratio", {})
    for codec in ratios.names():
        ratio = _over(ratios, codec, progress)
        if (ratio <= 0).any():
            raise TableError(
                f"{ratios.where} has {codec} with a ratio of 0; a ratio is raw bytes per compressed byte"
            )
        fraction[codec] = 1 / ratio
    shape = tuple(int(size) for size in row.numbers("shape", least=1)) if "shape" in row else ()
    record = LayerRecord(name, row.choice("kind", KINDS), progress, density, fraction, shape)
    row.done()
    return record


def _over(row: Table, key: str, progress: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.array(row.numbers(key))
    if len(values) != len(progress):
        raise TableError(f"{row.where} has {len(values)} values of {key} and {len(progress)} of progress")
    return values
