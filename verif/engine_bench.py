"""The engine between two memories of cocotbext-axi and a bus master, with our checker on every port on every
cycle.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from ..hdl.engine.records import COMPLETION, RECORD_BYTES, Mode, Status
from ..hdl.engine.register_map import register_map
from .axi_checker import AxiChecker
from .engine_design import EngineDesign
from .engine_model import Transfer, random_words, transfer, unpack

__all__ = ["CHANNELS", "EngineBench", "Ring"]

CHANNELS = ("offload", "prefetch")
_SIZE = 1 << 20
_GUARD = 0xA5
#: Where the rings lie, and where data may.
_RINGS = {"offload": 0x1000, "prefetch": 0x6000}
_DATA = 0x10000


class _Memory(AxiRam):
    """A memory that answers with an error where it is told to, and takes its time."""

    def __init__(self, bench: EngineBench, prefix: str) -> None:
        dut = bench.dut
        super().__init__(
            AxiBus.from_prefix(dut, prefix), dut.aclk, dut.aresetn, reset_active_level=False, size=_SIZE
        )
        self.bench = bench
        self.bad: set[int] = set()
        self.writable = bytearray(_SIZE)
        self.next = _DATA
        self.latency = 0
        self.frozen = False
        for half in (self.read_if, self.write_if):
            half.log.setLevel(logging.ERROR)
        self.read_if._read = self._slow_read
        self.write_if._write = self._slow_write
        self.write(0, bytes([_GUARD]) * _SIZE)

    async def _wait(self, address: int) -> None:
        while self.frozen:
            await RisingEdge(self.bench.dut.aclk)
        if self.latency and address % 256 == 0:
            await ClockCycles(self.bench.dut.aclk, self.bench.rng.randint(0, self.latency))

    async def _slow_read(self, address: int, length: int) -> bytes:
        await self._wait(address)
        self._refuse(address, length)
        return self.read(address, length)

    async def _slow_write(self, address: int, data: bytes) -> None:
        await self._wait(address)
        self._refuse(address, len(data))
        self.write(address, bytes(data))

    def _refuse(self, address: int, length: int) -> None:
        if self.bad and any(at in self.bad for at in range(address, address + length)):
            raise ValueError("injected")

    def allow(self, address: int, length: int, allowed: bool = True) -> None:
        self.writable[address : address + length] = bytes([allowed]) * length

    def place(self, rng: random.Random, length: int, align: int) -> int:
        """A place for ``length`` bytes with guard bytes on both sides, often near a 4 KiB boundary."""
        if self.next + length + 0x3000 > _SIZE:
            self.next = _DATA
        self.next += 2 * 128 + rng.choice((0, 0, 64, 512, 1024))
        choice = rng.random()
        if choice < 0.3:
            self.next = (self.next | 0xFFF) + 1
        elif choice < 0.5:
            self.next = (self.next | 0xFFF) + 1 - align * rng.randint(1, 4)
        address = -(-self.next // align) * align
        self.next = address + length
        # What older transfers left here is no guard.
        self.write(address - 128, bytes([_GUARD]) * (length + 256))
        return address


class Ring:
    """Software's side of one channel's two rings."""

    def __init__(self, bench: EngineBench, name: str, log2: int) -> None:
        self.bench, self.name, self.log2 = bench, name, log2
        self.size = 1 << log2
        self.base = _RINGS[name]
        self.completions = self.base + 0x2800
        self.submitted = self.done = 0

    async def enable(self, *, halt_on_error: int = 0) -> None:
        """Sets both rings up, empty, and starts the channel."""
        bench, name = self.bench, self.name
        host = bench.memory["host"]
        bytes_ = self.size * RECORD_BYTES
        host.write(self.completions, bytes(bytes_))
        host.allow(self.completions, bytes_)
        self.submitted = self.done = 0
        await bench.poke(f"{name}.ring_size", log2=self.log2)
        await bench.poke(f"{name}.ring_base_low", line=self.base >> 6)
        await bench.poke(f"{name}.completion_base_low", line=self.completions >> 6)
        await bench.poke(f"{name}.ring_tail", value=0)
        await bench.poke(f"{name}.completion_tail", value=0)
        await bench.poke(
            f"{name}.control", enable=1, ring_enable=1, completion_ring_enable=1, halt_on_error=halt_on_error
        )

    async def disable(self) -> None:
        """Stops the channel and empties its rings."""
        await self.bench.poke(f"{self.name}.control", enable=0)

    async def submit(self, records: Sequence[bytes]) -> None:
        """Puts descriptors into the ring, as room allows, and rings the doorbell once for all."""
        for record in records:
            slot = self.submitted % self.size
            self.bench.memory["host"].write(self.base + slot * RECORD_BYTES, record)
            self.submitted += 1
        mask = 2 * self.bench.config.ring_entries - 1
        await self.bench.poke(f"{self.name}.ring_tail", value=self.submitted & mask)

    def completion(self) -> bytes | None:
        """The next completion, if it is in memory already."""
        slot = self.done % self.size
        data = self.bench.memory["host"].read(self.completions + slot * RECORD_BYTES, RECORD_BYTES)
        phase = 1 - (self.done // self.size & 1)
        return bytes(data) if unpack(COMPLETION, bytes(data))["phase"] == phase else None

    async def next(self, limit: int = 20000) -> bytes:
        """Waits for the next completion, takes it, and gives its slot back."""
        for _ in range(limit // 4):
            data = self.completion()
            if data is not None:
                self.done += 1
                mask = 2 * self.bench.config.ring_entries - 1
                await self.bench.poke(f"{self.name}.completion_tail", value=self.done & mask)
                return data
            await ClockCycles(self.bench.dut.aclk, 4)
        raise AssertionError(f"{self.name}: no completion {self.done} after {limit} cycles")


class EngineBench:
    """The testbench."""

    #: Whether the ports are checked on every cycle.
    checked = True

    def __init__(self, dut: Any, design: EngineDesign, rng: random.Random) -> None:
        self.dut = dut
        self.config = design.config
        self.rng = rng
        self.np = np.random.default_rng(rng.randrange(1 << 32))
        self.registers = register_map(self.config)
        self.tables = {name: tuple([0] * self.config.codec.table_size) for name in CHANNELS}
        self.checks = self.transfers = self.words = self.cycles = 0
        self.tag = 0
        self.failure: BaseException | None = None

    async def start(self) -> None:
        """Clock, memories, checkers, reset."""
        dut = self.dut
        for name in ("cocotbext", "cocotb"):
            logging.getLogger(name).setLevel(logging.WARNING)
        dut.aresetn.value = 0
        cocotb.start_soon(Clock(dut.aclk, 10, unit="ns").start())
        self.memory = {name: self.make_memory(name) for name in ("dev", "host")}
        self.bus = AxiLiteMaster(
            AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, dut.aresetn, reset_active_level=False
        )
        for half in (self.bus.read_if, self.bus.write_if):
            half.log.setLevel(logging.ERROR)
        config = self.config
        widths = {"dev": config.dev_data_bits, "host": config.host_data_bits}
        self.checkers = {}
        for name, bits in widths.items() if self.checked else ():
            self.checkers[name] = AxiChecker(
                name,
                self._sampler(f"m_axi_{name}"),
                bits,
                longest=max(config.burst(bits), RECORD_BYTES * 8 // bits),
                outstanding=max(config.outstanding, config.descriptors),
                on_write=self._guard(name),
            )
        self.rings = {name: Ring(self, name, 3) for name in CHANNELS}
        await ClockCycles(dut.aclk, 5)
        dut.aresetn.value = 1
        cocotb.start_soon(self.blame(self._watch()))
        await ClockCycles(dut.aclk, 40)

    def make_memory(self, name: str) -> Any:
        """The memory behind one port."""
        return _Memory(self, f"m_axi_{name}")

    def _sampler(self, prefix: str) -> Callable[[str], int]:
        handles: dict[str, Any] = {}

        def sample(name: str) -> int:
            handle = handles.get(name)
            if handle is None:
                handle = handles[name] = getattr(self.dut, f"{prefix}_{name}")
            return int(handle.value)

        return sample

    def _guard(self, name: str) -> Callable[[int, int], None]:
        def check(address: int, strobes: int) -> None:
            writable = self.memory[name].writable
            lane = 0
            while strobes >> lane:
                if strobes >> lane & 1 and not writable[address + lane]:
                    raise AssertionError(f"{name}: a write to {address + lane:#x}, which nobody allowed")
                lane += 1

        return check

    async def blame(self, job: Awaitable[None]) -> None:
        """Runs a job beside the test and keeps the first failure: the test itself only sees that it is
        cancelled.
        """
        try:
            await job
        except Exception as error:
            self.failure = self.failure or error
            raise

    async def _watch(self) -> None:
        while True:
            await RisingEdge(self.dut.aclk)
            self.cycles += 1
            for checker in self.checkers.values():
                checker.cycle()

    def pauses(self, share: float | None = None) -> None:
        """Random back-pressure on all ten channels, each with a share of its own; None draws the shares."""
        for memory in self.memory.values():
            for channel in (
                memory.read_if.ar_channel,
                memory.read_if.r_channel,
                memory.write_if.aw_channel,
                memory.write_if.w_channel,
                memory.write_if.b_channel,
            ):
                wanted = self.rng.choice((0.0, 0.1, 0.5, 0.8)) if share is None else share
                channel.clear_pause_generator()
                channel.pause = False
                if wanted:
                    channel.set_pause_generator(_shares(random.Random(self.rng.random()), wanted))

    # -- Registers.

    async def poke(self, name: str, **fields: int) -> None:
        """Writes a register, fields that are not named as 0."""
        placed = self.registers[name]
        value = placed.register.put(**fields)
        response = await self.bus.write(placed.address, value.to_bytes(4, "little"))
        assert response.resp == 0, f"write of {name} answered {response.resp}"

    async def peek(self, name: str, field: str | None = None) -> int:
        """Reads a register, or one field of it."""
        placed = self.registers[name]
        response = await self.bus.read(placed.address, 4)
        assert response.resp == 0, f"read of {name} answered {response.resp}"
        value = int.from_bytes(response.data, "little")
        return placed.register.field(field).get(value) if field else value

    async def set_table(self, channel: str, values: Sequence[int]) -> None:
        """Writes a channel's table of frequent values."""
        self.tables[channel] = tuple(values)
        for index, value in enumerate(values):
            await self.poke(f"{channel}.table[{index}]", entry=value)

    # -- Transfers.

    def transfer(self, channel: str, words: int, *, mode: int | None = None, **options: Any) -> Transfer:
        """A transfer of random data at a random place, its source written, its destination allowed."""
        config, rng = self.config, self.rng
        compressing = channel == "offload"
        table = self.tables[channel]
        chosen = rng.choice(list(Mode)) if mode is None else mode
        raw = random_words(self.np, words, config, table)
        read, write = ("dev", "host") if compressing else ("host", "dev")
        beats = {"dev": config.dev_data_bits // 8, "host": config.host_data_bits // 8}
        self.tag += 1
        made = transfer(
            config,
            compressing=compressing,
            mode=chosen,
            raw=raw,
            table=table,
            source=0,
            destination=0,
            tag=self.tag,
            **options,
        )
        source = self.memory[read].place(rng, len(made.source), beats[read])
        destination = self.memory[write].place(rng, made.descriptor["capacity"], beats[write])
        made.descriptor["source"], made.descriptor["destination"] = source, destination
        if made.expected.status == Status.CAPACITY:
            made.expected.address += destination
        self.memory[read].write(source, made.source)
        self.memory[write].allow(destination, made.descriptor["capacity"])
        return made

    def check(self, channel: str, made: Transfer, completion: bytes) -> None:
        """The completion, every byte of the destination, and the guard bytes around it."""
        self.checks += made.check(completion)
        self.check_memory(channel, made)
        self.transfers += 1
        self.words += made.descriptor["length"] * 8 // self.config.format.word_bits

    def check_memory(self, channel: str, made: Transfer, exact: bool = True) -> None:
        """What lies at the destination; then makes the place as new. Not ``exact``: only the guards count."""
        memory = self.memory["host" if channel == "offload" else "dev"]
        start, capacity = made.descriptor["destination"], made.descriptor["capacity"]
        around = 128
        got = bytes(memory.read(start - around, capacity + 2 * around))
        written = made.expected.written
        inner = written + bytes([_GUARD]) * (capacity - len(written))
        want = bytes([_GUARD]) * around + inner + bytes([_GUARD]) * around
        if not exact:
            want = want[:around] + got[around:-around] + want[-around:]
        if got != want:
            at = next(index for index in range(len(want)) if got[index] != want[index])
            raise AssertionError(
                f"{made.descriptor}: byte {at - around} of the destination is {got[at]:#x}, not {want[at]:#x}"
            )
        self.checks += 1
        memory.write(start, bytes([_GUARD]) * capacity)
        memory.allow(start, capacity, False)

    async def run(self, channel: str, transfers: Sequence[Transfer]) -> None:
        """Gives transfers to the ring, as many at once as it holds, and checks each when it is complete."""
        ring = self.rings[channel]
        waiting = list(transfers)
        under_way: list[Transfer] = []
        while waiting or under_way:
            room = ring.size - len(under_way)
            count = min(room, len(waiting), self.rng.randint(1, ring.size))
            if count:
                under_way += waiting[:count]
                await ring.submit([made.record() for made in waiting[:count]])
                del waiting[:count]
            for _ in range(self.rng.randint(1, len(under_way))):
                self.check(channel, under_way[0], await ring.next())
                under_way.pop(0)

    def finish(self) -> None:
        """Nothing may be under way at the end."""
        for checker in self.checkers.values():
            checker.finish()


def _shares(rng: random.Random, share: float) -> Any:
    while True:
        yield rng.random() < share
