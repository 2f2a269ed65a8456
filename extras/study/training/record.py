"""Records what activations are like while networks train.

The package has two files in ``data/`` that :func:`record`, the command ``cdma study characterise --train``, made:

``densities.json``  density and ratios of every ReLU and pooling layer over the training, which
                    :mod:`cdma.study.system.density_table` reads
``ratios.json``     every codec on every layer after the training, in every number type and layout, which
                    :mod:`cdma.study.training.observations` reads
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from cdma.base.errors import ParameterError
from cdma.gpu.peers import codecs
from cdma.sim.codec.model import ZVC
from cdma.sim.codec.words import words_of
from cdma.study.compare.comparison import Row, compare
from cdma.study.recorded import record_text
from cdma.torch.extras import require, versions
from cdma.torch.networks import NETWORKS
from cdma.torch.networks.digits import TRAINING_IMAGES

from .observations import ratio_table, short
from .train import Schedule, Snapshot, train

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
