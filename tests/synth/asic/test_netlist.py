"""Small circuits have the cells that can be worked out by hand. The default period: from the delay of a gate that can be
worked out by hand. The clock of circuits whose paths can be worked out by hand.
"""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.back import verilog
from amaranth.hdl import Module, Signal
from amaranth.lib import fifo, wiring
from amaranth.lib.wiring import In, Out

from cdma.base.cache import Cache
from cdma.base.errors import ToolError
from cdma.synth.asic.library.liberty import normalised_library
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.netlist import synthesise
from cdma.synth.asic.paths import Circuit
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.scaling import DEFAULT_PERIOD_NS, STAGES, default_period, stage_delay
from cdma.synth.asic.timing import find_opensta
from tests.support.verilog_designs import PORTS, WIRES, circuit, tiny_library, wired_library

PLAIN = Options()


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


def test_words_to_be_flip_flops_are_no_memory(tiny):
    body = "{} reg [7:0] m [0:3]; always @(posedge clk) begin m[d[1:0]] <= d; q <= m[d[1:0]]; end"
    memory = synthesise(circuit(body.format("")), tiny, Options())
    flip_flops = synthesise(circuit(body.format('(* ram_style = "registers" *)')), tiny, Options())
    assert (memory.memory_bits, flip_flops.memory_bits) == (32, 0)
    assert flip_flops.count(tiny).flip_flops == memory.count(tiny).flip_flops + 32 + 8


def test_target_period_sizes_gates(tiny):
    """A gate with many loads gets larger or more gates when there is less time."""
    loads = circuit("always @(posedge clk) q <= {8{&d}};")
    fast = synthesise(loads, tiny, Options(target_ns=0.05))
    slow = synthesise(loads, tiny, Options(target_ns=10.0))
    assert fast.count(tiny).area > slow.count(tiny).area


@pytest.mark.parametrize(("target", "buffer", "delay"), [(0.2, "BUF", 0.126), (0.15, "BUF_2", 0.101)])
def test_gates_are_sized_for_the_wires_of_the_library(tiny, target, buffer, delay):
    """One buffer drives the eight gates of a register. Without wires that register drives them by itself."""
    loads = circuit("reg a; always @(posedge clk) begin a <= e; q <= d & {8{~a}}; end")
    without = synthesise(loads, tiny, Options(target))
    wired = synthesise(loads, wired_library(), Options(target))
    gates = {"INV": 8, "NOR2": 8, "DFF": 9}
    assert without.count(tiny).cells == gates
    assert wired.count(tiny).cells == gates | {buffer: 1}
    assert wired.abc_delay_ns == pytest.approx(delay)


def test_gates_before_wires_are_larger_where_time_is_short(tiny):
    """The last of the gates before a register that has a buffer and eight gates behind it."""
    body = "reg a; always @(posedge clk) begin a <= &d; q <= d ^ {8{a}}; end"
    found = synthesise(circuit(body), wired_library(), Options(0.05))
    assert found.count(tiny).cells["NAND2_2"] == 1
    assert found.abc_delay_ns == pytest.approx(0.124)


@pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA (sta) is not installed")
def test_the_stage_of_a_small_library(tiny: Library, tmp_path: Path) -> None:
    """A NAND2 of ``tiny.lib`` takes 0.02 ns and 0.002 ns for each of its two loads."""
    opensta = find_opensta()
    assert opensta is not None
    assert stage_delay(tiny, opensta, Cache(tmp_path)) == pytest.approx(0.02 + 2 * 0.002, abs=1e-5)
    period = default_period(tiny, opensta, Cache(tmp_path))
    assert period == pytest.approx(STAGES * 0.024, abs=0.05)


def test_without_delays_or_without_opensta(tiny: Library, tmp_path: Path) -> None:
    assert default_period(tiny, None, Cache(tmp_path)) == DEFAULT_PERIOD_NS
    assert default_period(normalised_library(), find_opensta(), Cache(tmp_path)) == DEFAULT_PERIOD_NS


needs_opensta = pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA is not installed")


@needs_opensta
@pytest.mark.parametrize("wires", [None, *WIRES])
def test_period_by_hand(wires):
    """Clock to output with one inverter as load, the inverter with one flip-flop as load, and set-up; and the wires
    between them, if the library has a model of these."""
    shift = circuit(
        "reg a, b; always @(posedge clk) begin a <= d; b <= ~a; end assign q = b;",
        "input clk, input d, output q",
    )
    used, wire = (wired_library(wires), 2 * 0.002) if wires else (tiny_library(), 0.0)
    timing = find_opensta().analyse(synthesise(shift, used, Options()), used)
    assert timing.period_ns == pytest.approx((0.1 + 0.002 + wire) + (0.01 + 0.002 + wire) + 0.05, abs=1e-4)
    assert timing.output_ns == pytest.approx(0.1 + 4 * 0.002 + wire, abs=1e-4)
    assert timing.input_ns == pytest.approx(0.05 + wire, abs=5e-3)
    assert timing.through_ns is None
    assert timing.ends == {"period": ("a", "b"), "input": ("d", "a"), "output": ("b", "q")}
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
    assert timing.ends["period"] == ("a", "b")


@needs_opensta
def test_a_netlist_that_opensta_cannot_read_is_an_error(tiny):
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
