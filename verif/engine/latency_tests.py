"""The cocotb side of :mod:`cdma.verif.engine.measure`: one descriptor after the other, watched at the ports."""

from __future__ import annotations

import functools

import cocotb
from cocotb.triggers import RisingEdge

from cdma.verif.simulator.plan import bench_settings, leave_row

from .context import PacedBench, engine_test
from .measure import BACK_TO_BACK, STEPS
from .measurement import Measurement

__all__: list[str] = []

#: The ID of the rings' transactions at the host port by channel; data has 0.
_RING_IDS = {"offload": 1, "prefetch": 2}


@functools.partial(engine_test, kind=PacedBench)
async def measure(bench: PacedBench, budget: int) -> None:
    """Measures every case of the settings, and leaves each row at once."""
    for case in bench_settings()["cases"]:
        direction = case["direction"]
        await bench.poke(f"{direction}.irq_status", completion=1)
        await bench.poke(f"{direction}.irq_enable", completion=1)
        watch = _Watch(bench, direction)
        await Measurement(bench, case | {"interrupt": True}).run()
        steps = await watch.finish()
        await bench.poke(f"{direction}.irq_enable", completion=0)
        (many,) = await Measurement(bench, case | {"descriptors": BACK_TO_BACK}).run()
        leave_row({**case, **steps, "each": round(many["cycles"] / BACK_TO_BACK, 1)})


class _Watch:
    """Notes the cycles in which a channel's descriptor comes to each step."""

    def __init__(self, bench: PacedBench, direction: str) -> None:
        self._bench, self._ring = bench, _RING_IDS[direction]
        dev = [f"m_axi_{name}" for name in bench.config.dev_ports]
        ends = {"dev": dev, "host": ["m_axi_host"]}
        rules = bench.rules[direction]
        self._source, self._sink = ends[rules.source], ends[rules.sink]
        self._seen: dict[str, int] = {}
        self._doorbell = 0
        self._task = cocotb.start_soon(self._run())

    async def finish(self) -> dict[str, int]:
        """The cycles from the doorbell on, when all steps have come."""
        for _ in range(40):
            if self._seen.keys() >= STEPS.keys():
                break
            await self._bench.after(100)
        self._task.cancel()
        return {step: self._seen[step] - self._doorbell for step in STEPS}

    async def _run(self) -> None:
        # All clocks have its edges.
        edge, cycle = RisingEdge(getattr(self._bench.dut, self._bench.config.domains.core)), 0
        while True:
            await edge
            cycle += 1
            self._look(cycle)

    def _look(self, cycle: int) -> None:
        """Takes note of what moves at this edge; the bench drives its pins after it."""
        seen, ring, data = self._seen, self._ring, "read" in self._seen
        if self._moves("s_axil_w") and "fetch" not in seen:
            self._doorbell = cycle
        if self._moves("m_axi_host_ar", ring):
            seen.setdefault("fetch", cycle)
        if self._moves("m_axi_host_r", ring):
            seen["fetched"] = cycle
        if any(self._moves(f"{port}_ar", 0) for port in self._source):
            seen.setdefault("read", cycle)
        if data and any(self._moves(f"{port}_r", 0) for port in self._source):
            seen.setdefault("first_in", cycle)
            seen["last_in"] = cycle
        # Write data have no ID: those before the address of the completion are of the tensor.
        if self._moves("m_axi_host_aw", ring):
            seen.setdefault("completion", cycle)
        if "completion" not in seen and any(self._moves(f"{port}_w") for port in self._sink):
            seen.setdefault("first_out", cycle)
            seen["last_out"] = cycle
        if any(self._moves(f"{port}_b", 0) for port in self._sink):
            seen["answered"] = cycle
        if self._moves("m_axi_host_b", ring):
            seen["completed"] = cycle
        if self._pin("irq"):
            seen.setdefault("interrupt", cycle)

    def _moves(self, channel: str, id: int | None = None) -> bool:
        """Whether something passes a channel, with this ID if one is given."""
        moves = self._pin(f"{channel}valid") and self._pin(f"{channel}ready")
        return bool(moves) and (id is None or self._pin(f"{channel}id") == id)

    def _pin(self, name: str) -> int:
        return int(getattr(self._bench.dut, name).value)
