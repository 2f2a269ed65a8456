"""The figures of ``docs/study/characterisation.md``, and what they are drawn from. The four observations on the recorded
densities. The recorded ratios, and what they say of codecs.
"""

from __future__ import annotations

import json
import math
from xml.etree import ElementTree

import numpy as np
import pytest

from cdma.base.toml_table import TableError
from cdma.study.compare.comparison import summarise
from cdma.study.system.density_table import DensityTable, LayerRecord, load_densities
from cdma.study.training.observations import MOST_LINES, figures, findings, load_ratios, over_training
from tests.support.paths import DATA


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


class TestObservations:
    """What the paper observed, and on which of the recorded networks it holds."""

    def test_which_hold_on_the_recorded_networks(self):
        """The first convolution stays near one half, pooling raises density; the others hold on the plain networks alone."""
        found = {(one.observation, one.network): one.holds for one in findings(load_densities())}
        plain = ("alexnet", "vgg")
        assert found == {
            (number, network): number < 3 or network in plain
            for number in (1, 2, 3, 4)
            for network in (*plain, "squeezenet", "resnet")
        }

    @staticmethod
    def made(*densities, kinds="rrrr", shapes=None):
        """A table with one network of layers with the given densities."""
        progress = np.linspace(0, 1, len(densities[0]))
        layers = [
            LayerRecord(f"l{place}", {"r": "relu", "p": "pool"}[kind], progress, np.array(density), {}, shape)
            for place, (density, kind, shape) in enumerate(
                zip(densities, kinds, shapes or [(1,)] * len(densities), strict=False)
            )
        ]
        return {finding.observation: finding for finding in findings(DensityTable("test", {"n": layers}))}

    def test_each_can_fail(self):
        assert self.made([0.5, 0.41], [0.5, 0.5])[1].holds
        assert not self.made([0.5, 0.39], [0.5, 0.5])[1].holds
        assert self.made([0.5] * 3, [0.5, 0.3, 0.31])[3].holds
        assert not self.made([0.5] * 3, [0.5, 0.3, 0.3])[3].holds
        assert not self.made([0.5] * 3, [0.5, 0.48, 0.5])[3].holds
        assert self.made([0.5] * 2, [0.4] * 2, [0.3] * 2, [0.2] * 2)[4].holds
        assert not self.made([0.2] * 2, [0.3] * 2, [0.4] * 2, [0.5] * 2)[4].holds

    def test_pooling_can_fail(self):
        assert self.made([0.5, 0.5], [0.6, 0.7], kinds="rp")[2].holds
        finding = self.made([0.5, 0.5], [0.6, 0.4], kinds="rp")[2]
        assert not finding.holds
        assert finding.evidence == "by -0.10 to +0.10; it rises in 50% of all looks"

    def test_pooling_of_layers_side_by_side(self):
        # The pooling's input is the two layers of 4 channels: mean density 0.5.
        result = self.made(
            [0.9] * 2, [0.7] * 2, [0.3] * 2, [0.6] * 2, kinds="rrrp", shapes=[(8,), (4,), (4,), (8,)]
        )
        assert result[2].evidence.startswith("by +0.10 to +0.10")

    def test_no_pooling_no_observation(self):
        assert 2 not in self.made([0.5, 0.5], [0.5, 0.5])


@pytest.fixture
def table():
    return load_densities()


@pytest.fixture
def rows():
    return load_ratios()


class TestRecords:
    def test_every_network_from_untrained_to_trained(self, table):
        assert set(table.networks) == {"alexnet", "vgg", "squeezenet", "resnet"}
        for layers in table.networks.values():
            for layer in layers:
                assert (layer.progress[0], layer.progress[-1]) == (0, 1)
                assert len(layer.progress) >= 20
                assert layer.shape

        record = json.loads((DATA / "densities.json").read_text(encoding="utf-8"))
        assert all(network["accuracy"] > 0.9 for network in record["networks"].values())
        assert (record["schedule"]["seed"], record["source"]) == (1, "cdma study characterise --train")

    def test_ratios_agree_with_densities_after_training(self, table, rows):
        for network, layers in table.networks.items():
            for layer in layers:
                row = next(
                    row
                    for row in rows
                    if (row.network, row.layer, row.number_type, row.layout)
                    == (network, layer.name, "float32", "NCHW")
                )
                assert row.density == pytest.approx(layer.density[-1], rel=1e-4)
                assert layer.fraction["zv"] == pytest.approx(1 / 32 + layer.density, rel=1e-3)
                assert row.ratio["rl"] == pytest.approx(1 / layer.fraction["rl"][-1], rel=1e-4)
                assert row.words == 32 * math.prod(layer.shape)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda record: record.update(codecs="zv"), "codecs = 'zv'; it must be a list of names"),
            (lambda record: record["rows"].__setitem__(0, [1]), r"row 1 is \[1\]; it must be a list of 18"),
            (lambda record: record["rows"][1].__setitem__(6, 2), "row 2 has density = 2"),
            (lambda record: record["rows"][1].__setitem__(7, 0), "row 2 has zv = 0"),
        ],
    )
    def test_damaged_ratios_are_refused(self, tmp_path, change, message):
        record = json.loads((DATA / "ratios.json").read_text(encoding="utf-8"))
        change(record)
        path = tmp_path / "ratios.json"
        path.write_text(json.dumps(record), encoding="utf-8")
        with pytest.raises(TableError, match=message):
            load_ratios(path)


class TestCodecsOnActivations:
    """What the comparison says, on the records."""

    @pytest.fixture
    def average(self, rows):
        return {(one.number_type, one.layout): one.average for one in summarise(rows)}

    def test_zero_value_compression_does_not_depend_on_layout_and_beats_run_lengths_of_floats(self, average):
        for number_type in ("float32", "float16", "bfloat16", "int8"):
            nchw, nhwc, chwn = (average[number_type, layout] for layout in ("NCHW", "NHWC", "CHWN"))
            assert nchw["zv"] == pytest.approx(nhwc["zv"], rel=1e-3) == pytest.approx(chwn["zv"], rel=1e-3)
            assert nchw["rl"] > 1.1 * chwn["rl"] > 1.2 * nhwc["rl"]
            assert nchw["zv"] > nchw["rl"] or number_type == "int8"

    def test_a_zero_point_needs_a_learnt_table(self, average):
        assert average["int8-affine", "NCHW"]["zv"] < 1
        assert average["int8-affine", "NCHW"]["fvc1"] == pytest.approx(
            average["int8", "NCHW"]["zv"], rel=0.02
        )

    def test_counted_codecs_stay_below_their_bounds(self, rows):
        for row in rows:
            assert row.ratio["fvc1"] <= row.bound["mask"] * 1.0001
            assert row.ratio["fvc4"] <= row.bound["table"] * 1.0001
