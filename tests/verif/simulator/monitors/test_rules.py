"""The rules of a stream, each broken once. Which outputs must be known when, and what is said of one that is not."""

from __future__ import annotations

import pytest

from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, axis_ports
from cdma.verif.simulator.monitors.rules import (
    Beat,
    RuleError,
    StreamRules,
    UnknownError,
    Unknowns,
    channel_valid,
    keep_is_whole,
    unknown_conditions,
)


def rules(**changes: object) -> StreamRules:
    return StreamRules("m_axis", **{"beat_bytes": 8, "word_bytes": 2, **changes})  # type: ignore[arg-type]


WHOLE = Beat(5, 0xFF)


def test_sound_traffic_passes() -> None:
    watch = rules()
    for beat, ready in (
        (None, False),
        (WHOLE, False),
        (WHOLE, True),
        (None, True),
        (Beat(1, 0x0F, True), True),
    ):
        watch.sample(beat, ready)
    assert watch.cycles == 5


def test_retraction() -> None:
    watch = rules()
    watch.sample(WHOLE, False)
    with pytest.raises(RuleError, match=r"m_axis: valid fell although ready had not come \(retraction\)"):
        watch.sample(None, True)


def test_valid_may_fall_after_ready() -> None:
    watch = rules()
    watch.sample(WHOLE, True)
    watch.sample(None, False)


@pytest.mark.parametrize("other", [Beat(6, 0xFF), Beat(5, 0x0F), Beat(5, 0xFF, True)])
def test_payload_changes_while_waiting(other: Beat) -> None:
    watch = rules()
    watch.sample(WHOLE, False)
    with pytest.raises(RuleError, match="the payload changed while valid waited for ready"):
        watch.sample(other, False)


@pytest.mark.parametrize("keep", [0xF0, 0x0D, 0x07, 0xFD])
def test_keep_with_a_hole_or_a_cut_word(keep: int) -> None:
    with pytest.raises(RuleError, match="has a hole or cuts a word"):
        rules().sample(Beat(0, keep, True), True)


def test_partial_beat_in_the_middle() -> None:
    with pytest.raises(RuleError, match="partial in a beat that is not the last"):
        rules().sample(Beat(0, 0x0F), True)


def test_empty_beat() -> None:
    with pytest.raises(RuleError, match="an empty beat"):
        rules().sample(Beat(0, 0, True), True)
    rules(may_be_empty=True).sample(Beat(0, 0, True), True)
    with pytest.raises(RuleError, match="partial in a beat that is not the last"):
        rules(may_be_empty=True).sample(Beat(0, 0), True)


def test_valid_in_reset() -> None:
    rules().reset(False)
    with pytest.raises(RuleError, match="m_axis: valid is high in reset"):
        rules().reset(True)


def test_reset_forgets_what_was_on_offer() -> None:
    watch = rules()
    watch.sample(WHOLE, False)
    watch.reset(False)
    watch.sample(None, False)


def test_keep_is_whole() -> None:
    assert [keep for keep in range(256) if keep_is_whole(keep, 2)] == [0, 0x03, 0x0F, 0x3F, 0xFF]


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
