"""What activations are like while networks train: recorded with :func:`record`, the command ``cdma study characterise
--train``, in two files of ``data/``, and drawn from these records as the figures of ``docs/study/characterisation.md``.

``densities.json``  density and ratios of every ReLU and pooling layer over the training, which
                    :mod:`cdma.study.system.density_table` reads
``ratios.json``     every codec on every layer after the training, in every number type and layout

The four observations on activation density in training, as statements with numbers on what was recorded.

Rhu et al. (HPCA 2018) made them on networks trained on ImageNet. Here each is a criterion that recorded
networks meet or not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError
from cdma.base.toml_table import Table, TableError, read_json
from cdma.gpu.peers import codecs
from cdma.sim.codec.model import ZVC
from cdma.sim.codec.words import words_of
from cdma.study.compare.comparison import BOUNDS, Row, compare, summarise
from cdma.study.recorded import DATA, record_text
from cdma.study.svg import Line, bar_chart, line_panels
from cdma.study.system.density_table import DensityTable, LayerRecord
from cdma.study.training.train import Schedule, Snapshot, train
from cdma.torch.extras import require, versions
from cdma.torch.networks import NETWORKS
from cdma.torch.networks.digits import TRAINING_IMAGES

if TYPE_CHECKING:
    import torch

#: The files that :func:`record` makes.
RECORDS = ("densities.json", "ratios.json")

#: Codecs whose ratio is recorded over the training; the others are compared after it only.
_OVER_TIME = ("zv", "rl", "zl")


def record(
    schedule: Schedule,
    networks: Sequence[str] | None = None,
    progress: Callable[[str, float], None] = lambda what, part: None,
    weights: bool = False,
) -> dict[str, bytes]:
    """Trains the networks and returns the contents of :data:`RECORDS` by name, and with ``weights`` NETWORK.pt of each.

    ``progress`` is called with what is done now and with the part of all work that is done, 0 to 1. Without
    ``networks`` all are trained.
    """
    require("torch", "torch")
    networks = NETWORKS if networks is None else networks
    if unknown := [name for name in networks if name not in NETWORKS]:
        raise ParameterError(f"network is {unknown[0]!r}; it must be one of {', '.join(NETWORKS)}")
    if not networks:
        raise ParameterError("no network is given; there must be at least one to train")
    names = codecs.available()
    made_with = versions()
    recorded: dict[str, Any] = {}
    rows: list[Row] = []
    stored: dict[str, bytes] = {}
    for done, network in enumerate(networks):
        series, trained = _Series(), _Trained()
        for snapshot in train(network, schedule, trained):
            progress(f"training {network}", (done + 0.8 * snapshot.step / schedule.steps) / len(networks))
            series.add(snapshot, snapshot.step / schedule.steps)
        recorded[network] = series.as_dict()
        if weights:
            stored[f"{network}.pt"] = trained.weights()
        for index, (layer, tensor) in enumerate(snapshot.activations.items(), 1):
            rows += compare(tensor, network=network, layer=layer, kind=_kind(snapshot, layer), names=names)
            part = 0.8 + 0.2 * index / len(snapshot.activations)
            progress(f"comparing codecs on {network}", (done + part) / len(networks))
    provenance = {
        "source": "cdma study characterise --train",
        "data": f"scikit-learn's digits, {TRAINING_IMAGES} training images of 32 x 32",
        "schedule": asdict(schedule),
        "versions": made_with,
    }
    default = {"default": "vgg"} if "vgg" in recorded else {}
    made = dict(
        zip(
            RECORDS,
            (
                record_text({**provenance, **default, "networks": recorded}).encode(),
                record_text({**provenance, **ratio_table(rows, names)}).encode(),
            ),
            strict=True,
        )
    )
    return made | stored


class _Trained:
    """Looks on while a network is trained, and has its weights afterwards."""

    def __call__(
        self, model: torch.nn.Module, optimiser: torch.optim.Optimizer
    ) -> AbstractContextManager[None]:
        self._model = model
        return nullcontext()

    def weights(self) -> bytes:
        """They, as :func:`torch.load` reads them."""
        buffer = BytesIO()
        require("torch", "torch").save(self._model.state_dict(), buffer)
        return buffer.getvalue()


def _kind(snapshot: Snapshot, layer: str) -> str:
    """Returns the kind of a layer, as :mod:`cdma.study.system.density_table` names it."""
    kind = snapshot.kinds[layer]
    return "fc" if kind == "relu" and snapshot.activations[layer].ndim == 2 else kind


class _Series:
    """The layers of a network, snapshot after snapshot."""

    def __init__(self) -> None:
        self._layers: dict[str, dict[str, Any]] = {}
        self._accuracy: float | None = None

    def add(self, snapshot: Snapshot, part: float) -> None:
        """Adds the activations after ``part`` of the training."""
        self._accuracy = snapshot.accuracy
        for name, tensor in snapshot.activations.items():
            layer = self._layers.setdefault(
                name,
                {
                    "name": name,
                    "kind": _kind(snapshot, name),
                    "shape": list(tensor.shape[1:]),
                    "progress": [],
                    "density": [],
                    "ratio": {codec: [] for codec in _OVER_TIME},
                },
            )
            layer["progress"].append(short(part))
            layer["density"].append(short(np.count_nonzero(tensor) / tensor.size))
            words = words_of(tensor, ZVC)
            for codec, ratios in layer["ratio"].items():
                ratios.append(short(words.nbytes / codecs.make(codec, ZVC.word_bits, words).size(words)))

    def as_dict(self) -> dict[str, Any]:
        """The record of one network."""
        return {"accuracy": self._accuracy and short(self._accuracy), "layers": list(self._layers.values())}


_COLUMNS = ("network", "layer", "kind", "number_type", "layout", "words", "density")


def _columns(codecs: Sequence[str]) -> list[str]:
    """Returns the name of every value of a row."""
    return [*_COLUMNS, *codecs, *(f"bound {name}" for name in BOUNDS)]


def load_ratios(path: Path | None = None) -> list[Row]:
    """Reads the rows of a ``ratios.json``, by default of the one that comes with the package."""
    table = read_json(path or DATA / "ratios.json")
    names = table.get("codecs")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TableError(f"{table.where} has codecs = {names!r}; it must be a list of names")
    keys = _columns(names)
    rows = []
    for index, values in enumerate(table.get("rows"), 1):
        where = f"{table.where}, row {index}"
        if not isinstance(values, list) or len(values) != len(keys):
            raise TableError(f"{where} is {values!r}; it must be a list of {len(keys)} values")
        row = Table(where, dict(zip(keys, values, strict=True)))
        rows.append(
            row.read(
                Row,
                ratio={name: row.number(name, above=0) for name in names},
                bound={name: row.number(f"bound {name}", above=0) for name in BOUNDS},
            )
        )
    return rows


def ratio_table(rows: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    """Returns the rows as a table with one list for each, as :func:`load_ratios` reads it."""
    return {
        "codecs": list(names),
        "columns": _columns(names),
        "rows": [
            [
                *(getattr(row, column) for column in _COLUMNS[:-1]),
                *(short(value) for value in (row.density, *row.ratio.values(), *row.bound.values())),
            ]
            for row in rows
        ],
    }


def short(value: float) -> float:
    """Rounds to five significant digits, which is what a record needs."""
    return float(f"{value:.5g}")


#: The most that the density of the first convolution may differ from one half.
_HALF = 0.1
#: The least fall of density that counts, and the least rise after it.
_FALL, _RISE = 0.05, 0.005


@dataclass(frozen=True)
class Finding:
    """One observation on one network."""

    #: 1 to 4.
    observation: int
    claim: str
    network: str
    holds: bool
    #: The numbers that decide, in words.
    evidence: str


def findings(table: DensityTable) -> list[Finding]:
    """Returns each observation on each network with the layers that it is about."""
    result = []
    for network, layers in table.networks.items():
        result.append(_first_near_half(network, layers))
        if any(layer.kind == "pool" for layer in layers):
            result.append(_pooling_raises(network, layers))
        if sum(layer.kind != "pool" for layer in layers) > 1:
            result.append(_u_over_time(network, layers))
            result.append(_later_is_sparser(network, layers))
    return sorted(result, key=lambda finding: finding.observation)


def _first_near_half(network: str, layers: Sequence[LayerRecord]) -> Finding:
    first = next(layer for layer in layers if layer.kind == "relu")
    low, high = float(first.density.min()), float(first.density.max())
    return Finding(
        1,
        f"the first convolution stays within {_HALF} of density 0.5",
        network,
        low >= 0.5 - _HALF and high <= 0.5 + _HALF,
        f"{first.name}: {low:.2f} to {high:.2f}, {first.density.mean():.2f} on average",
    )


def _pooling_raises(network: str, layers: Sequence[LayerRecord]) -> Finding:
    gains = np.concatenate(
        [
            layer.density - _density_before(layers, index)
            for index, layer in enumerate(layers)
            if layer.kind == "pool"
        ]
    )
    return Finding(
        2,
        "pooling always raises density",
        network,
        bool((gains > 0).all()),
        f"by {gains.min():+.2f} to {gains.max():+.2f}; it rises in {np.mean(gains > 0):.0%} of all looks",
    )


def _u_over_time(network: str, layers: Sequence[LayerRecord]) -> Finding:
    later = [layer for layer in layers if layer.kind != "pool"][1:]
    fallen = [layer for layer in later if layer.density[0] - layer.density.min() >= _FALL]
    risen = [layer for layer in fallen if layer.density[-1] - layer.density.min() >= _RISE]
    rise = max((float(layer.density[-1] - layer.density.min()) for layer in fallen), default=0.0)
    return Finding(
        3,
        f"most later layers fall by {_FALL} or more, then creep up by {_RISE} or more",
        network,
        len(risen) * 2 > len(later),
        f"of {len(later)} layers {len(fallen)} fall, {len(risen)} of these creep up, by up to {rise:.3f}",
    )


def _later_is_sparser(network: str, layers: Sequence[LayerRecord]) -> Finding:
    last = [float(layer.density[-1]) for layer in layers if layer.kind != "pool"]
    half = len(last) // 2
    early, late = float(np.mean(last[:half])), float(np.mean(last[-half:]))
    slope = float(np.corrcoef(np.arange(len(last)), last)[0, 1]) if np.ptp(last) else 0.0
    return Finding(
        4,
        "after training density falls with depth, and the later half of the layers is the sparser one",
        network,
        late < early and slope < -0.3,
        f"{early:.2f} in the earlier half, {late:.2f} in the later; correlation with depth {slope:+.2f}",
    )


def _density_before(layers: Sequence[LayerRecord], index: int) -> NDArray[np.float64]:
    """Returns the density of a pooling layer's input: of the layers before it that together have its channels."""
    channels = layers[index].shape[0] if layers[index].shape else 0
    density, seen = np.zeros_like(layers[index].density), 0
    for layer in reversed(layers[:index]):
        width = layer.shape[0] if layer.shape else 1
        density, seen = density + width * layer.density, seen + width
        if seen >= channels:
            break
    return density / max(seen, 1)


