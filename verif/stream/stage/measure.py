"""Cycles and latency of a quantiser or a dequantiser by the length of its packets, measured under Verilator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdma.verif.simulator.run import measure

from .design import StageDesign

__all__ = ["BEATS", "PACKETS", "measure_stage"]

#: Beats of the packets that are measured, and how many packets of each length go in back to back.
BEATS = (1, 2, 4, 16, 64, 256)
PACKETS = 8


def measure_stage(
    design: StageDesign, seed: int = 1, report: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """One row for each length.

    ``cycles`` counts from the first beat out to the last one, ``bound`` is what the contract allows, ``latency`` is from
    the first beat in to the first beat out, ``bytes_per_cycle`` is of numbers. ``report`` is called with the number of
    new rows.
    """
    config = design.config
    shape = {
        "block": design.block,
        "number": config.form.number,
        "bits": config.form.bits,
        "lanes": config.lanes,
    }
    # A quantiser takes a cycle more for each packet, for its report.
    more = int(design.quantises)
    rows = measure(design, "cdma.verif.stream.stage.tests.single", report=report, seed=seed)
    return [
        {
            **shape,
            **row,
            "bound": PACKETS * row["beats"] + (PACKETS - 1) * more,
            "bytes_per_cycle": round(row["beats_per_cycle"] * config.number_bytes, 2),
        }
        for row in rows
    ]
