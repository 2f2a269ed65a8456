"""Reports of all tensors of a network."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma import ParameterError
from cdma.sim.codec.number_types import quantise
from cdma.sim.codec.tensor_profile import NothingToProfile, profile
from cdma.sim.study.profile.link import Hidden, Settings
from cdma.sim.study.profile.report import Report
from tests.support.tensors import noise, tensor


class TestReport:
    tensors = (profile("sparse", noise(0.05, 65536)), profile("dense", noise(1.0, 32768)))

    def test_speedup_of_everything_and_of_what_is_worth_it(self):
        report = Report(self.tensors, Settings(units=8))
        plain = sum(one.raw for one in self.tensors)
        assert report.speedup == pytest.approx(plain / report.compressed)
        better = self.tensors[0].best.compressed + self.tensors[1].raw
        assert report.speedup_selected == pytest.approx(plain / better)
        assert report.speedup_selected > report.speedup

    def test_everything_hidden(self):
        assert Report(self.tensors, Settings(hidden=Hidden(1, 1))).speedup_selected == 1

    def test_units(self):
        report = Report(self.tensors, Settings(unit_rate=12.8e9))
        assert report.units_at_peak == math.ceil(self.tensors[0].ratio)
        enough = report.units_enough
        ideal = report.link_seconds(compressed=True, units=math.inf)
        assert report.link_seconds(compressed=True, units=enough) <= 1.01 * ideal
        assert enough == 1 or report.link_seconds(compressed=True, units=enough - 1) > 1.01 * ideal

    @given(
        rate=st.floats(1e6, 1e12),
        densities=st.lists(st.sampled_from([0.0, 0.02, 0.3, 1.0]), min_size=1, max_size=4),
    )
    def test_units_enough_is_the_least(self, rate, densities):
        known = {density: profile("t", tensor(density, 1024)) for density in set(densities)}
        report = Report(tuple(known[density] for density in densities), Settings(unit_rate=rate))
        limit = 1.01 * report.link_seconds(compressed=True, units=math.inf)
        enough = report.units_enough
        assert 1 <= enough <= report.units_at_peak
        assert report.link_seconds(compressed=True, units=enough) <= limit * (1 + 1e-9)
        assert enough == 1 or report.link_seconds(compressed=True, units=enough - 1) > limit

    def test_the_engine_for_all(self):
        quantised = quantise(tensor(0.3), affine=True)[0]
        report = Report((profile("f", tensor(0.2)), profile("q", quantised)), Settings())
        formats = report.formats()
        assert {fit.format.word_bits for fit in formats} == {8}
        assert formats == sorted(formats, key=lambda fit: fit.compressed)

    def test_json(self):
        report = Report(self.tensors, Settings()).as_dict()
        assert json.loads(json.dumps(report, allow_nan=False)) == report
        row = report["tensors"][0]
        assert row["saved_s"] == pytest.approx(row["link_s"] - row["compressed_link_s"])
        assert row["worth"] is True
        assert report["tensors"][1]["worth"] is False

    def test_nothing(self):
        with pytest.raises(NothingToProfile, match="there is no tensor to profile"):
            Report((), Settings())

    def test_hidden_time_of_no_tensor(self):
        with pytest.raises(
            ParameterError, match="hidden times are given for 'relu9', but no tensor has that name"
        ):
            Report(self.tensors, Settings(hidden_by_name={"relu9": Hidden()}))
