"""Codecs side by side."""

import numpy as np
import pytest

from cdma import ParameterError
from cdma.study.compare import comparison
from tests.support.stimuli import rectified


class TestComparison:
    @pytest.fixture
    def rows(self):
        tensor = rectified((2, 16, 8, 8))
        return list(
            comparison.compare(tensor, network="n", layer="l", kind="relu", names=("zv", "rl", "fvc1"))
        )

    def test_every_type_and_layout_has_its_row_and_zeros_do_not_see_the_layout(self, rows):
        assert len({(row.number_type, row.layout) for row in rows}) == len(rows) == 15
        for number_type in ("float32", "int8"):
            assert len({row.ratio["zv"] for row in rows if row.number_type == number_type}) == 1

    def test_a_zero_point_defeats_it_and_a_learnt_table_does_not(self, rows):
        affine = next(row for row in rows if row.number_type == "int8-affine")
        symmetric = next(row for row in rows if row.number_type == "int8")
        assert affine.ratio["zv"] < 0.9 < 1.5 < affine.ratio["fvc1"]
        assert affine.ratio["fvc1"] == pytest.approx(symmetric.ratio["zv"], rel=0.05)

    def test_clustered_zeros_help_run_lengths_only(self):
        tensor = np.ones((1, 2, 8, 8), np.float32)
        tensor[:, 0] = 0
        rows = {
            row.layout: row
            for row in comparison.compare(
                tensor, network="n", layer="l", kind="relu", number_types=["float32"], names=("zv", "rl")
            )
        }
        assert rows["NCHW"].ratio["rl"] == 128 / 66
        assert rows["NHWC"].ratio["rl"] == 128 / 192
        assert rows["NCHW"].ratio["zv"] == rows["NHWC"].ratio["zv"] == 128 / 68

    def test_summary(self):
        def row(network, words, ratio):
            return comparison.Row(
                network, "l", "relu", "float32", "NCHW", words, 0.5, {"zv": ratio}, {"mask": 2}
            )

        (summary,) = comparison.summarise([row("a", 100, 2), row("a", 300, 1), row("b", 10, 4)])
        assert summary.average == {"zv": pytest.approx((400 / 350 + 4) / 2)}
        assert summary.maximum == {"zv": 4}
        assert (summary.tensors, summary.bound) == (3, {"mask": 2})

    def test_empty_tensor(self):
        with pytest.raises(ParameterError, match=r"n l has the shape \(0, 3\); an empty tensor has no ratio"):
            list(comparison.compare(np.zeros((0, 3), np.float32), network="n", layer="l", kind="fc"))
