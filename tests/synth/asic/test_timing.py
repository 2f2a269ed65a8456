"""The default period: from the delay of a gate that can be worked out by hand. The clock of circuits whose paths can be
worked out by hand.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cdma.base.cache import Cache
from cdma.base.errors import ToolError
from cdma.synth.asic.library.liberty import normalised_library
from cdma.synth.asic.library.library import Library
from cdma.synth.asic.netlist import synthesise
from cdma.synth.asic.recipe import Options
from cdma.synth.asic.scaling import DEFAULT_PERIOD_NS, STAGES, default_period, stage_delay
from cdma.synth.asic.timing import find_opensta
from tests.support.verilog_designs import PORTS, WIRES, circuit, tiny_library, wired_library


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
