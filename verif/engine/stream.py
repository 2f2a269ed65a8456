"""The bench of an engine without registers: logic that sends descriptors and receives completions as streams."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from typing import Any

from cdma.hdl.spec.records import COMPLETION, RECORD_BYTES, Status
from cdma.sim.engine.memory import OwnerRule, unpack
from cdma.verif.simulator.monitors.rules import Beat, StreamRules, level, number

from .bench import CHANNELS, EngineBench
from .design import EngineDesign


class DescriptorStream:
    """The logic that drives one channel, with the methods of :class:`.Ring`.

    ``pauses``: The share of cycles in which the descriptors' source, and the completions' sink, pauses.
    """

    #: Descriptors handed over at once.
    size = 8

    def __init__(self, bench: StreamBench, name: str) -> None:
        self.bench, self.name = bench, name
        self.pauses = (0.0, 0.0)
        self._rules = StreamRules(f"{name} completion")
        self._source, sink = f"s_{name}_descriptor", f"m_{name}_completion"
        self._takes, self._given = (
            level(self._pin(f"{self._source}_tready")),
            level(self._pin(f"{sink}_tvalid")),
        )
        self._data = number(self._pin(f"{sink}_tdata"))
        self._valid, self._ready = self._pin(f"{self._source}_tvalid"), self._pin(f"{sink}_tready")
        self._record = self._pin(f"{self._source}_tdata")
        self._offers = self._willing = False
        # With register slices, outputs fall at the first edge in reset, and not before it.
        self._falling = bool(bench.slices)
        self.forget()

    def forget(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._arrived: deque[bytes] = deque()

    def _pin(self, name: str) -> Any:
        return getattr(self.bench.dut, name)

    def step(self, cycle: int, in_reset: bool) -> None:
        """Drives both streams, and checks the one that the engine drives."""
        if in_reset:
            self._rules.reset(self._given() and not self._falling)
            assert self._falling or not self._takes(), f"{self._source}_tready is high in reset"
            self._falling = False
            self._drive(offers=False, willing=False)
            return
        self._falling = bool(self.bench.slices)
        offers, rng = self._offers, self.bench.rng
        if offers and self._takes():
            self._waiting.popleft()
            offers = False
        if not offers:
            offers = bool(self._waiting) and rng.random() >= self.pauses[0]
            if offers:
                self._record.value = int.from_bytes(self._waiting[0], "little")
        beat = Beat(self._data()) if self._given() else None
        self._rules.sample(beat, self._willing)
        if beat is not None and self._willing:
            self._arrived.append(beat.data.to_bytes(RECORD_BYTES, "little"))
        self._drive(offers=offers, willing=rng.random() >= self.pauses[1])

    def _drive(self, *, offers: bool, willing: bool) -> None:
        if offers != self._offers:
            self._offers = offers
            self._valid.value = int(offers)
        if willing != self._willing:
            self._willing = willing
            self._ready.value = int(willing)

    async def enable(self, *, halt_on_error: int = 0) -> None:
        self._pin(f"{self.name}_halt_on_error").value = halt_on_error
        self._pin(f"{self.name}_enable").value = 1

    async def disable(self) -> None:
        """Starts nothing more."""
        self._pin(f"{self.name}_enable").value = 0

    async def submit(self, records: Sequence[bytes]) -> None:
        self.bench.tell_submitted(self.name, records)
        self._waiting += records

    def completion(self) -> bytes | None:
        return self._arrived[0] if self._arrived else None

    def arrived(self) -> int:
        return len(self._arrived)

    async def next(self, limit: int = 20000) -> bytes:
        for _ in range(limit // 4):
            if self._arrived:
                data = self._arrived.popleft()
                self.bench.tell_completed(self.name, "stream", data)
                assert not unpack(COMPLETION, data)["phase"], f"{self.name}: a phase without a ring"
                return data
            await self.bench.after(4)
        raise AssertionError(f"{self.name}: no completion after {limit} cycles")

    async def _pulse(self, name: str) -> None:
        pin = self._pin(f"{self.name}_{name}")
        pin.value = 1
        await self.bench.after(1)
        pin.value = 0
        await self.bench.after(2)

    async def abort(self) -> None:
        await self._pulse("abort")

    async def resume(self) -> None:
        await self._pulse("resume")

    async def flag(self, name: str) -> int:
        """Reads one bit of the status: busy, halted, aborting or stuck."""
        await self.bench.after(1)
        return int(self._pin(f"{self.name}_{name}").value)

    async def set_table(self, values: Sequence[int]) -> None:
        if values:
            bits = self.bench.config.format.entry_bits
            self._pin(f"{self.name}_values").value = sum(value << n * bits for n, value in enumerate(values))

    async def clear_error(self) -> None:
        """Does nothing: there is no error register."""

    async def check_error(self, status: Status, address: int, tag: int) -> None:
        """Does nothing: there is no error register, and the completion reports everything."""


class StreamBench(EngineBench):
    """The testbench of an engine without registers."""

    def __init__(self, dut: Any, design: EngineDesign, rng: random.Random) -> None:
        super().__init__(dut, design, rng)
        self.streams = {name: DescriptorStream(self, name) for name in CHANNELS}
        self.channels = self.streams

    def connect(self) -> None:
        dut = self.dut
        if self.config.times:
            dut.watchdog_cycles.value = 0
        for port in ("dev", "host") if self.config.windows else ():
            getattr(dut, f"{port}_window_base").value = 0
            getattr(dut, f"{port}_window_limit").value = (1 << 64) - 1
        for name, stream in self.streams.items():
            table = ["values"] if self.config.codec.table_size else []
            owners = ["owner_value", "owner_mask"] if self.owners else []
            for signal in ("enable", "halt_on_error", "resume", "abort", *table, *owners):
                getattr(dut, f"{name}_{signal}").value = 0
            getattr(dut, f"s_{name}_descriptor_tvalid").value = 0
            getattr(dut, f"m_{name}_completion_tready").value = 0
            self.ends.append(stream)

    def pauses(self, share: float | None = None) -> None:
        super().pauses(share)
        for stream in self.streams.values():
            stream.pauses = (self.some_share(share), self.some_share(share))

    async def set_watchdog(self, cycles: int) -> None:
        self.dut.watchdog_cycles.value = cycles

    async def write_owners(self, channel: str, rule: OwnerRule) -> None:
        getattr(self.dut, f"{channel}_owner_value").value = rule.value
        getattr(self.dut, f"{channel}_owner_mask").value = rule.mask

    async def write_window(self, port: str, base: int, limit: int) -> None:
        getattr(self.dut, f"{port}_window_base").value = base
        getattr(self.dut, f"{port}_window_limit").value = limit
