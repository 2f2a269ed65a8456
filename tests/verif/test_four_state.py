"""Designs without initial values in four states, under Icarus Verilog: the regression's own tests, and no X after reset.

The bench is that of Verilator. Around the design every payload is X without its valid, and every reset makes all
registers and memories unknown (``verif/simulator/build.py``).
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest

from cdma import CodecConfig, Format
from cdma.hdl.spec.codec import BLOCKS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.stage import STAGES, Quantisation, StageConfig
from cdma.verif.campaigns.regression import Regression, verify
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.stage.design import StageDesign
from tests.support.commands import codecs_of
from tests.support.engines import engines_of
from tests.support.simulate import needs_icarus, pessimistic
from tests.support.thorough import cases_of, one_block_each
from tests.support.verilog_designs import with_collisions, wrapped

pytestmark = [needs_icarus, pytest.mark.slow]

small = partial(replace, SMALL)
CODECS = codecs_of("""
--lanes 8
--pipelined
# A header of eight beats.
--lanes 1 --runtime-values --word-bits 8 --code-bits 2 --values 0 1
--pipelined --lanes 1 --runtime-values --word-bits 8 --code-bits 2 --values 0 1
--pipelined --word-bits 16 --code-bits 3 --values 127 126 --field-bits 8 --rotate 1 --zero --align 4
# Windows of four beats, and of two that are padded; a header of two beats.
--lanes 16 --runtime-values --word-bits 16 --window 64 --code-bits 4 --values 0 1
--lanes 32 --format aie2p
--lanes 4 --queue 0 --word-bits 16
--lanes 4 --queue 1 --runtime-values --word-bits 8 --code-bits 2 --values 0 1
--lanes 4 --register-slices in,out --word-bits 16
""")
#: The longest header, fields with padding in a pipeline, a window of several beats, and no queue are for every run.
ALWAYS = {list(CODECS)[number] for number in (2, 4, 5, 7)}
STAGES_OF = {
    "fp32 to bytes": StageConfig(Quantisation(), 4),
    "bf16 to 4 bits, nonzero kept": StageConfig(Quantisation("bf16", 4, True), 2),
}
#: A wide host, words of 32 bits and one code bit; descriptors come as streams.
STREAMS = EngineConfig(
    format=Format(),
    lanes=4,
    dev_data_bits=256,
    host_data_bits=64,
    dev_address_bits=32,
    host_address_bits=32,
    latency=64,
    descriptors=8,
    registers=False,
)
DEFAULT, LEVELS = EngineConfig(), small(format=Format(16, levels=2))
_ENGINES = """
registers: SMALL; soak registers register_bus hard_resets
registers, errors and stops: SMALL; windows ring_errors aborts watchdog soft_resets halting bus_errors corrupt
    capacity
pipelined, to a word: SMALL alignment=word pipelined; soak lengths register_bus corrupt capacity hard_resets
    soft_resets
fields and padding, to a byte, with a CRC and an error-bounded stage: FIELDS_TO_A_BYTE pipelined=false; soak lengths
    crc lossy padding hard_resets
streams: STREAMS; soak lengths corrupt aborts hard_resets
no queue, registers of the sideband: SMALL queue=0 sideband_registers; soak sideband hard_resets
default memories, register slices, ports of 512 bits: DEFAULT lanes=16 dev_data_bits=512 host_data_bits=512
    register_slices=in,out; soak hard_resets
shapes, pages: SMALL dimensions=2 pages; soak pages page_errors page_windows shape_refusals shape_errors shape_rings
    aborts hard_resets
shapes of any byte: SMALL alignment=byte dimensions=2; soak shape_refusals shape_errors shape_rings aborts hard_resets
bases, two levels: LEVELS crc delta; soak deltas wrong_bases base_errors aborts hard_resets
two units: SMALL units=2 stripe_bytes=256; soak uneven hard_resets
two units, errors: SMALL units=2 stripe_bytes=256; bus_errors corrupt capacity
three clocks, whose resets end at different times: SMALL register_slices=in,out quiescence
    clocks=device,host,registers stream_id_bits=3; soak hard_resets lone_resets registers bus_errors quiescence