#: The most lines in one panel.
MOST_LINES = 6

#: The parts of a fire module.
_MODULES = {"squeeze": "squeeze", "expand1": "expand 1 x 1", "expand3": "expand 3 x 3"}

#: The names of codecs in the figures.
_TITLES = {"zv": "ZV (zero value)", "rl": "RL (run length)", "zl": "ZL (zlib)"}


class Training:
    """One network's ratio by one codec over its training, of all recorded layers together."""

    def __init__(self, layers: Sequence[LayerRecord], codec: str) -> None:
        sizes = np.array([math.prod(layer.shape) for layer in layers], np.float64)
        fractions = np.stack([layer.fraction[codec] for layer in layers])
        share = sizes @ fractions / sizes.sum()
        progress = layers[0].progress
        #: Raw bytes over compressed bytes of the whole training.
        self.average = 1 / float(np.trapezoid(share, progress) / (progress[-1] - progress[0]))
        #: The ratio of the layer and moment that compress best.
        self.maximum = 1 / float(fractions.min())


def over_training(table: DensityTable) -> dict[str, dict[str, Training]]:
    """Returns a row by network and codec, for the codecs that are recorded for every layer of the network."""
    return {
        network: {codec: Training(layers, codec) for codec in table.codecs(network)}
        for network, layers in table.networks.items()
    }


