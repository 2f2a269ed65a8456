"""The figures of ``docs/study/characterisation.md``, and what they are drawn from. The four observations on the recorded
densities. The recorded ratios, and what they say of codecs.
"""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from cdma.base.toml_table import TableError
from cdma.study.svg import bar_chart, line_chart
from cdma.study.system.density_table import DensityTable, LayerRecord, load_densities
from cdma.study.training.observations import figures, findings, load_ratios, over_training
from tests.support.paths import DATA


def test_over_training():
    table = load_densities()
    training = over_training(table)
    for network, layers in table.networks.items():
        assert training[network]["zv"].maximum == max(1 / layer.fraction["zv"].min() for layer in layers)
        assert 1 < training[network]["zv"].average < training[network]["zv"].maximum


def test_a_long_network_of_any_names_has_several_panels():
    layers = [
        LayerRecord(f"layer{number}", "relu", np.array([0.0, 1.0]), np.array([0.5, 0.5]))
        for number in range(8)
    ]
    svg = figures(DensityTable("mine", {"mine": layers}, "mine"), load_ratios())["density-mine.svg"]
    assert "convolutions, 1" in svg
    assert "convolutions, 2" in svg


def test_names_in_charts_are_escaped_and_nothing_is_drawn_of_nothing():
    bars = bar_chart("a < b & c", ["<g>"], {"<n>": [1.0]}, y_label="<y>")
    assert "<g>" not in bars
    empty = line_chart("t", [], x_label="x", y_label="y"), bar_chart("t", [], {}, y_label="y")
    assert all(ElementTree.fromstring(svg) is not None for svg in (bars, *empty))


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.update(codecs="zv"), "codecs = 'zv'; it must be a list of names"),
        (lambda record: record["rows"].__setitem__(0, [1]), r"row 1 is \[1\]; it must be a list of 18"),
        (lambda record: record["rows"][1].__setitem__(6, 2), "row 2 has density = 2"),
        (lambda record: record["rows"][1].__setitem__(7, 0), "row 2 has zv = 0"),
    ],
)
def test_damaged_ratios_are_refused(tmp_path, change, message):
    record = json.loads((DATA / "ratios.json").read_text(encoding="utf-8"))
    change(record)
    path = tmp_path / "ratios.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(TableError, match=message):
        load_ratios(path)