"""
ENGINES = engines_of(_ENGINES, globals())


def _failures(result: Regression) -> dict[str, str]:
    return {outcome.test: outcome.failure for outcome in result.outcomes if outcome.failure is not None}


@pytest.mark.parametrize(("block", "config", "init"), one_block_each(CODECS, BLOCKS, CODECS.keys() - ALWAYS))
def test_codecs(block: str, config: CodecConfig, init: bool) -> None:
    tests = ["lengths", "soak", "interop", "patience", "reset", "malformed"]
    design = CodecDesign(block, config, init=False)
    assert not _failures(verify(design, tests=tests, packets=10, four_state=True))
    if block == "decompressor" and config.pipelined and config.lanes > 1:
        assert not _failures(verify(design, tests=["corrupt"], packets=1, four_state=True))


@pytest.mark.parametrize(("block", "config"), one_block_each(STAGES_OF, STAGES))
def test_stages(block: str, config: StageConfig) -> None:
    design = StageDesign(block, config, init=False)
    tests = ["fills", "traffic", "waiting", "resets", "holes"]
    assert not _failures(verify(design, tests=tests, packets=30, four_state=True))


@pytest.mark.parametrize(("config", "tests"), cases_of(ENGINES, ENGINES.keys() - {"registers"}))
def test_engines(config: EngineConfig, tests: str) -> None:
    design = EngineDesign(config, init=False)
    assert not _failures(verify(design, tests=tests.split(), packets=4, four_state=True))


#: Whether the netlist is one of gates, and the tests.
PESSIMISTIC: dict[str, tuple[Design, bool, list[str]]] = {
    "compressor": (CodecDesign("compressor", init=False), False, ["soak", "reset"]),
    "decompressor": (CodecDesign("decompressor", init=False), False, ["soak", "reset"]),
    "compressor, gates": (CodecDesign("compressor", init=False), True, ["soak"]),
    "decompressor, gates": (CodecDesign("decompressor", init=False), True, ["soak"]),
    "engine": (EngineDesign(SMALL, init=False), False, ["soak"]),
}


@pytest.mark.parametrize(
    ("design", "gates", "tests"), cases_of(PESSIMISTIC, PESSIMISTIC.keys() - {"decompressor, gates"})
)
def test_unknown_conditions_stay_unknown(design: Design, gates: bool, tests: list[str]) -> None:
    """As between gates: nothing passes because ``if (x)`` takes a branch."""
    netlist = pessimistic(design.verilog(), design.top, gates=gates)
    assert not _failures(verify(design, tests=tests, packets=2, four_state=True, verilog=netlist))


#: Engines with block RAM, and their tests.
_COLLISIONS = """
registers: SMALL pipelined; soak windows soft_resets
fields and padding, to a byte, with a CRC and an error-bounded stage: FIELDS_TO_A_BYTE; soak lossy soft_resets
registers, errors and stops: SMALL pipelined; lengths ring_errors corrupt capacity aborts
streams: STREAMS pipelined; soak lengths corrupt aborts
fields and padding, errors: FIELDS_TO_A_BYTE; bus_errors corrupt capacity
"""
COLLISIONS = engines_of(_COLLISIONS, globals())


@pytest.mark.parametrize(("config", "tests"), cases_of(COLLISIONS, COLLISIONS.keys() - {"registers"}))
def test_nothing_depends_on_block_ram_that_is_written_while_it_is_read(
    config: EngineConfig, tests: str
) -> None:
    """Which is what the Verilog promises synthesis: ``no_rw_check``."""
    design = EngineDesign(config, init=False)
    text, count = with_collisions(design.verilog())
    assert count
    assert not _failures(verify(design, tests=tests.split(), packets=2, four_state=True, verilog=text))


#: What no other promise of the design notices: expressions for ports, the state that they need, and the X that shows.
FAULTS: dict[str, tuple[dict[str, str], str, str | None]] = {
    "sound": ({}, "", None),
    "a control register without a reset": (
        {"m_axis_tvalid": "x_m_axis_tvalid & ~late"},
        "  reg late;\n  always @(posedge aclk) if (m_axis_tvalid) late <= 1'b0;",
        r"m_axis_tvalid unknown \(X\) after reset",
    ),
    "a payload that is taken without its valid": (
        {"m_report_tvalid": "x_m_report_tvalid & (seen | ~seen)"},
        "  reg seen;\n  always @(posedge aclk) seen <= aresetn & s_axis_tlast;",
        r"m_report_tvalid unknown \(X\) after reset",
    ),
    "a memory that is read before it is written": (
        {"s_axis_tready": "x_s_axis_tready & (row[3] | ~row[3])"},
        "  reg [7:0] rows [3:0];\n  reg [7:0] row;\n"
        "  always @(posedge aclk) begin\n    row <= rows[0] & {8{aresetn}};\n"
        "    if (x_m_report_tvalid) rows[0] <= 8'h5a;\n  end",
        r"s_axis_tready unknown \(X\) after reset",
    ),
    "data that nobody gave": (
        {"m_axis_tdata": "x_m_axis_tdata | {unknown, 3'b0}"},
        "  reg unknown;",
        r"m_axis_tdata unknown \(X\) after reset",
    ),
}


@pytest.mark.parametrize(("expressions", "state", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_an_unknown_output_is_found(expressions: dict[str, str], state: str, message: str | None) -> None:
    design = CodecDesign("compressor", CodecConfig(Format(16), 2), init=False)
    text = wrapped(design.verilog(), design.top, design.ports, expressions, state)
    found = _failures(verify(design, tests=["soak"], packets=5, four_state=True, verilog=text))
    if message is None:
        assert not found
    else:
        assert re.search(message, found["soak"])
