"""The engine's bench finds what it is there to find: engines broken on purpose, each caught by the test that should."""

from __future__ import annotations

import re
from functools import cache

import pytest

from cdma.hdl.engine.pins import engine_ports
from cdma.verif.campaigns.regression import verify
from cdma.verif.engine.design import SMALL, EngineDesign
from tests.support.engines import STREAMING
from tests.support.verilog_designs import faulty

pytestmark = [pytest.mark.verilator, pytest.mark.slow]

#: Counts cycles, and responses of the register port; notes whether a completion waits.
STATE = """
  reg [9:0] cycles = 0;
  reg [9:0] reads = 0;
  reg started = 0;
  always @(posedge aclk) cycles <= cycles + 1;
  always @(posedge aclk) started <= started | aresetn;
"""
REGISTER_STATE = "  always @(posedge aclk) reads <= reads + (s_axil_rvalid & s_axil_rready);\n"
STREAM_STATE = """
  reg waited = 0;
  always @(posedge aclk) waited <= m_prefetch_completion_tvalid & ~m_prefetch_completion_tready;
"""

#: What is driven otherwise, the test that must fail, and what it must say.
_Fault = tuple[dict[str, str], str, str]
NOW_AND_THEN = "~&cycles[3:0]"
COMMON: dict[str, _Fault] = {
    "bursts of one beat": ({"m_axi_host_awlen": "8'd0"}, "soak", "wlast is at the wrong beat"),
    "a read address changes while it waits": (
        {"m_axi_dev_araddr": "x_m_axi_dev_araddr + (m_axi_dev_arready ? 0 : 64)"},
        "soak",
        "ar changed while arvalid waited",
    ),
    "no error is heard on reads of the host": (
        {"m_axi_host_rresp": "2'b00"},
        "bus_errors",
        r"\(0, 0, \d+\) == \(<Status.READ_",
    ),
    "DECERR is heard as SLVERR": (
        {"m_axi_dev_rresp": "m_axi_dev_rresp & 2'b10"},
        "bus_errors",
        r"\(1, \d+, \d+\) == \(<Status.READ_DECERR",
    ),
    "DECERR is heard as SLVERR on writes": (
        {"m_axi_dev_bresp": "m_axi_dev_bresp & 2'b10"},
        "bus_errors",
        r"\(3, \d+, \d+\) == \(<Status.WRITE_DECERR",
    ),
    "an address bit above 4 GiB is lost": (
        {"m_axi_dev_araddr": "x_m_axi_dev_araddr & 40'hffffffff"},
        "limits",
        "a read of 0x|is given a5",
    ),
    "a burst goes over 4 KiB": (
        {"m_axi_host_awaddr": "x_m_axi_host_awaddr | (x_m_axi_host_awlen == 0 ? 0 : 4080)"},
        "soak",
        "a write burst is of an illegal type or size or length or crosses a boundary",
    ),
    "a write address is withdrawn": (
        {
            "m_axi_host_awvalid": f"x_m_axi_host_awvalid & (m_axi_host_awready | {NOW_AND_THEN})",
        },
        "soak",
        "awvalid fell before awready",
    ),
    "an address is offered in reset": (
        {"m_axi_dev_arvalid": "x_m_axi_dev_arvalid | ~aresetn"},
        "hard_resets",
        "awvalid or wvalid or arvalid is high in reset",
    ),
    "data are taken in reset": (
        {"m_axi_host_rready": "x_m_axi_host_rready | ~aresetn"},
        "hard_resets",
        "rready or bready is high in reset",
    ),
    "a reset that does not reach the engine": ({"aresetn": "aresetn | started"}, "hard_resets", ""),
}
REGISTERS: dict[str, _Fault] = {
    "rvalid falls": (
        {"s_axil_rvalid": f"x_s_axil_rvalid & (s_axil_rready | {NOW_AND_THEN})"},
        "register_bus",
        "rvalid fell before rready",
    ),
    "rdata changes while it waits": (
        {"s_axil_rdata": "x_s_axil_rdata ^ {31'd0, !s_axil_rready}"},
        "register_bus",
        "rdata or rresp changed while rvalid waited",
    ),
    "bvalid waits for nothing": (
        {"s_axil_bvalid": "x_s_axil_bvalid | s_axil_wvalid"},
        "register_bus",
        "bvalid answers no write",
    ),
    "rvalid before the address": (
        {"s_axil_rvalid": "x_s_axil_rvalid | s_axil_arvalid"},
        "register_bus",
        "rvalid answers no read",
    ),
    "a write to nowhere is answered OKAY": (
        {"s_axil_bresp": "2'b00"},
        "register_bus",
        "a write to 0x[0-9a-f]+ is answered <AxiResp.OKAY",
    ),
    "a response that never comes": (
        {
            "s_axil_rvalid": "x_s_axil_rvalid & (reads < 100)",
            "s_axil_rready": "s_axil_rready & (reads < 100)",
        },
        "register_bus",
        "no rvalid although a response is due",
    ),
    "a failed completion is not heard": (
        {"m_axi_host_bresp": "m_axi_host_bid == 0 ? m_axi_host_bresp : 2'b00"},
        "ring_errors",
        "error register",
    ),
    "a failed fetch is not heard": (
        {"m_axi_host_rresp": "m_axi_host_rid == 0 ? m_axi_host_rresp : 2'b00"},
        "ring_errors",
        "FETCH_SLVERR|nobody allowed",
    ),
    "a port that waits for nothing": (
        {
            "m_axi_dev_wvalid": f"x_m_axi_dev_wvalid & {NOW_AND_THEN}",
            "m_axi_dev_wready": f"m_axi_dev_wready & {NOW_AND_THEN}",
        },
        "pace",
        "a packet takes 13[0-9.]+ cycles where the busiest part needs 128",
    ),
    "an interrupt in reset": ({"irq": "x_irq | ~aresetn"}, "hard_resets", "irq is high in reset"),
}
STREAMS: dict[str, _Fault] = {
    "the top bit of a length is lost": (
        {"s_offload_descriptor_tdata": "s_offload_descriptor_tdata & ~(512'd1 << 160)"},
        "limits",
        "got ZERO_LENGTH|ended after",
    ),
    "another bit of a length is lost": (
        {"s_prefetch_descriptor_tdata": "s_prefetch_descriptor_tdata & ~(512'd1 << 152)"},
        "limits",
        "ended after",
    ),
    "a completion is withdrawn": (
        {
            "m_offload_completion_tvalid": "x_m_offload_completion_tvalid & (m_offload_completion_tready | cycles[0])"
        },
        "aborts",
        "offload completion: valid fell although ready had not come",
    ),
    "a completion changes": (
        {
            "m_prefetch_completion_tdata": "x_m_prefetch_completion_tdata ^ {511'd0, waited & m_prefetch_completion_tready}"
        },
        "soak",
        "prefetch completion: the payload changed",
    ),
    "a completion in reset": (
        {"m_offload_completion_tvalid": "x_m_offload_completion_tvalid | ~aresetn"},
        "hard_resets",
        "offload completion: valid is high in reset",
    ),
    "a count that is wrong": (
        {"m_offload_completion_tdata": "x_m_offload_completion_tdata ^ (512'd1 << 96)"},
        "lengths",
        "bytes_read",
    ),
}
FAULTS = {True: {**COMMON, **REGISTERS}, False: {**COMMON, **STREAMS}}


