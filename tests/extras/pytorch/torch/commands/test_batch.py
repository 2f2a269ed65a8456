"""``cdma bench batch``: the batch grows with what a way saves."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

SMALL = ["bench", "batch", "--cpu", "--networks", "small", "--multiple", "4", "--rounds", "1"]


def test_compression_lets_larger_batches_fit(printed):
    rows = printed(*SMALL, "--memory", "0.001", "0.002")
    assert [row["way"] for row in rows] == 2 * ["plain", "saved", "comet"]
    for plain, saved, comet in (rows[:3], rows[3:]):
        assert plain["batch"] < saved["batch"] < comet["batch"]
        assert plain["faster"] == 1
        for row in (plain, saved, comet):
            assert row["batch"] % 4 == 0
            assert 0.8 * row["memory"] < row["peak"] <= row["memory"]
            assert row["images_per_second"] > 0
            assert row["tools"]["torch"] == torch.__version__
    assert rows[0]["batch"] < rows[3]["batch"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rounds", "0"], "rounds is 0"),
        (["--multiple", "0"], "multiple is 0"),
        (["--memory", "0"], "memory is 0"),
        (["--memory", "0.00001"], "a step with a batch of 4, the smallest, takes"),
    ],
)
def test_refusals(options, says, refused):
    assert says in refused(*SMALL, *options)
