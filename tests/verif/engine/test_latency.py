"""The steps of a descriptor: in their order, and as far apart as the memories are. The measurement of several units: its
tensors, its bound, and that an engine of two units reaches it. An engine on a DRAM controller: tensors go out and back,
at what the controller gives, and groups help where both wait.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.dram import check_dram, measure_on_dram
from cdma.verif.engine.measure import (
    STEPS,
    UNIT_DENSITIES,
    bound_cycles,
    latency_cases,
    measure_engine,
    measure_latency,
    unit_cases,
    unit_row,
)


@pytest.mark.verilator
@pytest.mark.slow
def test_the_steps_of_a_descriptor_wait_for_the_memories_alone() -> None:
    design = EngineDesign()
    shortest = [case for case in latency_cases(design) if case["bytes"] < 1024]
    rows = measure_latency(design, shortest)
    assert [row["direction"] for row in rows] == ["offload", "offload", "prefetch", "prefetch"]
    for row in rows:
        steps = [row[name] for name in STEPS]
        # A tensor of a beat may end before its first word leaves.
        assert 0 < row["fetch"] < row["fetched"] < row["read"] < row["first_in"] < row["first_out"]
        assert row["last_in"] <= row["last_out"] < row["answered"] < row["completion"] < row["completed"]
        assert row["interrupt"] == max(steps)
        assert row["each"] < row["completed"]
    for near, far in (rows[:2], rows[2:]):
        # Within so many cycles it is the ring's turn.
        turn = far["fetch"] - near["fetch"]
        assert abs(turn) <= 12
        more = far["memory_latency"] - near["memory_latency"]
        waits = {"fetched": 1, "first_in": 2, "first_out": 2, "answered": 3, "completed": 4}
        assert {name: far[name] - near[name] - turn for name in waits} == {
            name: count * more for name, count in waits.items()
        }


#: What the engine keeps of the bound, on a tensor for which start-up is little.
LEAST_SHARE = 0.95


@pytest.mark.parametrize(
    ("units", "stream", "cycles"),
    [(1, 512, 128), (4, 512, 32), (8, 512, 16), (8, 1024, 32), (8, 4224, 132), (1, 4224, 132), (6, 33, 22)],
)
def test_the_bound(units: int, stream: int, cycles: int) -> None:
    """4 KiB through ports of 32 bytes: the link needs stream / 32 cycles, the units 128 / units."""
    assert bound_cycles(EngineConfig(units=units), 4096, stream) == cycles


@pytest.mark.parametrize("units", [1, 2, 6, 8])
def test_cases_take_about_the_same_time(units: int) -> None:
    config = EngineConfig(units=units)
    cases = unit_cases(config, cycles=16384)
    assert len(cases) == 2 * (len(UNIT_DENSITIES) + (2 if units > 1 else 0))
    for case in cases:
        assert case["bytes"] % (2 * units * config.stripe_bytes) == 0
        share = 1 / 32 + case["density"]
        bound = bound_cycles(config, case["bytes"], round(case["bytes"] * share))
        assert bound == pytest.approx(16384, rel=0.05)


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    "config",
    [EngineConfig(units=2, lanes=2, dev_data_bits=64, host_data_bits=64), EngineConfig(units=2)],
    ids=["small", "default"],
)
def test_two_units_fill_the_link(config: EngineConfig) -> None:
    """At a ratio of two, where neither the link nor a unit may lose a cycle."""
    for measured in measure_engine(
        EngineDesign(config), unit_cases(config, (0.46875,), patterns=("scattered",))
    ):
        row = unit_row(config, measured)
        assert row["ratio"] == pytest.approx(2, abs=0.01)
        assert row["share"] >= LEAST_SHARE, row


_CONFIG = EngineConfig(lanes=4, dev_data_bits=128, host_data_bits=128, group_bursts=8, group_ports="all")
_CASE = {"mode": "zvc", "density": 1.0, "bytes": 1 << 16, "descriptors": 1, "memory_latency": 30}


@pytest.mark.verilator
@pytest.mark.slow
@pytest.mark.parametrize("port", ["dev", "host"])
def test_groups_make_up_for_what_a_dram_loses_in_turns(port: str) -> None:
    pytest.importorskip("litedram")
    asked = [{"direction": way} | _CASE for way in ("offload", "prefetch", "both")]
    cases = [*asked, asked[2] | {"groups": 0}]
    offload, prefetch, *rows = measure_on_dram("ddr3", EngineDesign(_CONFIG), cases, port=port)
    # The latency of the first and the last byte of 64 KiB is some per cent of its time.
    assert offload["of_run"] > 0.94
    assert prefetch["of_run"] > 0.94
    grouped, alternating = rows[:2], rows[2:]
    assert all(row["of_dram"] > 0.7 for row in grouped)
    assert all(row["of_dram"] < 0.55 for row in alternating)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (replace(_CONFIG, dev_data_bits=256), "dev-data-bits is 256; the port of ddr3 has 128"),
        (replace(_CONFIG, clocks="host"), "everything has the controller's clock"),
    ],
)
def test_an_engine_that_does_not_fit_is_refused(config: EngineConfig, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_dram("ddr3", EngineDesign(config))
