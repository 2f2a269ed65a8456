"""Where a record lies and whether it may be touched: against the same sums in Python, at every edge."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.rings.slot import RingSlot
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map
from tests.support.simulate import simulate

PAGE = 4096
CHANNELS = ("offload", "prefetch")
RINGS = ("ring", "completion")


class Bench:
    """The register memory, and one slot after the other."""

    def __init__(self, ctx: Any, dut: RingSlot, config: EngineConfig) -> None:
        self.ctx, self.dut = ctx, dut
        self.bits = config.host_address_bits
        self.registers = register_map(config)
        self.words = [0] * len(self.registers.kept)
        self.cycles = 0

    def put(self, name: str, value: int) -> None:
        for half, bits in (("low", value & 0xFFFFFFFF), ("high", value >> 32)):
            placed = self.registers[f"{name}_{half}"]
            if placed.register.kept:
                self.words[self.registers.word(placed.name)] = bits & placed.register.stored_mask

    async def step(self) -> None:
        ctx, dut = self.ctx, self.dut
        asked = ctx.get(dut.stored.index)
        await ctx.tick()
        ctx.set(dut.stored.data, self.words[asked])
        ctx.set(dut.start, 0)
        self.cycles += 1

    async def give_up(self, rng: random.Random) -> None:
        """Begins a search that may not come to its end."""
        self.ctx.set(self.dut.start, 1)
        self.ctx.set(self.dut.channel, rng.randrange(2))
        for _ in range(rng.randrange(3, 16)):
            await self.step()

    async def find(self, channel: int, completions: int, index: int, log2: int) -> tuple[int, bool]:
        ctx, dut = self.ctx, self.dut
        for port, value in (
            (dut.channel, channel),
            (dut.completions, completions),
            (dut.index, index),
            (dut.ring_log2, log2),
        ):
            ctx.set(port, value)
        ctx.set(dut.start, 1)
        self.cycles = 0
        await self.step()
        while not ctx.get(dut.done):
            assert self.cycles < 20
            await self.step()
        for _ in range(2):
            await self.step()
            assert ctx.get(dut.done)
        return ctx.get(dut.address), bool(ctx.get(dut.allowed))


def run(config: EngineConfig, body: Any) -> None:
    dut = RingSlot(config)

    async def testbench(ctx: Any) -> None:
        await body(Bench(ctx, dut, config), random.Random(config.host_address_bits))

    simulate(dut, testbench)


@pytest.mark.parametrize(
    ("bits", "entries", "pipelined"),
    # 40 and 64 bits are proven; the others are the edges of the adder's 16 bits.
    [
        (64, 1024, True),
        (48, 2, False),
        (33, 32768, True),
        (32, 1024, False),
        (20, 2, True),
        (16, 1024, False),
        (13, 2, True),
    ],
)
def test_any_slot_against_any_window(bits: int, entries: int, pipelined: bool) -> None:
    config = EngineConfig(host_address_bits=bits, ring_entries=entries, pipelined=pipelined)
    top = 1 << bits

    async def body(bench: Bench, rng: random.Random) -> None:
        seen = {True: 0, False: 0}
        for _ in range(100):
            channel, completions = rng.randrange(2), rng.randrange(2)
            log2 = rng.randint(0, entries.bit_length() - 1)
            index = rng.randrange(2 * entries)
            base = rng.choice((0, top - PAGE, top - 64, rng.randrange(top))) & ~63
            place = base + index % (1 << log2) * 64
            # The window's edges: anywhere, or exactly at the record's page, or one page beside it; or at address 0.
            edges = [
                rng.choice((rng.randrange(top), place + rng.choice((-1, 0, 1)) * PAGE, 0)) for _ in range(2)
            ]
            low, high = (max(0, min(top - 1, edge)) // PAGE * PAGE for edge in edges)
            for name in CHANNELS:
                for ring in RINGS:
                    bench.put(f"{name}.{ring}_base", rng.randrange(top))
            for edge in ("base", "limit"):
                bench.put(f"dev_window.{edge}", rng.randrange(1 << 32))
            bench.put(f"{CHANNELS[channel]}.{RINGS[completions]}_base", base)
            bench.put("host_window.base", low)
            bench.put("host_window.limit", high | (PAGE - 1))
            if rng.getrandbits(1):
                await bench.give_up(rng)
            address, allowed = await bench.find(channel, completions, index, log2)
            assert bench.cycles == 3 * -(-bits // 16) + 3 + pipelined
            want = low <= place <= high | (PAGE - 1) and place < top
            assert allowed == want, (hex(place), hex(low), hex(high))
            if want:
                assert address == place
            seen[allowed] += 1
        assert min(seen.values()) > 5

    run(config, body)
