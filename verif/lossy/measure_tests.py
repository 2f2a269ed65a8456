"""The cocotb side of :mod:`cdma.verif.lossy.measure`."""

from __future__ import annotations

from cdma.verif.simulator.result import leave_row

from .context import Context, stage_test
from .measure import BEATS, PACKETS

__all__: list[str] = []


@stage_test
async def measure(context: Context) -> None:
    """Packets of one length back to back, with a source and sinks that never hold back."""
    bench, lanes = context.bench, context.config.lanes
    bench.set_pauses()
    for beats in BEATS:
        deliveries = await bench.run([context.any_packet(beats * lanes, 0) for _ in range(PACKETS)])
        first, final = deliveries[0], deliveries[-1]
        cycles = final.given[-1] - first.given[0] + 1
        leave_row(
            {
                "beats": beats,
                "packets": PACKETS,
                "cycles": cycles,
                "latency": first.given[0] - first.taken[0],
                "beats_per_cycle": round(PACKETS * beats / cycles, 4),
            }
        )
