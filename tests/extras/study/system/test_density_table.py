"""Recorded densities: looked up, interpolated, refused; and the compressed size of maps that follows. Feature maps, on
small networks worked out by hand and on the real ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cdma.base.toml_table import TableError
from cdma.study.system.density_table import DensityTable, LayerRecord, bundled_densities, load_densities
from cdma.study.system.feature_maps import Compression, feature_maps
from tests.extras.study.small_networks import CONV, RECORDED, small

LAYER = {"name": "relu0", "kind": "relu", "progress": [0.0, 1.0], "density": [0.5, 0.25]}


@pytest.mark.parametrize(
    ("networks", "message"),
    [
        ({}, "has no network"),
        ({"vgg": {"layers": [LAYER | {"kind": "conv"}]}}, "kind = 'conv'; it must be one of relu, fc, pool"),
        ({"vgg": {"layers": [LAYER | {"density": [0.5]}]}}, "has 1 values of density and 2 of progress"),
        ({"vgg": {"layers": [LAYER | {"density": [0.5, 1.5]}]}}, "has a density of 1.5"),
        ({"vgg": {"layers": [LAYER | {"density": [0.5, float("nan")]}]}}, "entry 2 = nan"),
        ({"vgg": {"layers": [LAYER | {"progress": [1.0, 0.0]}]}}, "it must rise and stay within 0 and 1"),
        ({"vgg": {"layers": [LAYER | {"ratio": {"zv": [0.0, 1.0]}}]}}, "has zv with a ratio of 0"),
    ],
)
def test_refused_densities(tmp_path: Path, networks: dict[str, Any], message: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"networks": networks}))
    with pytest.raises(TableError) as caught:
        load_densities(path)
    assert message in str(caught.value)


def test_densities_are_interpolated() -> None:
    table = DensityTable(
        "here",
        {
            "vgg": [
                LayerRecord("a", "relu", np.array([0.0, 1.0]), np.array([0.5, 0.3])),
                LayerRecord("p", "pool", np.array([0.0]), np.array([0.9])),
                LayerRecord("b", "relu", np.array([0.0, 1.0]), np.array([0.1, 0.1])),
            ]
        },
    )
    assert table.look_up("vgg", "relu", 0.0, 0.5) == pytest.approx(0.4)
    assert table.look_up("vgg", "relu", 0.25, 0.5) == pytest.approx(0.325)
    assert table.look_up("vgg", "pool", 0.7, 0.5) == 0.9
    assert table.look_up("vgg", "fc", 1.0, 0.0) == pytest.approx(0.1)
    with pytest.raises(TableError, match="here has no densities of 'alexnet'; it has vgg"):
        table.look_up("alexnet", "relu", 0, 0)
    with pytest.raises(TableError, match="here has no ratio of 'zl'; record it, or choose another algorithm"):
        table.line("zl")


def test_slides_stand_for_every_network() -> None:
    slides = load_densities(bundled_densities()["slides"])
    assert "slides" in slides.source
    assert slides.look_up("resnet", "relu", 0.0, 0.3) == 0.49
    assert slides.look_up("vgg", "pool", 1.0, 0.9) == 0.31


def test_a_density_in_the_table_wins() -> None:
    network = small({"name": "a", **CONV, "relu": True, "density": 0.125}, {"name": "b", **CONV})
    compression = Compression(network, RECORDED, "zv", RECORDED)
    (item,) = [item for item in feature_maps(network) if item.name == "a"]
    assert compression.density(item, 0.3) == 0.125
    assert compression.fraction(item, 0.3) == 0.125 + 1 / 32
