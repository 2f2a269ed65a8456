"""The figures of ``docs/study/characterisation.md``, drawn from records."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from cdma.study.compare.comparison import Row, summarise
from cdma.study.svg import Line, bar_chart, line_panels
from cdma.study.system.density_table import DensityTable, LayerRecord

__all__ = ["MOST_LINES", "Training", "figures", "over_training"]

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
        square_root=True,
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
