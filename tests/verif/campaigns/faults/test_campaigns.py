"""Campaigns of faults on a small engine: it passes them, and engines broken on purpose are counted as what they are."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from cdma.hdl.engine.pins import engine_ports
from cdma.hdl.spec.records import DESCRIPTOR
from cdma.sim.engine.memory import pack
from cdma.verif.campaigns.faults.campaign import CAMPAIGNS, OWN, Part, parts_of, run_part
from cdma.verif.campaigns.faults.machine import Machine
from cdma.verif.campaigns.faults.scene import OUTCOMES, Tally
from cdma.verif.campaigns.faults.software import Software
from cdma.verif.campaigns.faults.streams import KINDS
from cdma.verif.engine.design import SMALL, EngineDesign
from tests.support.verilog_designs import faulty

pytestmark = [pytest.mark.verilator, pytest.mark.slow]

_STATE = """
  reg [7:0] beats = 0;
  always @(posedge aclk) beats <= !aresetn ? 0 : beats + (m_axi_host_rvalid & m_axi_host_rready);
"""
#: What is broken: a signal and what is there for it; and in which part of which campaign it must show as what.
_BROKEN = {
    "an error of a read is lost": ("m_axi_dev_rresp", "2'b00", "responses offload raw ring fast: silent"),
    "an error of a completion is lost": (
        *("m_axi_host_bresp", "m_axi_host_bid == 0 ? m_axi_host_bresp : 2'b00"),
        "responses prefetch zvc ring fast: silent",
    ),
    "DECERR becomes SLVERR": (
        *("m_axi_dev_rresp", "m_axi_dev_rresp & 2'b10"),
        "responses offload zvc direct fast: wrong",
    ),
    "the last beat is written whole": ("m_axi_dev_wstrb", "8'hff", "streams own: outside"),
    "a write goes a beat too far": (
        *("m_axi_host_awaddr", "x_m_axi_host_awaddr + (x_m_axi_host_awid == 0 ? 16 : 0)"),
        "responses offload raw ring slow: outside",
    ),
    "it takes no more data": (
        *("m_axi_host_rready", "x_m_axi_host_rready & (beats < 200)"),
        "streams own: hung",
    ),
    "a stream's error is lost": (
        "m_axi_host_wdata",
        "x_m_axi_host_wdata & ~(x_m_axi_host_wdata[103:100] == 1 ? 128'd31 << 96 : 128'd0)",
        "streams own: silent",
    ),
    "the watchdog sleeps": (
        *("s_axil_wdata", "s_axil_awaddr == 40 ? 0 : s_axil_wdata"),
        "stalls offload zvc ring fast: hung",
    ),
    "the window of host memory is larger": (
        *("s_axil_wdata", "s_axil_awaddr == 296 ? 32'h000ff000 : s_axil_wdata"),
        "hostile own: wrong",
    ),
    "an abort is not heard": (
        *("s_axil_wdata", "s_axil_awaddr[7:0] == 4 && s_axil_wdata == 1 ? 0 : s_axil_wdata"),
        "aborts offload zvc direct fast: wrong",
    ),
}

_SEVERAL_CLOCKS = EngineDesign(replace(SMALL, clocks="device,host,registers"))


@cache
def _verilog() -> str:
    """The engine with every fault, of which the simulation chooses one."""
    design = EngineDesign()
    changes = {name: {signal: text} for name, (signal, text, _) in _BROKEN.items()}
    return faulty(design.verilog(), design.top, engine_ports(design.config), changes, _STATE)


def _parts(campaign: str, every: int, count: int = 56) -> list[Part]:
    return parts_of(campaign, EngineDesign(), seed=3, every=every, count=count, formats=[OWN])


def _run(part: Part, broken: str | None = None) -> Tally:
    number = list(_BROKEN).index(broken) + 1 if broken else 0
    return run_part(part, _verilog(), (f"+fault={number}",))


@pytest.mark.parametrize("campaign", [name for name in CAMPAIGNS if name != "memories"])
def test_the_engine_passes(campaign: str) -> None:
    every = {"stalls": 37, "aborts": 31, "resets": 31}.get(campaign, 13)
    tally = Tally()
    for part in _parts(campaign, every, 1200 if campaign == "hostile" else 280):
        tally.merge(_run(part))
    assert not tally.failures
    assert not tally.failed
    kinds = {
        "responses": {"read", "write", "fetch", "completion"},
        "stalls": {"AR", "R", "AW", "W", "B"},
        "aborts": {"abort"},
        "resets": {"soft reset", "hard reset"},
        "streams": {*KINDS, "copies"},
        "hostile": {
            f"{kind}, {channel}"
            for kind in ("registers", "rings", "descriptors")
            for channel in ("offload", "prefetch")
        },
    }
    assert set(tally.counts) == kinds[campaign]
    for row in tally.counts.values():
        assert row["cases"] == sum(row[outcome] for outcome in OUTCOMES)
        assert row["detected"]


@pytest.mark.parametrize("broken", _BROKEN)
def test_counts(broken: str) -> None:
    shown, outcome = _BROKEN[broken][2].split(": ")
    (part,) = [part for part in _parts(shown.split()[0], 2) if str(part) == shown]
    tally = _run(part, broken)
    assert tally.failed
    assert sum(row[outcome] for row in tally.counts.values()), tally.counts
    assert tally.failures


@pytest.mark.thorough
@pytest.mark.parametrize(("fault", "wrong"), [(0, False), (1, True), (2, True)])
def test_hostile_software_keeps_to_its_owner(fault: int, wrong: bool) -> None:
    """The engine; one whose masks are 0; one whose rings are of the owner of others."""
    design = EngineDesign(replace(SMALL, stream_id_bits=3, substream_id_bits=5))
    changes = {
        "mask": {"s_axil_wdata": "(s_axil_awaddr & ~32) == 324 ? 0 : s_axil_wdata"},
        "ring": {"m_axi_host_armmusid": "x_m_axi_host_armmusid ^ (x_m_axi_host_arid == 1)"},
    }
    verilog = faulty(design.verilog(), design.top, engine_ports(design.config), changes, _STATE)
    (part,) = parts_of("hostile", design, seed=3, count=400)
    tally = run_part(part, verilog, (f"+fault={fault}",))
    assert any(row["wrong"] for row in tally.counts.values()) == wrong
    assert tally.failed == wrong


@pytest.mark.parametrize("broken", [False, True])
def test_every_transfer_has_a_base(broken: bool) -> None:
    """The engine; one that does not see the errors of bases."""
    design = EngineDesign(replace(SMALL, delta=True))
    changes = {"base": {"m_axi_dev_rresp": "m_axi_dev_rid == 0 ? m_axi_dev_rresp : 0"}}
    verilog = faulty(design.verilog(), design.top, engine_ports(design.config), changes, _STATE)
    tally = Tally()
    for campaign in ("responses", "stalls", "aborts")[: 1 if broken else 3]:
        for part in parts_of(campaign, design, seed=3, every=61):
            tally.merge(run_part(part, verilog, (f"+fault={int(broken)}",)))
    assert tally.failed == broken, tally.failures
    assert sum(row["silent"] for row in tally.counts.values()) > 5 or not broken


@pytest.mark.thorough
@pytest.mark.parametrize("campaign", [name for name in CAMPAIGNS if name != "memories"])
def test_an_engine_with_several_clocks_passes(campaign: str) -> None:
    """Of any ratio, with jitter, and with synchronisers that see a change late."""
    tally = Tally()
    for part in parts_of(campaign, _SEVERAL_CLOCKS, seed=4, every=41, count=560, formats=[OWN]):
        tally.merge(run_part(part))
    assert not tally.failures
    assert sum(row["detected"] for row in tally.counts.values()) > 20


@pytest.mark.thorough
def test_a_crossing_that_gives_what_it_has_not_is_found() -> None:
    verilog, count = re.subn(
        r"(module cdma_engine_host_crossing_w \(.*?assign loads = )[^;]*",
        r"\g<1>~output_valid | output_ready",
        _SEVERAL_CLOCKS.verilog(),
        flags=re.DOTALL,
    )
    assert count == 1
    part = parts_of("responses", _SEVERAL_CLOCKS, seed=4, every=41)[0]
    assert run_part(part, verilog).failed


@pytest.mark.thorough
@pytest.mark.parametrize(("fault", "failed"), [(0, False), (1, True), (2, True)])
def test_hostile_software_of_one_pair_keeps_to_itself(fault: int, failed: bool) -> None:
    """The engine; one whose second pair has the window of the first as well; one whose aborts are the first pair's."""
    design = EngineDesign(replace(SMALL, channels=2, pages=True, msi=True))
    changes = {
        "window": {"s_axil_wdata": "s_axil_awaddr == 'h1120 ? 'h1000 : s_axil_wdata"},
        "abort": {
            "s_axil_awaddr": "(s_axil_awaddr & ~'h100) == 'h1204 ? s_axil_awaddr ^ 'h1000 : s_axil_awaddr"
        },
    }
    verilog = faulty(design.verilog(), design.top, engine_ports(design.config), changes, _STATE)
    (part,) = parts_of("hostile", design, seed=3, count=400)
    tally = run_part(part, verilog, (f"+fault={fault}",))
    assert tally.failed == failed, tally.failures


