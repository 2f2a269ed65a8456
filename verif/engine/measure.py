"""How busy the engine keeps its ports, against density, tensor size and memory latency, measured under
Verilator.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cdma.verif.simulator.build import build
from cdma.verif.simulator.simulate import SimulationError, simulate

from .design import EngineDesign

__all__ = ["DENSITIES", "LATENCIES", "SIZES", "cases", "measure_engine"]

DENSITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
SIZES = (4096, 65536, 1 << 20)
LATENCIES = (10, 100, 300)

#: A row of small tensors is many of them, back to back.
_BYTES_OF_A_ROW = 1 << 17


def cases(
    densities: Sequence[float] = DENSITIES, sizes: Sequence[int] = SIZES, latencies: Sequence[int] = LATENCIES
) -> list[dict[str, Any]]:
    """Both directions apart and together, in mode zvc at every density, and raw copies."""
    found = []
    for direction in ("offload", "prefetch", "both"):
        for mode, chosen in (("zvc", densities), ("raw", (1.0,))):
            for size in sizes:
                for latency in latencies:
                    for density in chosen:
                        found.append(
                            {
                                "direction": direction,
                                "mode": mode,
                                "density": density,
                                "bytes": size,
                                "descriptors": max(1, min(32, _BYTES_OF_A_ROW // size)),
                                "memory_latency": latency,
                            }
                        )
    return found


def measure_engine(
    design: EngineDesign, wanted: Sequence[dict[str, Any]], report: Callable[[int], None] | None = None
) -> list[dict[str, Any]]:
    """One row per case and direction; a case without failure has also moved the right data.

    ``cycles`` counts from the first read address of the data to the last write response; ``utilisation`` is
    the share of them in which the busier of the two ports could not have done less: ``max(raw bytes / device
    width, compressed bytes / host width) / cycles``. ``descriptors`` tensors of ``bytes`` bytes each are
    moved back to back. ``report`` hears how many rows there are."""
    executable = build(design.verilog(), design.top, design.ports())
    with tempfile.TemporaryDirectory(prefix="cdma-") as directory:
        rows = Path(directory) / "rows.jsonl"
        rows.touch()
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                if report is not None:
                    report(rows.read_bytes().count(b"\n"))
                time.sleep(0.5)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            settings = {"design": design.to_json(), "cases": list(wanted), "rows": str(rows)}
            (outcome,) = simulate(
                executable, design.top, "cdma.verif.engine.measure_tests", ["measure"], settings, timeout=7200
            )
        finally:
            done.set()
            watcher.join()
        if outcome.failure is not None:
            raise SimulationError(f"measuring the engine failed: {outcome.failure}")
        return [json.loads(line) for line in rows.read_text().splitlines()]
