"""Which outputs must be known when, and what is said of one that is not."""

from __future__ import annotations

import pytest

from cdma.hdl.verilog.ports import CLOCK_AND_RESET, Port, axis_ports
from cdma.verif.simulator.monitors.observed import channel_valid
from cdma.verif.simulator.monitors.unknowns import UnknownError, Unknowns, unknown_conditions

PORTS = (
    *CLOCK_AND_RESET,
    *axis_ports("s_axis", "input", data=16),
    *axis_ports("m_axis", "output", data=16, keep=2, last=1),
    Port("m_axi_rready", "output"),
    Port("m_axi_rvalid", "input"),
    Port("m_axi_rdata", "input", 8),
    Port("m_axi_araddr", "output", 8),
    Port("m_axi_arvalid", "output"),
    Port("irq", "output"),
    Port("m_axi_aresetn", "input", clock="m_axi_aclk"),
)
NAMES = {port.name: port for port in PORTS}


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("s_axis_tdata", "s_axis_tvalid"),
        ("m_axis_tlast", "m_axis_tvalid"),
        ("m_axis_tvalid", None),
        ("m_axis_tready", None),
        ("m_axi_rready", None),
        ("m_axi_rdata", "m_axi_rvalid"),
        ("m_axi_araddr", "m_axi_arvalid"),
        ("irq", None),
        ("aresetn", None),
        ("m_axi_aresetn", None),
    ],
)
def test_signals_of_a_channel(name: str, valid: str | None) -> None:
    found = channel_valid(NAMES[name], PORTS)
    assert (found and found.name) == valid


def test_the_conditions() -> None:
    assert unknown_conditions(PORTS) == {
        "s_axis_tready": "(^s_axis_tready) === 1'bx",
        "m_axis_tdata": "m_axis_tvalid && "
        "(^(m_axis_tdata & {{8{m_axis_tkeep[1]}}, {8{m_axis_tkeep[0]}}})) === 1'bx",
        "m_axis_tkeep": "m_axis_tvalid && (^m_axis_tkeep) === 1'bx",
        "m_axis_tlast": "m_axis_tvalid && (^m_axis_tlast) === 1'bx",
        "m_axis_tvalid": "(^m_axis_tvalid) === 1'bx",
        "m_axi_rready": "(^m_axi_rready) === 1'bx",
        "m_axi_araddr": "m_axi_arvalid && (^m_axi_araddr) === 1'bx",
        "m_axi_arvalid": "(^m_axi_arvalid) === 1'bx",
        "irq": "(^irq) === 1'bx",
    }


def test_nothing_is_known_before_the_first_edge_in_reset() -> None:
    watch = Unknowns(PORTS)
    everything = (1 << len(unknown_conditions(PORTS))) - 1
    watch.cycle(everything, reset=False)
    watch.cycle(everything, reset=True)
    watch.cycle(0, reset=True)
    watch.cycle(0, reset=False)
    assert watch.cycles == 2
    with pytest.raises(UnknownError, match=r"^s_axis_tready, irq unknown \(X\) after reset$"):
        watch.cycle(0b100000001, reset=False)


def test_nothing_is_known_at_the_first_edge_of_a_later_reset() -> None:
    watch = Unknowns(PORTS)
    for reset, unknown in ((True, 1), (True, 0), (False, 0), (True, 1)):
        watch.cycle(unknown, reset)
    with pytest.raises(UnknownError, match=r"^s_axis_tready unknown \(X\) in reset$"):
        watch.cycle(1, reset=True)