@cache
def _verilog(registers: bool) -> tuple[EngineDesign, str]:
    design = EngineDesign(SMALL if registers else STREAMING)
    faults = {name: changes for name, (changes, _, _) in FAULTS[registers].items()}
    state = STATE + (REGISTER_STATE if registers else STREAM_STATE)
    return design, faulty(design.verilog(), design.top, engine_ports(design.config), faults, state)


@pytest.mark.parametrize(
    ("registers", "fault"),
    [(True, name) for name in FAULTS[True]] + [(False, name) for name in STREAMS],
    ids=lambda value: {True: "registers", False: "streams"}.get(value, value),
)
def test_notices(registers: bool, fault: str) -> None:
    design, verilog = _verilog(registers)
    _, test, message = FAULTS[registers][fault]
    number = list(FAULTS[registers]).index(fault) + 1
    (outcome,) = verify(
        design, tests=[test], seed=2, packets=60, verilog=verilog, plusargs=[f"+fault={number}"]
    ).outcomes
    assert outcome.failure is not None, "the fault was not found"
    assert re.search(message, outcome.failure), outcome.failure


@pytest.mark.parametrize("registers", [True, False], ids=["registers", "streams"])
def test_the_wrapper_itself_is_sound(registers: bool) -> None:
    design, verilog = _verilog(registers)
    (outcome,) = verify(design, tests=["lengths"], seed=3, packets=20, verilog=verilog).outcomes
    assert outcome.failure is None
