"""The bench finds what it is there to find: designs broken on purpose, each caught by the test that should.

A fault wraps the real design and breaks one promise at its ports.
"""

from __future__ import annotations

import re

import pytest

from cdma.hdl.codec.generate import codec_ports
from cdma.verif.campaigns.regression import verify
from cdma.verif.stream.codec.design import CodecDesign
from tests.support.verilog_designs import wrapped

pytestmark = [pytest.mark.verilator, pytest.mark.slow]

COMPRESSOR = CodecDesign("compressor")
DECOMPRESSOR = CodecDesign("decompressor")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {design.block: design.verilog() for design in (COMPRESSOR, DECOMPRESSOR)}


def broken(text: str, design: CodecDesign, expressions: dict[str, str], state: str = "") -> str:
    """The design with other expressions for some of its ports."""
    ports = codec_ports(design.config, length=design.block == "decompressor")
    return wrapped(text, design.top, ports, expressions, state)


COUNT = "  reg [9:0] count = 0;\n  always @(posedge aclk) count <= count + 1;"
#: Counts beats, and stands still for a cycle at every eighth.
IDLE = (
    "  reg [9:0] count = 0;\n"
    "  always @(posedge aclk) if (m_axis_tvalid & m_axis_tready | &count[2:0]) count <= count + 1;"
)
#: Beats that left so far.
BEATS = "  reg [9:0] beats = 0;\n  always @(posedge aclk) beats <= beats + (m_axis_tvalid & m_axis_tready);"
#: Whether valid has been seen together with ready in the cycle before.
ASKED = "  reg asked = 0;\n  always @(posedge aclk) asked <= m_axis_tready;"

#: Nothing in one cycle of 64, and which one is a matter of a register that nothing sets.
GHOST = "(now != ghost)"

PORT_FAULTS = {
    "sound": ({}, "", "soak", None),
    "one bit wrong, rarely": (
        {"m_axis_tdata": "x_m_axis_tdata ^ (&beats[6:0])"},
        BEATS,
        "soak",
        r"lane 0 is 0x[0-9a-f]+, not 0x",
    ),
    "last is lost": ({"m_axis_tlast": "x_m_axis_tlast & ~&beats[5:0]"}, BEATS, "soak", "last"),
    "valid falls while it waits": (
        {
            "m_axis_tvalid": "x_m_axis_tvalid & (m_axis_tready | ~&count[3:0])",
            "m_axis_tready": "m_axis_tready",
        },
        COUNT,
        "soak",
        "retraction",
    ),
    "payload changes while it waits": (
        {"m_axis_tdata": "x_m_axis_tdata ^ {m_axis_tready, 255'd0}"},
        "",
        "soak",
        "the payload changed while valid waited",
    ),
    "valid waits for ready": (
        {"m_axis_tvalid": "x_m_axis_tvalid & asked", "m_axis_tready": "m_axis_tready & asked"},
        ASKED,
        "patience",
        "nothing moves|retraction",
    ),
    "keep has a hole": (
        {"m_axis_tkeep": "{x_m_axis_tkeep[31:4], x_m_axis_tkeep[3:0] & {4{~&beats[5:0]}}}"},
        BEATS,
        "soak",
        "has a hole or cuts a word",
    ),
    "a literal too many in the report": (
        {"m_report_tdata": "x_m_report_tdata + (104'd1 << 64)"},
        "",
        "soak",
        r"the report has .* literals",
    ),
    "an idle cycle now and then": (
        {"m_axis_tvalid": "x_m_axis_tvalid & ~&count[2:0]", "m_axis_tready": "m_axis_tready & ~&count[2:0]"},
        IDLE,
        "bound",
        "the bound is",
    ),
    "valid in reset": (
        {"m_axis_tvalid": "x_m_axis_tvalid | ~aresetn"},
        "",
        "reset",
        "valid is high in reset",
    ),
    "reset does not reach the block": (
        {"aresetn": "aresetn | started"},
        ("  reg started = 0;\n  always @(posedge aclk) started <= started | aresetn;"),
        "reset",
        "",
    ),
    "start values show": (
        {"m_report_tvalid": f"x_m_report_tvalid & {GHOST}", "m_report_tready": f"m_report_tready & {GHOST}"},
        "  reg [5:0] ghost;\n  reg [5:0] now;\n  always @(posedge aclk) now <= aresetn ? now + 1 : 0;",
        "start",
        "the outputs differ between runs that differ only in the start values of registers",
    ),
}


@pytest.mark.parametrize("fault", PORT_FAULTS)
def test_fault_at_the_ports(fault: str, texts: dict[str, str]) -> None:
    changes, state, test, message = PORT_FAULTS[fault]
    text = broken(texts["compressor"], COMPRESSOR, changes, state)
    (outcome,) = verify(COMPRESSOR, tests=[test], packets=100, seed=3, verilog=text).outcomes
    if message is None:
        assert outcome.failure is None
    else:
        assert outcome.failure is not None, "the fault was not found"
        assert re.search(message, outcome.failure), outcome.failure


def test_decompressor_that_forgets_an_error(texts: dict[str, str]) -> None:
    changes = {"m_report_tdata": "{8'd0, x_m_report_tdata[95:0]}"}
    text = broken(texts["decompressor"], DECOMPRESSOR, changes)
    for test in ("corrupt", "malformed"):
        (outcome,) = verify(DECOMPRESSOR, tests=[test], packets=100, verilog=text).outcomes
        assert outcome.failure is not None
        assert "error" in outcome.failure
