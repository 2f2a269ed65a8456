"""How long one descriptor takes from its doorbell to its interrupt, step by step, in cycles, under Verilator. Several
clocks have one period. How busy the engine keeps its ports, against density, tensor size and memory latency, under
Verilator.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from cdma.sim.engine.transfer import DIRECTIONS
from cdma.verif.simulator.simulate import measure

from .design import EngineDesign

__all__ = [
    "BACK_TO_BACK",
    "DENSITIES",
    "LATENCIES",
    "MOST_BYTES",
    "MOST_DESCRIPTORS",
    "SIZES",
    "STEPS",
    "cases",
    "latency_cases",
    "measure_engine",
    "measure_latency",
    "rows_of",
]

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
