"""Measurements: their blocks, their JSON, and that they are kept."""

import json
from dataclasses import replace

import pytest

from cdma.base.cache import Cache, NoCache
from cdma.base.errors import ToolError
from cdma.base.yosys import Yosys, find_yosys
from cdma.synth.asic import measure as measure_module
from cdma.synth.asic.library.liberty import normalised_library
from cdma.synth.asic.measure import measure
from cdma.synth.asic.paths import Circuit, MeasureError
from cdma.synth.asic.recipe import Options
from tests.support.verilog_designs import circuit

BLOCKS = """
module low(input clk, input [3:0] d, output reg [3:0] q); always @(posedge clk) q <= d; endmodule
module high(input clk, input [3:0] d, output reg [3:0] q);
  wire [3:0] x; low inner(.clk(clk), .d(~d), .q(x)); always @(posedge clk) q <= ~x;
endmodule
module top(input clk, input [3:0] d, output [3:0] q);
  wire [3:0] x; low first(.clk(clk), .d(d), .q(x)); high second(.clk(clk), .d(x), .q(q));
endmodule
"""


def test_breakdown(tiny, tmp_path):
    result = measure(
        Circuit("test", {}, "top", BLOCKS), tiny, Options(), block_depth=3, cache=Cache(tmp_path)
    )
    blocks = {block.name: (round(block.kge * 3000), block.flip_flops) for block in result.blocks}
    assert blocks == {
        "(top)": (0, 0),
        "first": (4 * 17, 4),
        "second": (4 * (17 + 2 + 2), 4),
        "second.inner": (4 * 17, 4),
    }
    assert result.plain.flip_flops == 12
    assert result.blocks_kge == pytest.approx(sum(area for area, _ in blocks.values()) / 3000)
    assert sum(row["share"] for row in result.as_json()["breakdown"]) == pytest.approx(1, abs=1e-3)


def test_json(tiny, tmp_path):
    given = Circuit(
        "counter", {"bits": 8}, "top", circuit("always @(posedge clk) if (e) q <= q + d;").verilog
    )
    found = measure(given, tiny, Options(clock_gating=True), block_depth=1, cache=Cache(tmp_path)).as_json()
    assert list(found) == [
        *("block", "config", "library", "target_ns", "area_um2", "kge", "flip_flops", "clock_gates"),
        *("sequential_share", "memory_bits", "delay_ns", "period_ns", "input_ns", "output_ns", "through_ns"),
        *("worst_path", "input_path", "output_path", "through_path", "clock_gated", "breakdown", "tools"),
    ]
    assert (found["block"], found["config"], found["library"]) == ("counter", {"bits": 8}, "tiny")
    assert found["kge"] == pytest.approx(found["area_um2"] / 3000, abs=1e-4)
    assert found["sequential_share"] == pytest.approx(8 * 17 / found["area_um2"], abs=1e-4)
    assert found["delay_ns"] > 0
    assert found["clock_gates"] == 0
    assert found["clock_gated"]["clock_gates"] == 1
    assert found["clock_gated"]["area_um2"] < found["area_um2"]
    assert json.loads(json.dumps(found)) == found


def test_without_a_library(tmp_path):
    found = measure(
        circuit("always @(posedge clk) q <= d;"), normalised_library(), Options(), cache=Cache(tmp_path)
    )
    assert found.plain.kge == pytest.approx(8 * 17 / 3 / 1000)
    rows = found.as_json()
    assert (rows["area_um2"], rows["delay_ns"], rows["period_ns"]) == (None, None, None)


def test_results_are_kept(tiny, tmp_path, monkeypatch):
    given = circuit("always @(posedge clk) if (e) q <= d;")
    first = measure(given, tiny, Options(), block_depth=1, cache=Cache(tmp_path))
    monkeypatch.setattr(measure_module, "synthesise", lambda *_, **__: pytest.fail("synthesised again"))
    monkeypatch.setattr(measure_module, "breakdown", lambda *_, **__: pytest.fail("synthesised again"))
    assert measure(given, tiny, Options(), block_depth=1, cache=Cache(tmp_path)) == first


def test_a_kept_measurement_depends_on_all_that_counts(tiny, tmp_path):
    """Another circuit, library, period or tool is another measurement."""
    given = circuit("always @(posedge clk) if (e) q <= d;")
    cache = Cache(tmp_path)

    def runs(*arguments, **options):
        before = len(list(tmp_path.rglob("*.json")))
        measure(*arguments, cache=cache, **options)
        return len(list(tmp_path.rglob("*.json"))) - before

    assert runs(given, tiny, Options()) == 1
    assert runs(given, tiny, Options()) == 0
    assert runs(circuit("always @(posedge clk) if (e) q <= ~d;"), tiny, Options()) == 1
    assert runs(given, replace(tiny, texts=(tiny.texts[0] + b"\n",)), Options()) == 1
    assert runs(given, tiny, Options(target_ns=2.0)) == 1
    assert runs(given, tiny, Options(flip_flop_memories=True)) == 1
    assert runs(given, tiny, Options(clock_gating=True)) == 1
    other = Yosys(find_yosys().distribution, "0", find_yosys().command)
    assert runs(given, tiny, Options(), yosys=other) == 1


def test_a_damaged_cache_is_no_cache(tiny, tmp_path):
    given = circuit("always @(posedge clk) q <= d;")
    first = measure(given, tiny, Options(), block_depth=1, cache=Cache(tmp_path))
    for path in tmp_path.rglob("*.json"):
        path.write_text(path.read_text()[:10])
    assert measure(given, tiny, Options(), block_depth=1, cache=Cache(tmp_path)) == first


def test_circuit_that_cannot_be_mapped(tiny, tmp_path):
    latch = circuit("always @* if (e) q = d;")
    library = replace(tiny, cells={name: cell for name, cell in tiny.cells.items() if name != "LATCH"})
    with pytest.raises((MeasureError, ToolError), match=r"LATCH"):
        measure(latch, library, Options(), cache=NoCache())
