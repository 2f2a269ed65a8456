"""``cdma bench saved``: rows by way, gradients that must agree, and what is refused."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

SMALL = ["bench", "saved", "--cpu", "--networks", "small", "--batch", "2", "--rounds", "1"]


def test_rows_have_what_a_record_needs(printed):
    rows = {row["way"]: row for row in printed(*SMALL)}
    assert list(rows) == ["plain", "save_on_cpu", "checkpoint", "saved", "dense", "comet"]
    for row in rows.values():
        assert row["network"] == "small"
        assert row["batch"] == 2
        assert row["ms"] > 0
        assert row["card"] == "cpu"
        assert row["tools"]["torch"] == torch.__version__
        assert {"peak_share", "after_share"} <= set(row)
    assert rows["plain"]["slower"] == 1
    assert rows["plain"]["ratio"] is None
    assert rows["comet"]["ratio_conv"] > rows["saved"]["ratio_conv"] > 1
    assert [row["same"] for row in rows.values()] == [True, True, True, True, True, None]


def test_the_command_names_what_there_is():
    from cdma.torch.bench.saved_bench import BENCHED, WAYS
    from cdma.torch.commands.saved import NETWORK_NAMES, WAY_NAMES

    assert list(BENCHED) == list(NETWORK_NAMES)
    assert list(WAYS) == list(WAY_NAMES)


def test_a_gradient_that_differs_is_an_error(monkeypatch, refused):
    from cdma.torch.coded import _Elements

    back = _Elements.__call__
    monkeypatch.setattr(
        _Elements, "__call__", lambda stream: back(stream) * (2 if stream.dtype.is_floating_point else 1)
    )
    assert "saved changed a gradient of small" in refused(*SMALL, "--ways", "saved")


@pytest.mark.parametrize(
    ("options", "says"), [(["--rounds", "0"], "rounds is 0"), (["--batch", "0"], "batch is 0")]
)
def test_refusals(options, says, refused):
    assert says in refused("bench", "saved", *options)


def test_without_a_card_it_says_so(refused):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert "there is no GPU here that PyTorch can use" in refused("bench", "saved")