def figures(table: DensityTable, rows: Sequence[Row]) -> dict[str, str]:
    """Returns SVG texts by file name."""
    result = {f"density-{network}.svg": _densities(network, table) for network in table.networks}
    training = over_training(table)
    codecs = list(next(iter(training.values())))
    for quantity in ("average", "maximum"):
        result[f"ratio-{quantity}.svg"] = bar_chart(
            f"{quantity.capitalize()} compression ratio over training, float32 NCHW",
            list(training),
            {
                _TITLES.get(codec, codec): [
                    getattr(by_codec[codec], quantity) for by_codec in training.values()
                ]
                for codec in codecs
            },
            y_label="ratio",
        )
    summaries = summarise(rows)
    shown = [
        summary for summary in summaries if summary.number_type in ("float32", "bfloat16", "int8-affine")
    ]
    result["ratio-layouts.svg"] = bar_chart(
        "Average compression ratio after training, by number type and layout",
        [f"{summary.number_type} {summary.layout}" for summary in shown],
        {codec: [summary.average[codec] for summary in shown] for codec in shown[0].average},
        y_label="ratio",
        width=900,
    )
    return result


def _densities(network: str, table: DensityTable) -> str:
    return line_panels(
        f"{network}: density of each layer during training",
        {
            name: [
                Line(title, layer.progress.tolist(), layer.density.tolist(), dashed=layer.kind == "pool")
                for title, layer in layers
            ]
            for name, layers in _panels(table.networks[network]).items()
        },
        x_label="part of the training done",
        y_label="density",
        y_most=1.0,
    )


