"""The bench of an engine with registers: a bus master on its port, and the software's rings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, SHAPE_RECORD, Status
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.spec.registers.optional import push_words
from cdma.sim.engine.memory import OwnerRule, unpack

from .bench import CHANNELS, EngineBench
from .design import EngineDesign
from .transactions import RegisterBus

#: Reads of a register until it must have the value that is waited for.
_READS = 2000
#: Where the rings lie.
_RINGS = {"offload": 0x1000, "prefetch": 0x6000}


class Ring:
    """The software's side of one channel: its two rings and its registers.

    ``high``: A multiple of the memory's size, at which the engine finds the rings.
    """

    def __init__(self, bench: RingBench, name: str, log2: int) -> None:
        self.bench, self.name, self.log2 = bench, name, log2
        self.size = 1 << log2
        self.base = _RINGS[name]
        self.completions = self.base + 0x2800
        self.high = 0
        self.forget()

    def forget(self) -> None:
        self.submitted = self.done = 0

    async def enable(self, *, halt_on_error: int = 0) -> None:
        """Sets both rings up, empty, and starts the channel."""
        bench, name = self.bench, self.name
        host = bench.memory["host"]
        bytes_ = self.size * RECORD_BYTES
        host.write(self.completions, bytes(bytes_))
        host.allow(self.completions, bytes_)
        self.forget()
        await bench.poke(f"{name}.ring_size", log2=self.log2)
        for ring, base in (("ring", self.base), ("completion", self.completions)):
            address = self.high + base
            await bench.poke(f"{name}.{ring}_base_low", line=(address & 0xFFFFFFFF) >> 6)
            await bench.poke(f"{name}.{ring}_base_high", value=address >> 32)
        await bench.poke(f"{name}.ring_tail", value=0)
        await bench.poke(f"{name}.completion_tail", value=0)
        await bench.poke(
            f"{name}.control", enable=1, ring_enable=1, completion_ring_enable=1, halt_on_error=halt_on_error
        )

    async def disable(self) -> None:
        await self.bench.poke(f"{self.name}.control", enable=0)

    async def submit(self, records: Sequence[bytes]) -> None:
        """Writes descriptors into the ring, which must have credit for them, and rings the doorbell once."""
        self.bench.tell_submitted(self.name, records)
        entries = b"".join(records)
        for start in range(0, len(entries), RECORD_BYTES):
            slot = self.submitted % self.size
            entry = entries[start : start + RECORD_BYTES]
            self.bench.memory["host"].write(self.base + slot * RECORD_BYTES, entry)
            self.submitted += 1
        mask = 2 * self.bench.config.ring_entries - 1
        await self.bench.poke(f"{self.name}.ring_tail", value=self.submitted & mask)

    async def credit(self) -> int:
        """The slots of the ring that have no descriptor that is still to be fetched."""
        bench = self.bench
        waiting = self.submitted - await bench.peek(f"{self.name}.ring_head")
        return self.size - waiting % (2 * bench.config.ring_entries)

    def completion(self) -> bytes | None:
        """The next completion, if it is in memory."""
        return self._at(self.done)

    def _at(self, index: int) -> bytes | None:
        slot = index % self.size
        data = self.bench.memory["host"].read(self.completions + slot * RECORD_BYTES, RECORD_BYTES)
        phase = 1 - (index // self.size & 1)
        return bytes(data) if unpack(COMPLETION, bytes(data))["phase"] == phase else None

    def arrived(self) -> int:
        """The completions in memory that are not yet read."""
        indexes = range(self.done, self.done + self.size)
        return next((n for n, index in enumerate(indexes) if self._at(index) is None), self.size)

    async def next(self, limit: int = 20000) -> bytes:
        """Waits for the next completion, and frees its entry."""
        bench, end = self.bench, self.bench.cycles + limit
        while (data := self.completion()) is None:
            if bench.cycles >= end:
                raise AssertionError(f"{self.name}: no completion {self.done} after {limit} cycles")
            await bench.record(end - bench.cycles)
        bench.tell_completed(self.name, "ring", data)
        self.done += 1
        mask = 2 * bench.config.ring_entries - 1
        await bench.poke(f"{self.name}.completion_tail", value=self.done & mask)
        return data

    def skip(self) -> None:
        """Passes over a lost completion, and marks its entry, which would look new in the next pass."""
        last = self.completions + (self.done % self.size + 1) * RECORD_BYTES - 1
        phase = 1 - (self.done // self.size & 1)
        host = self.bench.memory["host"]
        host.write(last, bytes([host.read(last, 1)[0] & 0x7F | phase << 7]))
        self.done += 1

    async def abort(self) -> None:
        await self.bench.poke(f"{self.name}.command", abort_now=1)

    async def resume(self) -> None:
        await self.bench.poke(f"{self.name}.command", resume=1)

    async def flag(self, name: str) -> int:
        """Reads one bit of the status: busy, halted, aborting or stuck."""
        return await self.bench.peek(f"{self.name}.status", name)

    async def set_table(self, values: Sequence[int]) -> None:
        for index, value in enumerate(values):
            await self.bench.poke(f"{self.name}.table[{index}]", entry=value)

    async def clear_error(self) -> None:
        await self.bench.poke(f"{self.name}.command", clear_error=1)

    async def check_error(self, status: Status, address: int, tag: int) -> None:
        """Waits until the error register is valid, compares it, and clears it."""
        bench, name = self.bench, self.name
        await bench.until(f"{name}.error", "valid")
        high = await bench.peek(f"{name}.error_address_high")
        found = (
            await bench.peek(f"{name}.error", "status"),
            high << 32 | await bench.peek(f"{name}.error_address_low"),
            await bench.peek(f"{name}.error_tag"),
        )
        assert found == (status, address, tag), (
            f"{name}: error register {found}, not {(status, address, tag)}"
        )
        bench.checks += 1
        bench.tell(what="error register", channel=name, status=status.name)
        await self.clear_error()
        assert not await bench.peek(f"{name}.error", "valid")


class RingBench(EngineBench):
    """The testbench of an engine with registers."""

    def __init__(self, dut: Any, design: EngineDesign, rng: random.Random) -> None:
        super().__init__(dut, design, rng)
        self.registers = register_map(self.config)
        self.tables = dict.fromkeys(CHANNELS, (self.config.first_entry,) * self.config.codec.table_size)
        largest = self.config.ring_entries.bit_length() - 1
        # Descriptors with a shape take two entries.
        log2 = min(4 if self.config.dimensions else 3, largest)
        self.rings = {name: Ring(self, name, log2) for name in CHANNELS}
        self.channels = self.rings

    async def start(self) -> None:
        await super().start()
        await self.open_windows()
        await self.set_owners()

    async def reset(self, cycles: int, *, opens: bool = True) -> None:
        await super().reset(cycles)
        if opens:
            await self.open_windows()
        await self.set_owners()

    async def open_windows(self) -> None:
        if not self.config.open_windows:
            for port, space in self.spaces.items():
                await self.set_window(port, 0, (1 << space.address_bits) - 1)

    async def push(self, channel: str, record: bytes) -> None:
        """Submits a descriptor through registers, with its extension if it has one."""
        self.tell_submitted(channel, [record])
        extension = unpack(SHAPE_RECORD, record[RECORD_BYTES:]) if len(record) > RECORD_BYTES else None
        words = push_words(self.config.records, unpack(DESCRIPTOR, record[:RECORD_BYTES]), extension)
        for register, word in words.items():
            await self.bus.write(self.registers[register].address, word.to_bytes(4, "little"))
        await self.poke("push.submit", **{channel: 1})

    def connect(self) -> None:
        clock = self.config.domains.registers
        self.bus = RegisterBus(self.edges, self.dut, "s_axil", clock, self.rng)
        for pin in (self.dut.irq, *([self.dut.alert] if self.config.coded_memories else [])):
            self.edges.keep_low(pin, clock, falls=bool(self.slices))

    def deliver(self) -> None:
        self.bus.deliver()

    def pauses(self, share: float | None = None) -> None:
        super().pauses(share)
        self.bus.pauses.draw(lambda: self.some_share(share))

    async def poke(self, name: str, **fields: int) -> None:
        """Writes a register, fields that are not named as 0."""
        placed = self.registers[name]
        value = placed.register.put(**fields)
        response = await self.bus.write(placed.address, value.to_bytes(4, "little"))
        assert response.resp == 0, f"write of {name} answered {response.resp}"

    async def peek(self, name: str, field: str | None = None) -> int:
        """Reads a register, or one field of it."""
        placed = self.registers[name]
        response = await self.bus.read(placed.address)
        assert response.resp == 0, f"read of {name} answered {response.resp}"
        value = int.from_bytes(response.data, "little")
        return placed.register.field(field).get(value) if field else value

    async def until(self, name: str, field: str, value: int = 1) -> None:
        """Reads a field of a register until it has a value, which is soon."""
        for _ in range(_READS):
            if await self.peek(name, field) == value:
                return
        raise AssertionError(f"{name}: {field} does not become {value}")

    async def set_watchdog(self, cycles: int) -> None:
        await self.poke("engine.watchdog", value=cycles)

    async def write_owners(self, channel: str, rule: OwnerRule) -> None:
        for register, word in (("value", rule.value), ("mask", rule.mask)):
            await self._write_owner(channel, register, word)

    async def give_rings(self, channel: str) -> int:
        """Sets a random owner of a channel's rings, once it is at rest; returns it."""
        assert self.owners is not None
        word = self.owners.some(self.rng)["owner"]
        await self._write_owner(channel, "ring", word)
        return word

    async def _write_owner(self, channel: str, register: str, word: int) -> None:
        placed = self.registers[f"{channel}_owner.{register}"]
        await self.bus.write(placed.address, word.to_bytes(4, "little"))

    async def write_window(self, port: str, base: int, limit: int) -> None:
        bits = self.config.dev_address_bits if port == "dev" else self.config.host_address_bits
        for edge, value in (("base", base), ("limit", limit)):
            await self.poke(f"{port}_window.{edge}_low", page=value >> 12 & 0xFFFFF)
            if bits > 32:
                await self.poke(f"{port}_window.{edge}_high", value=value >> 32)
