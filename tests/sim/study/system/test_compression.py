"""The compressed size of maps."""

from __future__ import annotations

import pytest

from cdma.sim.study.system.compression import Compression
from cdma.sim.study.system.density_table import bundled_densities, load_densities
from cdma.sim.study.system.feature_maps import feature_maps
from tests.support.small_networks import CHAIN, CONV, RECORDED, small


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
