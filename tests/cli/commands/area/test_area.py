"""``cdma area`` as a user meets it: figures, and the comparisons. ``cdma area --sweep``: files and JSON."""

from __future__ import annotations

import json

import pytest

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.synth.asic.library.liberty import load_libraries, normalised_library
from cdma.synth.asic.paths import MeasureError
from cdma.synth.asic.scaling import PAPER_MM2, codec_floor, scale_to_paper
from tests.support.paths import TINY

SMALL = ["--word-bits", "8", "--window", "8", "--lanes", "2"]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CDMA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.slow
def test_json(printed):
    found = printed("area", "compressor", *SMALL, "--liberty", str(TINY), "--clock-gating")
    assert {"area_um2", "kge", "memory_bits", "delay_ns", "period_ns"} <= set(found)
    assert (found["block"], found["library"]) == ("compressor", "tiny")
    assert found["config"] == CodecConfig(Format(8, 8), lanes=2).settings()
    assert found["assumption"] is None
    assert found["clock_gated"]["kge"] < found["kge"]
    # The window and the output beat are there, so it cannot be smaller than its floor.
    assert found["floor"]["bits"] == 8 * 8 + 2 * 8
    assert found["floor"]["kge"] < found["kge"]
    assert found["flip_flops"] >= found["floor"]["bits"]
    blocks = {row["block"]: row for row in found["breakdown"]}
    assert "core.window_store" in blocks
    assert "core.packer" in blocks
    assert sum(row["flip_flops"] for row in blocks.values()) >= found["flip_flops"] - 8


def test_report_without_a_library(shown):
    out = shown("area", "compressor", *SMALL, "--no-breakdown")
    assert "compressor on normalised" in out
    assert "Assumed: gate equivalents of the project's own table: NAND2 = 1" in out
    assert "area, kGE" in out
    assert "µm²" not in out


def test_report_with_a_path(shown):
    out = shown("area", "compressor", *SMALL, "--liberty", str(TINY), "--path")
    assert "core.packer" in out
    assert "Synthesised again with the blocks' boundaries kept" in out


@pytest.mark.slow
def test_comparison(printed):
    found = printed("area", "compressor", *SMALL, "--liberty", str(TINY), "--compare", "45")
    designs = {(row["design"], row["what"]): row for row in found["designs"]}
    ours = [designs["this", block] for block in ("compressor", "decompressor")]
    assert all(row["bytes_per_cycle"] == 2 for row in ours)
    assert designs["stream-ebpc", "encoder"]["kge"] == 3.7
    assert found["paper"]["unit_um2"] == pytest.approx(3000 * sum(row["kge"] for row in ours))
    assert [rule["rule"] for rule in found["paper"]["rules"]] == ["ideal", "pessimistic"]


def test_scaling_by_hand():
    ideal, pessimistic = scale_to_paper(25_000, 45)
    assert ideal.units_mm2 == pytest.approx(6 * 0.025 * (28 / 45) ** 2)
    assert pessimistic.units_mm2 == pytest.approx(6 * 0.025 * (28 / 45) / 0.7)
    assert ideal.buffer_mm2 == pytest.approx(70 * 1024 * 8 * 0.16e-6)
    assert pessimistic.buffer_mm2 == pytest.approx(2 * ideal.buffer_mm2)
    assert ideal.of_paper == pytest.approx((ideal.units_mm2 + ideal.buffer_mm2) / PAPER_MM2)
    assert scale_to_paper(25_000, 28)[0].units_mm2 == pytest.approx(6 * 0.025)


def test_floor_by_hand():
    library = load_libraries([TINY])
    compressor = codec_floor("compressor", CodecConfig(), library)
    assert (compressor.bits, compressor.multiplexers) == (32 * 32 + 8 * 32, 8 * 3 * 32)
    assert compressor.kge == pytest.approx((1280 * 17 + 768 * 7) / 3000)
    decompressor = codec_floor("decompressor", CodecConfig(), library)
    assert (decompressor.bits, decompressor.multiplexers) == (32 + 8 * 32, 8 * 3 * 32)
    one = codec_floor("compressor", CodecConfig(Format(word_bits=8), lanes=1), normalised_library())
    assert one.multiplexers == 0
    with pytest.raises(MeasureError, match=r"^block is 'engine'; a structural floor is known for"):
        codec_floor("engine", CodecConfig(), library)


def test_a_stage(printed):
    found = printed("area", "dequantiser", "--lanes", "1", "--liberty", str(TINY))
    assert found["block"] == "dequantiser"
    assert found["config"] == {"number": "fp32", "bits": 8, "keep_nonzero": False, "lanes": 1}
    # A sign, an exponent and seven bits of a fraction; keep, last and valid.
    assert found["flip_flops"] == 16 + 3
    assert {row["block"] for row in found["breakdown"]} >= {"core", "core.restoring_0"}


@pytest.mark.slow
def test_command(tmp_path, shown, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path / "cache"))
    small = ["--word-bits", "8", "--window", "8", "--liberty", str(TINY)]
    command = ["area", "decompressor", *small, "--sweep", "lanes=1,16", "--sweep", "period=1,5", "--json"]
    rows = json.loads(shown(*command))
    assert [row["axes"] for row in rows] == [{"lanes": n, "period": p} for n in (1, 16) for p in (1.0, 5.0)]
    assert rows[0]["kge"] > 0
    assert rows[2] == {"axes": {"lanes": 16, "period": 1.0}, "reason": rows[3]["reason"]}
