"""FPGA figures of circuits whose resources are known."""

import json

import pytest

from cdma.app import main
from cdma.synth import fpga
from cdma.synth.cache import Cache
from cdma.synth.errors import MeasureError
from cdma.synth.flow import Circuit
from cdma.synth.fpga import TARGETS, harness, measure_fpga


def circuit(body: str, ports: str = "input clk, input e, input [7:0] d, output reg [7:0] q") -> Circuit:
    return Circuit("test", {}, "top", f"module top({ports});\n{body}\nendmodule\n")


ENABLED = circuit("always @(posedge clk) if (e) q <= q ^ {d[0], d[7:1]};")
MEMORY = circuit(
    "reg [7:0] m[0:511]; always @(posedge clk) begin if (e) m[a] <= d; q <= m[a]; end",
    "input clk, input e, input [8:0] a, input [7:0] d, output reg [7:0] q",
)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["ecp5", "ice40", "xilinx"])
def test_resources(target, tmp_path, monkeypatch):
    monkeypatch.setattr(fpga, "_place_and_route", lambda *_: [fpga.Routed(1, 100.0, "a", "b")])
    found = measure_fpga(ENABLED, TARGETS[target], cache=Cache(tmp_path))
    assert (found.luts, found.flip_flops, found.ram_blocks) == (8, 8, 0)
    memory = measure_fpga(MEMORY, TARGETS[target], cache=Cache(tmp_path))
    assert memory.ram_blocks == 1
    assert memory.ram_bits == {"ecp5": 18432, "ice40": 4096, "xilinx": 18432}[target]
    if target != "ice40":  # whose RAM does not give what is being overwritten; logic has to
        assert memory.flip_flops == 0
    assert (memory.fmax_mhz is None) == (target == "xilinx")


def test_harness_keeps_every_port():
    ports = {
        "aclk": {"direction": "input", "bits": [2]},
        "d": {"direction": "input", "bits": [3, 4, 5]},
        "e": {"direction": "input", "bits": [6]},
        "q": {"direction": "output", "bits": [7, 8]},
    }
    text = harness("top", ports)
    for connection in (".aclk(clk)", ".d(feed[2:0])", ".e(feed[3:3])", ".q(seen[1:0])"):
        assert connection in text


def test_harness_needs_a_clock():
    with pytest.raises(
        MeasureError, match=r"^top has the clocks \[\]; placing and routing needs one, aclk or clk$"
    ):
        harness("top", {"d": {"direction": "input", "bits": [2]}})


@pytest.mark.parametrize("target", ["ice40", "ecp5"])
@pytest.mark.slow
def test_placed_and_routed(target, tmp_path, monkeypatch):
    pytest.importorskip(f"yowasp_nextpnr_{target}")
    # A long chain of logic is slower than a short one.
    short = circuit("always @(posedge clk) q <= d + 8'd1;")
    long = circuit("always @(posedge clk) q <= (((d * d) + q) * (d ^ q)) + (d * q);")
    found = [measure_fpga(given, TARGETS[target], cache=Cache(tmp_path)) for given in (short, long)]
    assert 0 < found[1].fmax_mhz < found[0].fmax_mhz
    assert found[1].routed[0].start
    assert found[1].routed[0].end
    monkeypatch.setattr(fpga, "_place_and_route", lambda *_: pytest.fail("routed again"))
    assert measure_fpga(long, TARGETS[target], cache=Cache(tmp_path)) == found[1]


def test_unknown_device(tmp_path):
    with pytest.raises(
        MeasureError, match=r"^device is '99k'; ecp5 has 25k, 12k, 45k, 85k, 25k-7, .*, 85k-8$"
    ):
        measure_fpga(ENABLED, TARGETS["ecp5"], device="99k", cache=Cache(tmp_path))
    with pytest.raises(MeasureError, match=r"^device is 'xc7'; xilinx has none, it is only synthesised$"):
        measure_fpga(ENABLED, TARGETS["xilinx"], device="xc7", cache=Cache(tmp_path))


@pytest.mark.slow
def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    small = ["--word-bits", "8", "--window", "8", "--lanes", "1"]
    assert main(["fpga", "decompressor", *small, "--target", "xilinx", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == [
        *("block", "config", "target", "device", "luts", "flip_flops", "ram_blocks", "ram_bits", "cells"),
        *("fmax_mhz", "routed", "tools"),
    ]
    assert found["luts"] > 50
    assert found["flip_flops"] > 50
    assert (found["fmax_mhz"], found["routed"]) == (None, [])
    assert main(["fpga", "compressor", "--seeds", "0"]) == 2
    assert capsys.readouterr().err == "cdma: --seeds is 0; it must be from 1 to 100\n"
    assert main(["fpga", "compressor", "--frequency", "0"]) == 2
    assert capsys.readouterr().err == "cdma: --frequency is 0.0; it must be from 1 to 2000 MHz\n"


@pytest.mark.slow
def test_memories_of_a_pipelined_codec_are_made_of_look_up_tables(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    monkeypatch.setattr(fpga, "_place_and_route", lambda *_: [fpga.Routed(1, 100.0, "a", "b")])
    small = ["--word-bits", "8", "--window", "8", "--lanes", "2"]
    for block in ("compressor", "decompressor"):
        for pipelined in ([], ["--pipelined"]):
            options = [block, *small, *pipelined, "--target", "ecp5", "--device", "85k-8"]
            assert main(["fpga", *options, "--json"]) == 0
            found = json.loads(capsys.readouterr().out)
            assert found["device"] == "85k-8"
            assert found["config"]["pipelined"] == bool(pipelined)
            assert found["ram_blocks"] == 0
            assert ("TRELLIS_DPR16X4" in found["cells"]) == bool(pipelined)
