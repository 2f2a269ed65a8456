"""``cdma bench kernels``: rows by codec and density, and what is refused."""

from __future__ import annotations

import json

import pytest

from cdma.app import main
from cdma.gpu.peers.codecs import available
from cdma.torch.bench import kernel_bench

SMALL = ["bench", "kernels", "--size", "0.0625", "--rounds", "1"]


def test_a_swap_is_all_that_a_tensor_waits_for(capsys):
    assert main([*SMALL, "--densities", "0.3", "0.9", "--link", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    expected = ["raw", *(name for name in kernel_bench.KERNELS if name in available())]
    assert [row["codec"] for row in rows] == 2 * expected
    for row in rows:
        assert row["bytes"] == 65_536
        assert row["out_ms"] == row["back_ms"] == pytest.approx(row["bytes"] / row["ratio"] / 1e6)
        parts = row["compress_ms"] + row["decompress_ms"] + row["out_ms"] + row["back_ms"]
        assert row["swap_ms"] == pytest.approx(parts)
        raw = rows[0 if row["density"] == 0.3 else len(expected)]
        assert row["speedup"] == pytest.approx(raw["swap_ms"] / row["swap_ms"])
    ratios = {row["codec"]: row["ratio"] for row in rows if row["density"] == 0.3}
    assert ratios["raw"] == 1
    assert ratios["zv"] > ratios["csr"] > ratios["rl"] > 1.3


def test_a_codec_that_does_not_give_back_what_it_had_is_an_error(monkeypatch, refused):
    make = kernel_bench.make

    class Wrong:
        def __init__(self, codec):
            self.compress = codec.compress
            self.decompress = lambda data, words: codec.decompress(data, words) + 1

    monkeypatch.setattr(kernel_bench, "make", lambda *given: Wrong(make(*given)))
    assert "zv did not give back what it was given" in refused(*SMALL)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--densities", "2"], "densities is 2"),
        (["--size", "0"], "size is 0"),
        (["--rounds", "0"], "rounds is 0"),
        (["--link", "0"], "link is 0 GB/s"),
    ],
)
def test_what_cannot_be_is_refused(options, says, refused):
    assert says in refused(*SMALL, *options)


def test_without_a_card_it_says_so(refused):
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert "there is no GPU here that PyTorch can use" in refused(*SMALL, "--cuda")
