"""``cdma fpga``: JSON, and what it is made of. ``cdma power`` as a user meets it, on a library of a few gates."""

from __future__ import annotations

import numpy as np
import pytest

from cdma.synth.fpga import measure as measure_module
from cdma.synth.fpga.routing import Routed
from tests.support.paths import TINY


@pytest.mark.slow
def test_figures_and_a_seed_without_a_route(tmp_path, shown, printed, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    runs = [Routed(1, 100.0, "a", "b"), Routed(2, None, "", "")]
    monkeypatch.setattr(measure_module, "place_and_route", lambda *_: runs)
    small = ["decompressor", "--word-bits", "8", "--window", "8", "--lanes", "1", "--seeds", "2"]
    text = shown("fpga", *small, "--timeout", "1")
    assert "clock" not in text
    assert text.endswith("seed 1: 100.0 MHz, a → b\nseed 2: not routed in the time\n")
    found = printed("fpga", *small)
    assert list(found) == [
        *("block", "config", "target", "device", "luts", "flip_flops", "ram_blocks", "ram_bits", "cells"),
        *("fmax_mhz", "routed", "tools"),
    ]
    assert found["luts"] > 50
    assert found["flip_flops"] > 50
    assert (found["fmax_mhz"], len(found["routed"])) == (None, 2)


@pytest.mark.slow
def test_memories_of_a_pipelined_codec_are_made_of_look_up_tables(tmp_path, printed, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    monkeypatch.setattr(measure_module, "place_and_route", lambda *_: [Routed(1, 100.0, "a", "b")])
    small = ["compressor", "--word-bits", "8", "--window", "8", "--lanes", "2"]
    for pipelined in ([], ["--pipelined"]):
        options = [*small, *pipelined, "--target", "ecp5", "--device", "85k-8"]
        found = printed("fpga", *options)
        assert found["device"] == "85k-8"
        assert found["config"]["pipelined"] == bool(pipelined)
        assert found["ram_blocks"] == 0
        assert ("TRELLIS_DPR16X4" in found["cells"]) == bool(pipelined)


SMALL = ["--word-bits", "8", "--window", "8", "--lanes", "2", "--liberty", str(TINY), "--period", "2"]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CDMA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
def test_gated_clocks_take_less_and_dense_data_more(printed):
    options = ["--clock-gating", "--densities", "0.1", "1", "--bytes", "512"]
    found = printed("power", "compressor", *SMALL, *options)
    rows = {(row["gated"], row["density"]): row for row in found["rows"]}
    assert set(rows) == {(gated, density) for gated in (False, True) for density in (0.1, 1.0, None)}
    assert rows[False, 0.1]["pj_per_byte"] < rows[False, 1.0]["pj_per_byte"]
    assert rows[True, None]["clock_mw"] < rows[False, None]["clock_mw"]
    for gated in (False, True):
        rest = rows[gated, None]
        assert rest["logic_mw"] == 0 < rest["clock_mw"]
        assert rest["pj_per_byte"] is None
    row = rows[False, 1.0]
    assert row["raw_bytes"] == 512
    assert row["total_mw"] * row["cycles"] * found["period_ns"] / 512 == pytest.approx(
        row["pj_per_byte"], rel=1e-3
    )
    assert {(one["move"], one["link_pj_per_bit"]) for one in found["crossovers"]} == {
        ("compress", 5.0),
        ("compress", 10.0),
    }


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
def test_an_engine_out_and_back(printed):
    small = [
        "--lanes", "2", "--dev-data-bits", "64", "--host-data-bits", "64", "--descriptors", "2",
        "--burst-beats", "4",
    ]  # fmt: skip
    options = ["--liberty", str(TINY), "--densities", "0.25", "1", "--bytes", "1024"]
    found = printed("power", "engine", *small, *options)
    rows = {(row["move"], row["density"]): row for row in found["rows"]}
    rest = rows.pop(("rest", None))
    assert list(rows) == [(move, density) for density in (0.25, 1.0) for move in ("offload", "prefetch")]
    for (_, density), row in rows.items():
        assert row["raw_bytes"] == 1024
        # Each window of 128 bytes has a header of 4.
        assert row["compressed_bytes"] == pytest.approx(1024 * density + 32, abs=40)
        assert row["logic_mw"] > rest["logic_mw"]
        energy = row["total_mw"] * row["cycles"] * found["period_ns"]
        assert row["pj_per_byte"] == pytest.approx(energy / 1024, rel=1e-3)
    for move in ("offload", "prefetch"):
        assert rows[move, 0.25]["compressed_bytes"] < rows[move, 1.0]["compressed_bytes"]
    assert rest["pj_per_byte"] is None


def test_densities_of_tensors_of_ones_own_are_their_own(tmp_path, refused):
    np.save(tmp_path / "t.npy", np.zeros(8, np.float32))
    options = ["--liberty", str(TINY), "--input", str(tmp_path / "t.npy"), "--densities", "0.5"]
    assert "densities is given with input" in refused("power", "compressor", *options)
