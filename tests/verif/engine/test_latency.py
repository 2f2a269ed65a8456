"""The steps of a descriptor: in their order, and as far apart as the memories are."""

from __future__ import annotations

import pytest

from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.latency import STEPS, latency_cases, measure_latency


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
        more = far["memory_latency"] - near["memory_latency"]
        waits = {"fetch": 0, "fetched": 1, "first_in": 2, "first_out": 2, "answered": 3, "completed": 4}
        assert {name: far[name] - near[name] for name in waits} == {
            name: count * more for name, count in waits.items()
        }
