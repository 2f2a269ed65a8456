"""``cdma fpga``: JSON, and what it is made of."""

import pytest

from cdma.synth.fpga import measure as measure_module
from cdma.synth.fpga.routing import Routed


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
