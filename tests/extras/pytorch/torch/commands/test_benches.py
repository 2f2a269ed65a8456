"""``cdma bench batch``, ``saved``, ``stream``, ``kernels`` and ``gpu``: rows as documented, bytes and gradients that must
agree, what is refused, and one sentence where there is no GPU.
"""

from __future__ import annotations

import json

import pytest
import torch

from cdma.app import main
from cdma.gpu import door, measure
from cdma.gpu.measure import Timing
from cdma.gpu.peers.codecs import available
from cdma.torch.bench import kernel_bench

BATCH = ["bench", "batch", "--cpu", "--networks", "small", "--multiple", "4", "--rounds", "1"]
SAVED = ["bench", "saved", "--cpu", "--networks", "small", "--batch", "2", "--rounds", "1"]
STREAM = ["bench", "stream", "--width", "128", "--hidden", "256", "--layers", "5", "--rounds", "1"]
KERNELS = ["bench", "kernels", "--size", "0.0625", "--rounds", "1"]


def test_compression_lets_larger_batches_fit(printed):
    rows = printed(*BATCH, "--memory", "0.001", "0.002")
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


def test_rows_of_saved_have_what_a_record_needs(printed):
    rows = {row["way"]: row for row in printed(*SAVED)}
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


def test_saved_names_what_there_is():
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
    assert "saved changed a gradient of small" in refused(*SAVED, "--ways", "saved")


#: Bytes of the device for less than all.
SMALL_ROOM = {"optimiser": 4 * 2 * 4 * 128 * 256, "cache": 2 * 2 * 128 * 400}


@pytest.mark.slow
def test_rows_of_streams_have_what_a_record_needs(printed):
    found = printed(*STREAM, "--link", "10", "--policies", "raw", "compressed")
    assert torch.is_grad_enabled()
    rows = {row["policy"]: row for row in found}
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
def test_states_and_keys_come_as_weights_do(what, ratio, printed):
    options = ["--link", "10", "--ahead", "1", "--context", "200", "--layers", "3"]
    raw, compressed = printed(*STREAM, *options, "--what", what, "--device-bytes", str(SMALL_ROOM[what]))
    assert (raw["policy"], compressed["policy"], raw["what"]) == ("raw", "compressed", what)
    assert (raw["ratio"], raw["share"]) == (1, 1)
    assert compressed["ratio"] > ratio
    assert compressed["moved"] < raw["moved"]
    assert compressed["hot"] < compressed["bytes"] == raw["bytes"]


def test_an_output_that_differs_is_an_error(monkeypatch, refused):
    from cdma.torch.coded import Codec

    unpack = Codec.unpack

    def wrong(self, packed, target=None):
        made = unpack(self, packed, target)
        made[:256].zero_()
        return made

    monkeypatch.setattr(Codec, "unpack", wrong)
    assert "compressed made another output than the plain model" in refused(
        *STREAM, "--policies", "compressed"
    )


def test_a_swap_is_all_that_a_tensor_waits_for(printed):
    rows = printed(*KERNELS, *["--densities", "0.3", "0.9", "--link", "1"])
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
    assert "zv did not give back what it was given" in refused(*KERNELS)


COLUMNS = ["card", "data", "codec", "ratio", "compress", "decompress", "share"]


class _Measured:
    """Stands for a GPU."""

    def require_cuda(self):
        pass

    def measure(self, data, format, density, size, tensors, rounds, seed, left_out):
        left_out("nvCOMP's Zstd is left out: it has none")
        yield measure.copy_row("a GPU", f"{data}, {density}", size, [0.001])
        yield measure.row(
            "a GPU", f"{data}, {density}", size, Timing("cDMA", size // 2, [0.002], [0.001]), [0.001]
        )

    def hostile(self, streams, seed, advance):
        advance()
        differing = ["a stream: other words"] * (seed == 2)
        row = {"card": "a GPU", "seed": seed, "streams": streams, "verdicts": {"code": 3, "whole": 5}}
        return {**row, "same": 8 - len(differing), "differing": differing}


@pytest.fixture
def _with_a_card(monkeypatch):
    monkeypatch.setattr(door, "kernels_in", lambda module: _Measured())
    monkeypatch.setattr("cdma.torch.bench.hostile.hostile", _Measured().hostile)


@pytest.mark.usefixtures("_with_a_card")
def test_rows_of_a_card_are_as_documented(shown):
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
def test_hostile_streams_time_nothing_and_a_verdict_that_differs_is_status_1(capsys):
    assert main(["bench", "gpu", "--hostile", "4", "--markdown"]) == 0
    assert "| a GPU | 3 code, 5 whole | 4 | 8 | 0 |" in capsys.readouterr().out
    assert main(["bench", "gpu", "--hostile", "4", "--seed", "2", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[0]["differing"] == ["a stream: other words"]


@pytest.mark.parametrize(
    ("command", "options", "says"),
    [
        (BATCH, "--rounds 0", "rounds is 0"),
        (BATCH, "--multiple 0", "multiple is 0"),
        (BATCH, "--memory 0", "memory is 0"),
        (BATCH, "--memory 0.00001", "a step with a batch of 4, the smallest, takes"),
        (SAVED, "--rounds 0", "rounds is 0"),
        (SAVED, "--batch 0", "batch is 0"),
        (STREAM, "--link 0", "link is 0 GB/s"),
        (STREAM, "--width 100", "width is 100"),
        (STREAM, "--ahead 0", "ahead is 0"),
        (STREAM, "--what cache --context 0", "context is 0"),
        (STREAM, "--device-bytes 1000", "device_bytes is 1,000"),
        (KERNELS, "--densities 2", "densities is 2"),
        (KERNELS, "--size 0", "size is 0"),
        (KERNELS, "--rounds 0", "rounds is 0"),
        (KERNELS, "--link 0", "link is 0 GB/s"),
        (["bench", "gpu"], "--hostile 0", "hostile is 0"),
        (["bench", "gpu"], "--hostile 1 --seed -1", "seed is -1"),
        (["bench", "gpu"], "--densities 2", "densities has 2"),
        (["bench", "gpu"], "--rounds 0", "rounds is 0"),
        (["bench", "gpu"], "--sizes 0", "sizes is 0"),
        (["bench", "gpu"], "--tensors 0", "tensors is 0"),
    ],
)
@pytest.mark.usefixtures("_with_a_card")
def test_what_cannot_be_is_refused(command, options, says, refused):
    assert says in refused(*command, *options.split())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("command", [["bench", "saved"], [*KERNELS, "--cuda"], ["bench", "gpu"]])
def test_without_a_card_one_sentence_says_so(command, refused):
    pytest.importorskip("triton")
    assert "there is no GPU here that PyTorch can use" in refused(*command)
