"""Combinational paths: of circuits whose paths are known, and of the blocks with and without register slices."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from typing import Any

import pytest

from cdma.base.yosys import find_yosys
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.synth.asic.paths import GATES, Circuit, MeasureError, circuit_of, drivers_of
from tests.support.thorough import cases_of
from tests.support.verilog_designs import circuit

pytestmark = pytest.mark.slow


def combinational_paths(given: Circuit) -> dict[str, list[str]]:
    """For each output port that some input port reaches without a register, the names of these input ports.

    The paths are those of gates of one bit, after constants have been propagated. A path that no values of the inputs
    can make change the output still counts.
    """
    module = find_yosys().modules(GATES.format(top=given.top), given.verilog)[given.top]
    ports = module["ports"]
    reached: dict[Any, set[str]] = defaultdict(set)
    for name, port in ports.items():
        if port["direction"] == "input":
            for bit in port["bits"]:
                reached[bit].add(name)
    drivers = drivers_of(module["cells"].values())
    for bit in TopologicalSorter(drivers).static_order():
        for source in drivers.get(bit, ()):
            reached[bit] |= reached[source]
    outputs = {name: port["bits"] for name, port in ports.items() if port["direction"] == "output"}
    found = {name: set().union(*(reached[bit] for bit in bits)) for name, bits in outputs.items()}
    return {name: [each for each in ports if each in seen] for name, seen in found.items() if seen}


PORTS = "input clk, input [3:0] a, input [3:0] b, output [3:0] x, output reg [3:0] y"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("assign x = 4'd3; always @(posedge clk) y <= a + b;", {}),
        ("assign x = y; always @(posedge clk) y <= a;", {}),
        ("assign x = a; always @(posedge clk) y <= b;", {"x": ["a"]}),
        ("assign x = y + b[0]; always @* y = a[3:2] * 2'd2;", {"x": ["a", "b"], "y": ["a"]}),
        # What a constant switches off is no path.
        ("wire off = 0; assign x = off ? a : b; always @(posedge clk) y <= a;", {"x": ["b"]}),
        # An asynchronous read leads from the address to the data; a write and a clocked read lead nowhere.
        (
            "reg [3:0] m [0:15]; assign x = m[a]; always @(posedge clk) begin m[b] <= b; y <= m[b]; end",
            {"x": ["a"]},
        ),
    ],
)
def test_paths_of_small_circuits(body: str, expected: dict[str, list[str]]) -> None:
    assert combinational_paths(circuit(body, PORTS)) == expected


def test_a_loop_and_a_latch_are_refused() -> None:
    loop = circuit("assign x = y; always @* y = x ^ a;", PORTS)
    with pytest.raises(CycleError):
        combinational_paths(loop)
    latch = circuit("assign x = 0; always @* if (clk) y = a;", PORTS)
    with pytest.raises(MeasureError, match=r"^the netlist has a cell \$_DLATCH_P_, of which"):
        combinational_paths(latch)


#: A codec with every port, a small one, and one with a header of several beats.
CODECS = {
    "run-time table": CodecConfig(Format(8, 32, 2), 4, runtime_values=True),
    "the standard": CodecConfig(),
    "one lane": CodecConfig(Format(8, 32), 1),
    "pipelined": CodecConfig(Format(8, 32, 2), 4, runtime_values=True, pipelined=True),
}
_SMALL = EngineConfig(lanes=2, dev_data_bits=64, host_data_bits=64, latency=32, burst_beats=8)
ENGINES = {
    "registers": _SMALL,
    "streams": dataclasses.replace(_SMALL, format=Format(16), lanes=4, host_data_bits=128, registers=False),
    "pipelined": dataclasses.replace(_SMALL, pipelined=True),
    "alignment to a word": dataclasses.replace(_SMALL, alignment="word"),
}
#: Those of which others have nearly all.
THOROUGH_CODECS = {"the standard", "one lane"}


def _paths_of(block: str, config: CodecConfig | EngineConfig, slices: str) -> dict[str, list[str]]:
    config = dataclasses.replace(config, register_slices=slices)
    return combinational_paths(circuit_of(block, config))


@pytest.mark.parametrize("config", cases_of(CODECS, THOROUGH_CODECS))
@pytest.mark.parametrize("block", BLOCKS)
def test_no_path_crosses_a_codec_with_register_slices(block: str, config: CodecConfig) -> None:
    assert _paths_of(block, config, "in,out") == {}


@pytest.mark.thorough
@pytest.mark.parametrize("config", ENGINES.values(), ids=ENGINES)
def test_no_path_crosses_an_engine_with_register_slices(config: EngineConfig) -> None:
    assert _paths_of("engine", config, "in,out") == {}


@pytest.mark.parametrize("name", ["run-time table", pytest.param("pipelined", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("block", BLOCKS)
def test_slices_on_one_side_cut_what_the_documents_say(block: str, name: str) -> None:
    """As docs/integration.md has it: every path of a handshake but those between streams of the other side."""
    inputs = {"s_axis_tready", "s_length_tready"}
    found = _paths_of(block, CODECS[name], "in")
    assert not set(found) & inputs
    assert all(not source.startswith("s_") for sources in found.values() for source in sources)
    found = _paths_of(block, CODECS[name], "out")
    assert set(found) <= inputs
    assert all(not source.startswith("m_") for sources in found.values() for source in sources)


def test_the_paths_of_codecs_without_register_slices() -> None:
    """As docs/integration.md has it."""
    handshake = ["aresetn", "s_axis_tlast", "s_axis_tvalid", "m_axis_tready", "m_report_tready"]
    assert _paths_of("compressor", CODECS["run-time table"], "none") == {
        "s_axis_tready": handshake,
        "m_axis_tvalid": ["aresetn"],
        "m_report_tvalid": ["aresetn"],
    }
    found = _paths_of("decompressor", CODECS["run-time table"], "none")
    for port in ("s_axis_tready", "s_length_tready"):
        assert {"m_axis_tready", "m_report_tready"} < set(found[port]) <= {*handshake, "s_axis_tkeep"}
    assert found["m_axis_tdata"] == ["values"]
    for block in BLOCKS:
        for sources in _paths_of(block, CODECS["pipelined"], "none").values():
            assert sources == ["aresetn"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["streams", "registers"])
def test_the_paths_of_engines_without_register_slices(name: str) -> None:
    """As docs/engine.md has it."""
    for port, sources in _paths_of("engine", ENGINES[name], "none").items():
        assert port == "irq" or port.endswith(("valid", "ready"))
        assert sources == ["aresetn"]
