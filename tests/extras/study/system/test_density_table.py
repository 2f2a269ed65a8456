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
from cdma.study.system.feature_maps import Compression, copied_parts, feature_maps
from cdma.study.system.networks import Network, load_network
from tests.extras.study.small_networks import CHAIN, CONV, RECORDED, small

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


def test_dense_maps_do_not_shrink() -> None:
    network = small({"name": "a", **CONV}, {"name": "b", **CONV})
    (item,) = [item for item in feature_maps(network) if item.name == "a"]
    fractions = {
        name: Compression(network, RECORDED, name, RECORDED).fraction(item, 0.5) for name in ("zv", "rl")
    }
    assert fractions == {"zv": 33 / 32, "rl": 1.0}


def test_recorded_ratios_are_taken_where_there_are_any() -> None:
    compression = Compression(CHAIN, RECORDED, "zl", RECORDED)
    first = feature_maps(CHAIN)[1]
    (record, *_) = [layer for layer in RECORDED.networks["vgg"] if layer.kind == "relu"]
    assert compression.fraction(first, 0.37) == pytest.approx(record.at(0.37, "zl"))
    slides = load_densities(bundled_densities()["slides"])
    base, slope = RECORDED.line("zl")
    guessed = Compression(CHAIN, slides, "zl", RECORDED).fraction(first, 0.37)
    assert guessed == pytest.approx(base + slope * 0.49)


def names(network: Network, places: tuple[int, ...]) -> list[str]:
    return [network.layers[place].name for place in places]


def test_maps_of_a_chain() -> None:
    maps = {item.name: item for item in feature_maps(CHAIN)}
    assert list(maps) == ["input", "a", "b", "p", "c", "f"]
    assert names(CHAIN, maps["b"].writers) == ["b", "b/relu"]
    assert names(CHAIN, maps["b"].readers) == ["p"]
    assert names(CHAIN, maps["b"].backward_users) == ["b/relu", "p"]
    assert names(CHAIN, maps["p"].backward_users) == ["p", "c"]
    assert not maps["f"].kept
    assert [(part.kind, part.depth) for part in maps["a"].sources] == [("relu", 0.0)]
    assert [(part.kind, part.depth) for part in maps["b"].sources] == [("relu", 0.5)]
    assert [part.kind for part in maps["p"].sources] == ["pool"]


def test_batch_normalisation_keeps_its_dense_input() -> None:
    network = small({"name": "a", **CONV, "batchnorm": True, "relu": True}, {"name": "b", **CONV})
    maps = {item.name: item for item in feature_maps(network)}
    assert [part.kind for part in maps["a"].sources] == ["dense"]
    assert names(network, maps["a"].backward_users) == ["a/batchnorm"]
    assert names(network, maps["a/batchnorm"].writers) == ["a/batchnorm", "a/relu"]
    assert [part.kind for part in maps["a/batchnorm"].sources] == ["relu"]


def test_normalisation_across_channels_leaves_zeros() -> None:
    """Maximum pooling of a dense map is dense, too."""
    network = small(
        {"name": "d", **CONV},
        {"name": "q", "kind": "pool", "kernel": 3, "stride": 1, "padding": 1},
        {"name": "a", **CONV, "relu": True},
        {"name": "n", "kind": "lrn"},
        {"name": "p", "kind": "pool", "kernel": 2},
        {"name": "m", "kind": "pool", "kernel": 2, "mode": "average"},
        {"name": "c", **CONV},
    )
    kinds = {item.name: [part.kind for part in item.sources] for item in feature_maps(network)}
    assert kinds["n"] == kinds["a"] == ["relu"]
    assert kinds["p"] == ["pool"]
    assert kinds["q"] == kinds["m"] == kinds["d"] == ["dense"]


def test_joined_maps_lie_in_the_joint_one_unless_others_read_them() -> None:
    rows = [
        {"name": "a", **CONV, "relu": True},
        {"name": "b", **CONV, "from": "a", "relu": True},
        {"name": "c", **CONV, "from": "a", "relu": True, "dropout": 0.5},
        {"name": "j", "kind": "concat", "from": ["b", "c"]},
        {"name": "d", **CONV},
    ]
    network = small(*rows)
    (joint,) = [item for item in feature_maps(network) if item.name == "j"]
    assert names(network, joint.writers) == ["b", "b/relu", "c", "c/relu", "c/dropout", "j"]
    assert [(part.depth, part.kept) for part in joint.sources] == [(0.5, 1.0), (1.0, 0.5)]
    assert copied_parts(network) == {"j": 0.0}
    shared = small(*rows, {"name": "e", **CONV, "from": "b"})
    assert copied_parts(shared) == {"j": 0.5}
    assert {"b", "j"} <= {item.name for item in feature_maps(shared)}


def test_a_density_in_the_table_wins() -> None:
    network = small({"name": "a", **CONV, "relu": True, "density": 0.125}, {"name": "b", **CONV})
    compression = Compression(network, RECORDED, "zv", RECORDED)
    (item,) = [item for item in feature_maps(network) if item.name == "a"]
    assert compression.density(item, 0.3) == 0.125
    assert compression.fraction(item, 0.3) == 0.125 + 1 / 32


@pytest.mark.parametrize("name", ["resnet50", "googlenet"])
def test_every_map_but_the_images_has_a_writer_before_its_readers(name: str) -> None:
    for item in feature_maps(load_network(name))[1:]:
        assert item.writers
        assert max(item.writers) < min(item.readers, default=10**9)
        assert sum(part.elements for part in item.sources) == item.elements
