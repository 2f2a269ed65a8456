"""``cdma bench gpu``: rows as documented, and one sentence where there is no GPU."""

from __future__ import annotations

import json

import pytest

from cdma.app import main
from cdma.gpu import extras
from cdma.gpu.measure import Timing, copy_row, row

COLUMNS = ["card", "data", "codec", "ratio", "compress", "decompress", "share"]


class _Measured:
    """Stands for a GPU."""

    def require_cuda(self):
        pass

    def measure(self, data, format, density, size, tensors, rounds, seed, left_out):
        left_out("nvCOMP's Zstd is left out: it has none")
        yield copy_row("a GPU", f"{data}, {density}", size, [0.001])
        yield row("a GPU", f"{data}, {density}", size, Timing("cDMA", size // 2, [0.002], [0.001]), [0.001])

    def hostile(self, streams, seed, advance):
        advance()
        differing = ["a stream: other words"] * (seed == 2)
        row = {"card": "a GPU", "seed": seed, "streams": streams, "verdicts": {"code": 3, "whole": 5}}
        return {**row, "same": 8 - len(differing), "differing": differing}


@pytest.fixture
def _with_a_card(monkeypatch):
    monkeypatch.setattr(extras, "kernels_in", lambda module: _Measured())
    monkeypatch.setattr("cdma.torch.bench.hostile.hostile", _Measured().hostile)


@pytest.mark.usefixtures("_with_a_card")
def test_rows_as_documented(shown):
    options = ["--formats", "bf16", "--densities", "1", "0.5", "--sizes", "1", "2", "--json"]
    rows = json.loads(shown("bench", "gpu", *options))
    assert [list(each) for each in rows] == [COLUMNS] * 8
    assert [each["data"] for each in rows[::2]] == [
        f"bf16, {size} MiB, {density}" for size in (1, 2) for density in (1.0, 0.5)
    ]
    assert "| cDMA | 2.00 | 1 | 1 | 0.38, 0.75 |" in shown("bench", "gpu", *options[:-1], "--markdown")


@pytest.mark.usefixtures("_with_a_card")
def test_what_is_left_out_is_said_once(capsys):
    assert main(["bench", "gpu", "--formats", "bf16", "--sizes", "1", "2", "--json"]) == 0
    assert capsys.readouterr().err == "cdma: warning: nvCOMP's Zstd is left out: it has none\n"


@pytest.mark.usefixtures("_with_a_card")
def test_tensors_of_a_size_are_named(shown):
    options = ["--formats", "bf16", "--densities", "1", "--sizes", "0.0625", "--tensors", "64", "--json"]
    assert json.loads(shown("bench", "gpu", *options))[0]["data"] == "bf16, 64 of 0.0625 MiB, 1.0"


@pytest.mark.usefixtures("_with_a_card")
def test_hostile_streams_time_nothing_and_a_verdict_that_differs_is_status_1(capsys):
    assert main(["bench", "gpu", "--hostile", "4", "--markdown"]) == 0
    assert "| a GPU | 3 code, 5 whole | 4 | 8 | 0 |" in capsys.readouterr().out
    assert main(["bench", "gpu", "--hostile", "4", "--seed", "2", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["differing"] == ["a stream: other words"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--hostile", "0"], "hostile is 0"),
        (["--hostile", "1", "--seed", "-1"], "seed is -1"),
        (["--densities", "2"], "densities has 2"),
        (["--rounds", "0"], "rounds is 0"),
        (["--sizes", "0"], "sizes is 0"),
        (["--tensors", "0"], "tensors is 0"),
    ],
)
@pytest.mark.usefixtures("_with_a_card")
def test_refusals(options, says, refused):
    assert says in refused("bench", "gpu", *options)


def test_without_a_card_it_says_so(refused):
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert "there is no GPU here that PyTorch can use" in refused("bench", "gpu")
