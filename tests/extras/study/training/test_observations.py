"""The four observations on the recorded densities."""

import numpy as np

from cdma.study.system.density_table import DensityTable, LayerRecord, load_densities
from cdma.study.training.observations import findings


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