def _panels(layers: Sequence[LayerRecord]) -> dict[str, list[tuple[str, LayerRecord]]]:
    """Returns the layers by panel, with their names there: as many in one as one can tell apart.

    Layers in the same place of every fire module have a panel of their own, as have those of a stage of a ResNet.
    """
    groups: dict[str, list[tuple[str, LayerRecord]]] = {}
    single = []
    for layer in layers:
        if match := re.fullmatch(r"(fire\d+)\.relu_(\w+)", layer.name):
            groups.setdefault(_MODULES.get(match[2], match[2]), []).append((match[1], layer))
        elif match := re.fullmatch(r"stage(\d+)(block\d+\.\w+)", layer.name):
            groups.setdefault(f"stage {match[1]}", []).append((match[2], layer))
        else:
            single.append(layer)
    for layer in single:
        kind = "convolutions" if layer.kind == "relu" else "poolings, fully connected"
        panel = kind if len(single) > MOST_LINES else "outside of modules and stages"
        groups.setdefault(panel, []).append((layer.name, layer))
    return {
        panel + (f", {begin // MOST_LINES + 1}" if len(members) > MOST_LINES else ""): members[
            begin : begin + MOST_LINES
        ]
        for panel, members in groups.items()
        for begin in range(0, len(members), MOST_LINES)
    }
