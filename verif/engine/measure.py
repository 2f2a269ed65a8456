"""How busy the engine keeps its ports, against density, tensor size and memory latency, under Verilator."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from cdma.verif.simulator.run import measure

from .design import EngineDesign

__all__ = [
    "DENSITIES",
    "LATENCIES",
    "MOST_BYTES",
    "MOST_DESCRIPTORS",
    "SIZES",
    "cases",
    "measure_engine",
    "rows_of",
]

DENSITIES = (0.0, 0.25, 0.5, 0.75, 1.0)
SIZES = (4096, 65536, 1 << 20)
LATENCIES = (10, 100, 300)

#: A row of small tensors is many of them, back to back: about so many beats of a port, and as many as its ring holds.
_BEATS_OF_A_ROW = 4096
MOST_DESCRIPTORS = 64
#: The most bytes of a tensor, or of its stream, that the bench has memory for.
MOST_BYTES = 7 << 20


def cases(
    densities: Sequence[float] = DENSITIES,
    sizes: Sequence[int] = SIZES,
    latencies: Sequence[int] = LATENCIES,
    *,
    port_bytes: int = 32,
    descriptors: int | None = None,
    lossy: bool = False,
    rows: Sequence[int] = (0,),
    offsets: Sequence[int] = (0,),
    paged: Sequence[bool] = (False,),
) -> list[dict[str, Any]]:
    """Both directions apart and together, in mode zvc at every density, and raw copies; with ``lossy`` also integers of an
    error-bounded stage in mode zvc, where ``bytes`` are of the numbers.

    A tensor lies in device memory in ``rows`` of so many bytes, with gaps between them, or, where they are 0, in one run.
    Data begin ``offsets`` bytes behind a page's beginning. Host memory is one run, or ``paged``: a list of pages of which
    none follows the one before it.

    ``descriptors`` tensors are moved back to back; without it, so many that ports of ``port_bytes`` are busy for
    about the same time whatever their width.
    """
    found = []
    for direction in ("offload", "prefetch", "both"):
        for mode, chosen in (
            ("zvc", densities),
            *([("lossy", densities)] if lossy else []),
            ("raw", (1.0,)),
        ):
            for size, row, offset, pages, latency, density in itertools.product(
                sizes, rows, offsets, paged, latencies, chosen
            ):
                found.append(
                    {
                        "direction": direction,
                        "mode": mode,
                        "density": density,
                        "bytes": size,
                        "descriptors": descriptors or _back_to_back(size, port_bytes, row),
                        "memory_latency": latency,
                        **({"row": row} if row else {}),
                        **({"offset": offset} if len(offsets) > 1 or offset else {}),
                        **({"paged": pages} if len(paged) > 1 or pages else {}),
                    }
                )
    return found


def _back_to_back(size: int, port_bytes: int, row: int) -> int:
    # One with a shape takes two entries of the ring.
    most = MOST_DESCRIPTORS // 2 if row else MOST_DESCRIPTORS
    return max(1, min(most, _BEATS_OF_A_ROW * port_bytes // size))


def measure_engine(
    design: EngineDesign,
    wanted: Sequence[dict[str, Any]],
    report: Callable[[int], None] | None = None,
    *,
    host_period: float = 1.0,
) -> list[dict[str, Any]]:
    """One row per case and direction; a case without failure has also moved the right data.

    A case has the fields of :func:`cases`, and may have ``pattern``, one of :data:`.literals.PATTERNS`.

    ``cycles`` counts from the first read address of the data to the last write response; ``utilisation`` is
    the share of them in which the busier of the two ports could not have done less: ``max(raw bytes / device
    width, compressed bytes / host width) / cycles``. ``descriptors`` tensors of ``bytes`` bytes each are
    moved back to back. ``report`` is called with the number of new rows.

    Where the host has a clock of its own, its period is ``host_period`` times that of the core, whose cycles are counted and
    are those of the latency of both memories.
    """
    module = "cdma.verif.engine.measure_tests"
    return measure(design, module, report=report, cases=list(wanted), host_period=host_period)


def rows_of(wanted: Sequence[dict[str, Any]]) -> int:
    """How many rows the cases become."""
    return sum(2 if case["direction"] == "both" else 1 for case in wanted)
