"""The figures of ``docs/study/characterisation.md``, and what they are drawn from."""

from xml.etree import ElementTree

import numpy as np

from cdma.study.system.density_table import DensityTable, LayerRecord, load_densities
from cdma.study.training.figures import MOST_LINES, figures, over_training
from cdma.study.training.ratios import load_ratios


def test_figures_are_well_formed():
    for svg in figures(load_densities(), load_ratios()).values():
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg")


def test_over_training():
    table = load_densities()
    training = over_training(table)
    for network, layers in table.networks.items():
        assert training[network]["zv"].maximum == max(1 / layer.fraction["zv"].min() for layer in layers)
        assert 1 < training[network]["zv"].average < training[network]["zv"].maximum


def test_every_layer_is_in_one_panel():
    table = load_densities()
    drawn = figures(table, load_ratios())
    for network, layers in table.networks.items():
        root = ElementTree.fromstring(drawn[f"density-{network}.svg"])
        panels = [element for element in root.iter() if element.get("class") == "panel"]
        lines = [sum(each.tag.endswith("polyline") for each in panel.iter()) for panel in panels]
        assert sum(lines) == len(layers)
        assert max(lines) <= MOST_LINES


def test_a_long_network_of_any_names_has_several_panels():
    layers = [
        LayerRecord(f"layer{number}", "relu", np.array([0.0, 1.0]), np.array([0.5, 0.5]))
        for number in range(8)
    ]
    svg = figures(DensityTable("mine", {"mine": layers}, "mine"), load_ratios())["density-mine.svg"]
    assert "convolutions, 1" in svg
    assert "convolutions, 2" in svg
