"""The figures of ``docs/characterisation.md``, and what they are drawn from."""

from xml.etree import ElementTree

from cdma.sim.system.density_table import load_densities
from cdma.sim.training.figures import figures, over_training
from cdma.sim.training.ratios import load_ratios


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
