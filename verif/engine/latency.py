"""How long one descriptor takes from its doorbell to its interrupt, step by step, in cycles, under Verilator. Several clocks
have one period."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cdma.sim.engine.transfer import DIRECTIONS
from cdma.verif.simulator.run import measure

from .design import EngineDesign

__all__ = ["BACK_TO_BACK", "STEPS", "latency_cases", "measure_latency"]

#: What happens to a descriptor, in this order, and in words; the doorbell is cycle 0.
STEPS = {
    "fetch": "address of the descriptor's read",
    "fetched": "last beat of the descriptor",
    "read": "first read address of data",
    "first_in": "first beat of data in",
    "first_out": "first beat of data out",
    "last_in": "last beat of data in",
    "last_out": "last beat of data out",
    "answered": "last write response of data",
    "completion": "address of the completion's write",
    "completed": "response to the completion's write",
    "interrupt": "interrupt",
}

#: Descriptors back to back whose cycles are shared out, and the bytes of the longer tensor that is moved.
BACK_TO_BACK, _BYTES = 64, 1024


def latency_cases(design: EngineDesign) -> list[dict[str, Any]]:
    """Both directions, the shortest tensor that the engine takes at every address and a longer one, near and far memory."""
    config = design.config
    shortest = max(config.dev_data_bits, config.host_data_bits) // 8
    return [
        {
            "direction": direction,
            "mode": "zvc",
            "density": 1.0,
            "bytes": size,
            "descriptors": 1,
            "memory_latency": latency,
        }
        for direction in DIRECTIONS
        for size in (shortest, _BYTES)
        for latency in (10, 100)
    ]


def measure_latency(
    design: EngineDesign, wanted: Sequence[dict[str, Any]], report: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """One row per case, with the cycles from the doorbell to each of :data:`STEPS` of a descriptor that is alone, and
    ``each``, those that a descriptor takes of :data:`BACK_TO_BACK` back to back, from the first read address of data to the
    last write response.

    ``report`` is called with the number of new rows. A case without failure has also moved the right data.
    """
    return measure(design, "cdma.verif.engine.latency_tests", report=report, cases=list(wanted))
