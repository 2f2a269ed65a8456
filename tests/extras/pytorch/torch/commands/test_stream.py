"""``cdma bench stream``: rows by policy, outputs that must agree, and what is refused."""

from __future__ import annotations

import json

import pytest

from cdma.app import main

torch = pytest.importorskip("torch")

SMALL = ["bench", "stream", "--width", "128", "--hidden", "256", "--layers", "5", "--rounds", "1"]
#: Bytes of the device for less than all.
SMALL_ROOM = {"optimiser": 4 * 2 * 4 * 128 * 256, "cache": 2 * 2 * 128 * 400}


@pytest.mark.slow
def test_rows_have_what_a_record_needs(capsys):
    assert main([*SMALL, "--link", "10", "--policies", "raw", "compressed", "--json"]) == 0
    assert torch.is_grad_enabled()
    rows = {row["policy"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["raw", "compressed"]
    for row in rows.values():
        assert row["model"] == "5 layers of 128 x 256"
        assert row["rate"] == pytest.approx(1e3 / row["ms"])
        assert row["card"] == "cpu"
        assert row["tools"]["torch"] == torch.__version__
        assert row["late"] == row["hot"] == 0
    raw, compressed = rows.values()
    assert raw["ratio"] == raw["share"] == 1
    assert 1.3 < compressed["ratio"] < 1.45
    assert compressed["share"] == pytest.approx(compressed["rate"] / raw["rate"] / compressed["ratio"])
    assert compressed["moved"] * compressed["ratio"] == pytest.approx(raw["moved"], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("what", "ratio"), [("optimiser", 1.07), ("cache", 1.3)])
def test_states_and_keys_come_as_weights_do(what, ratio, capsys):
    options = ["--link", "10", "--ahead", "1", "--context", "200", "--layers", "3", "--json"]
    assert main([*SMALL, *options, "--what", what, "--device-bytes", str(SMALL_ROOM[what])]) == 0
    raw, compressed = json.loads(capsys.readouterr().out)
    assert (raw["policy"], compressed["policy"], raw["what"]) == ("raw", "compressed", what)
    assert (raw["ratio"], raw["share"]) == (1, 1)
    assert compressed["ratio"] > ratio
    assert compressed["moved"] < raw["moved"]
    assert compressed["hot"] < compressed["bytes"] == raw["bytes"]


def test_an_output_that_differs_is_an_error(monkeypatch, refused):
    from cdma.torch.codec import Codec

    unpack = Codec.unpack

    def wrong(self, packed, target=None):
        made = unpack(self, packed, target)
        made[:256].zero_()
        return made

    monkeypatch.setattr(Codec, "unpack", wrong)
    assert "compressed made another output than the plain model" in refused(
        *SMALL, "--policies", "compressed"
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--link", "0"], "link is 0 GB/s"),
        (["--width", "100"], "width is 100"),
        (["--ahead", "0"], "ahead is 0"),
        (["--what", "cache", "--context", "0"], "context is 0"),
        (["--device-bytes", "1000"], "device_bytes is 1,000"),
    ],
)
def test_impossible_options_are_refused(options, says, refused):
    assert says in refused(*SMALL, *options)