@pytest.mark.thorough
def test_with_a_crc_nothing_is_undetectable() -> None:
    (part,) = parts_of("streams", EngineDesign(), seed=3, count=100, formats=["own+crc"])
    tally = run_part(part)
    assert not tally.failures
    assert set(tally.counts) == {f"{kind}, CRC" for kind in (*KINDS, "copies")}
    assert sum(row["detected"] for row in tally.counts.values()) > 90
    assert not any(row["undetectable"] for row in tally.counts.values())


def test_a_case_runs_again_alone() -> None:
    (part,) = parts_of("responses", EngineDesign(), seed=3, only="offload raw ring fast: dev.r 7 decerr halt")
    tally = _run(part, "an error of a read is lost")
    assert [failure["case"] for failure in tally.failures] == ["dev.r 7 decerr halt"]
    assert tally.counts["read"]["cases"] == tally.counts["read"]["silent"] == 1
    (part,) = parts_of("streams", EngineDesign(), seed=3, count=1000, only="own: 57")
    assert sum(row["cases"] for row in _run(part).counts.values()) == 1


@pytest.mark.parametrize("channel", ["offload", "prefetch"])
def test_no_completion_comes_into_the_registers_after_a_soft_reset(channel: str) -> None:
    """In whichever cycle of a descriptor that fails it comes."""
    wrong, shown = pack(DESCRIPTOR, {"tag": 7}), 0
    with Machine(EngineDesign(), _verilog(), ("+fault=0",)) as machine:
        machine.reset()
        for cycles in range(480):
            software = Software(machine, channel, "direct")
            software.start()
            software.submit([wrong])
            machine.run(cycles)
            shown += software.flag("completion_waiting")
            machine.poke("engine.command", soft_reset=1)
            assert machine.expect("engine.status", 1000, resetting=0)
            machine.run(100)
            assert not software.flag("completion_waiting"), f"{cycles} cycles after the descriptor"
    assert 0 < shown < 240
