"""The regression on quantisers and dequantisers of every type, and that it finds what is wrong with one."""

from __future__ import annotations

import re

import pytest

from cdma.hdl.spec.stage import STAGES, Quantisation, StageConfig
from cdma.verif.campaigns.regression import plan_of, replay_command, verify
from cdma.verif.stream.stage.design import StageDesign
from tests.support.thorough import cases_of
from tests.support.verilog_designs import wrapped

pytestmark = pytest.mark.verilator

MATRIX = {
    "the default": (StageConfig(), True),
    "bf16 to 4 bits, nonzero kept, four lanes": (StageConfig(Quantisation("bf16", 4, True), 4), False),
    "fp16 and bytes, one lane": (StageConfig(Quantisation("fp16", 8), 1), True),
    "fp32 and 16 bits, sixteen lanes": (StageConfig(Quantisation("fp32", 16), 16), False),
}


@pytest.mark.parametrize("block", STAGES)
@pytest.mark.parametrize(
    "name", cases_of({name: name for name in MATRIX}, {"the default", "fp32 and 16 bits, sixteen lanes"})
)
def test_a_stage_passes(block: str, name: str) -> None:
    config, init = MATRIX[name]
    design = StageDesign(block, config, init)
    run = verify(design, packets=80, seed=5)
    assert [outcome.failure for outcome in run.outcomes] == [None] * len(run.outcomes)
    assert [outcome.test for outcome in run.outcomes] == [
        point.name for point in plan_of(design).choose(design)
    ]
    assert all(outcome.checks for outcome in run.outcomes)


#: High but for one cycle in 64, which depends on the start value of a register.
GHOST = "(now != ghost)"
STATE = """\
  reg even = 0;
  always @(posedge aclk) even <= ~even;
  reg [5:0] ghost;
  always @(posedge aclk) ghost <= ghost;
  reg [5:0] now;
  always @(posedge aclk) now <= aresetn ? now + 1 : 0;
"""

#: What is broken: the expressions of ports, by which the wrapper replaces them; the test that finds it, and what it says.
FAULTS = {
    "a bit of an integer in lane 7": (
        "quantiser",
        {"m_axis_tdata": "x_m_axis_tdata ^ (64'd1 << 56)"},
        "fills",
        "lane 7 is 0x",
    ),
    "the first index": (
        "quantiser",
        {"m_report_tdata": "x_m_report_tdata + (|x_m_report_tdata ? 64'd1 << 32 : 64'd0)"},
        "special",
        r"the report has .* first of them",
    ),
    "the step": ("dequantiser", {"step": "step ^ (step == 8'd1)"}, "every", "lane 0 is 0x"),
    "an idle cycle after each beat": (
        "dequantiser",
        {"m_axis_tvalid": "x_m_axis_tvalid & even", "m_axis_tready": "m_axis_tready & even"},
        "rate",
        "in more cycles|after it went in",
    ),
    "a part of a number is kept": (
        "quantiser",
        {"s_axis_tkeep": "s_axis_tkeep | (s_axis_tkeep[0] ? 32'hf : 32'd0)"},
        "holes",
        "not keep 0x0",
    ),
    "start values show": (
        "quantiser",
        {"m_report_tvalid": f"x_m_report_tvalid & {GHOST}", "m_report_tready": f"m_report_tready & {GHOST}"},
        "starts",
        "the outputs differ between runs that differ only in the start values of registers",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    block, changes, test, message = FAULTS[fault]
    design = StageDesign(block)
    text = wrapped(design.verilog(), design.top, design.ports, changes, STATE)
    (outcome,) = verify(design, tests=[test], packets=50, seed=3, verilog=text).outcomes
    assert outcome.failure is not None, "the fault was not found"
    assert re.search(message, outcome.failure), outcome.failure


def test_a_failed_test_has_its_command() -> None:
    config = StageConfig(Quantisation("bf16", 4, True), 4)
    assert replay_command(StageDesign("quantiser", config, False), "rate", 3, 20) == (
        "cdma verify quantiser --number bf16 --bits 4 --keep-nonzero --lanes 4 --no-init --tests rate --seed 3 --packets 20"
    )
