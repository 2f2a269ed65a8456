"""The accesses that were refused: how many, and the first. The counters: every event and every number once, whatever
comes when; reads, holds and clears.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.control.counters import Counters
from cdma.hdl.engine.control.windows import Denials
from cdma.hdl.spec.options import COUNTERS
from cdma.hdl.spec.records import Status
from cdma.hdl.spec.registers.declare import DENIED_BITS
from tests.support.simulate import simulate


def test_counts_both_ways_at_once_keeps_the_first_and_stays_at_the_most():
    dut = Denials(12)
    most = (1 << DENIED_BITS) - 1

    async def testbench(ctx):
        def shown():
            return tuple(ctx.get(each) for each in (dut.count, dut.address, dut.prot, dut.is_write))

        ctx.set(dut.read, {"valid": 1, "address": 0x123, "prot": 5})
        await ctx.tick()
        assert shown() == (1, 0x123, 5, 0)
        ctx.set(dut.write, {"valid": 1, "address": 0x456, "prot": 2})
        await ctx.tick()
        assert shown() == (3, 0x123, 5, 0)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        assert shown()[0] == 0
        await ctx.tick()
        assert shown() == (2, 0x456, 2, 1)
        await ctx.tick().repeat(most // 2 - 1)
        assert ctx.get(dut.count) == most - 1
        await ctx.tick().repeat(3)
        assert shown() == (most, 0x456, 2, 1)

    simulate(dut, testbench)


CHANNELS = ("offload", "prefetch")
NAMES = [name for name, _ in COUNTERS]
EVENTS = {
    "cycles": "in_flight",
    "read_beats": "read_beat",
    "write_beats": "write_beat",
    "stall_source": "stall_source",
    "stall_codec": "stall_codec",
    "stall_sink": "stall_sink",
}
NUMBERS = ("bytes_read", "bytes_written", "literals")
#: Cycles after which all that has happened is in the counters, and is seen.
SETTLED = 100


class Made(Counters):
    """The counters that are tested: with and without a further register."""

    pipelined = False

    def __init__(self) -> None:
        super().__init__(pipelined=self.pipelined)


@pytest.fixture(autouse=True, params=[False, True], ids=["", "pipelined"])
def _pipelined(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Made, "pipelined", request.param)


class Bench:
    """Random events and completions on both channels, and what they must add up to."""

    def __init__(self, ctx: Any, dut: Counters, rng: random.Random, rate: float) -> None:
        self.ctx, self.dut, self.rng, self.rate = ctx, dut, rng, rate
        self.want = {channel: dict.fromkeys(NAMES, 0) for channel in CHANNELS}
        self.offered: dict[str, dict[str, int] | None] = dict.fromkeys(CHANNELS)
        self.given = dict.fromkeys(CHANNELS, False)
        self.waited = dict.fromkeys(CHANNELS, 0)
        self.completions = 0

    async def cycle(self, busy: bool = True) -> None:
        """One cycle; not ``busy``: nothing new."""
        ctx, rng = self.ctx, self.rng
        for channel in CHANNELS:
            port, want = getattr(self.dut, channel), self.want[channel]
            for name, event in EVENTS.items():
                happens = busy and rng.random() < self.rate
                ctx.set(port.events[event], happens)
                want[name] += happens
            extra = busy and rng.random() < self.rate / 8
            ctx.set(port.extra_error, extra)
            want["errors"] += extra
            if self.offered[channel] is None and busy and rng.random() < 0.2:
                made = {
                    name: rng.choice((1, rng.getrandbits(32), (1 << 32) - 1)) for name in (*NUMBERS, "words")
                }
                made["bytes_read"] += rng.getrandbits(1) << 32
                made["status"] = rng.choice((Status.OK, Status.WINDOW))
                self.offered[channel] = made
                for name in (*NUMBERS, "status"):
                    ctx.set(getattr(port.input.payload, name), made[name])
                made["coded"] = rng.getrandbits(1)
                ctx.set(port.words, made["words"])
                ctx.set(port.coded, made["coded"])
                self.waited[channel] = 0
            made = self.offered[channel]
            ctx.set(port.input.valid, made is not None)
            ctx.set(port.output.ready, rng.random() < 0.7)
            # It goes on at once, and once.
            assert ctx.get(port.output.valid) == (made is not None and not self.given[channel])
            if ctx.get(port.output.valid) and ctx.get(port.output.ready):
                assert ctx.get(port.output.payload.literals) == made["literals"]
                self.given[channel] = True
            if made is not None and ctx.get(port.input.ready):
                assert self.given[channel]
                for name in NUMBERS:
                    want[name] += made[name]
                want["raw_words"] += made["words"] * made["coded"]
                want["descriptors"] += 1
                want["errors"] += made["status"] != Status.OK
                self.offered[channel] = None
                self.given[channel] = False
                self.completions += 1
            self.waited[channel] += 1
            assert self.waited[channel] < 60 or made is None, "a completion waits for ever"
        await ctx.tick()

    async def read(self, channel: str, name: str, busy: bool = False) -> int:
        """Both halves of a counter."""
        ctx, port = self.ctx, getattr(self.dut, channel).read
        value = 0
        for half in range(2):
            ctx.set(port.word, 2 * NAMES.index(name) + half)
            ctx.set(port.request, 1)
            while not ctx.get(port.done):
                await self.cycle(busy)
            value |= ctx.get(port.data) << 32 * half
            await self.cycle(busy)
            ctx.set(port.request, 0)
            await self.cycle(busy)
        return value

    async def read_all(self, channel: str, busy: bool = False) -> dict[str, int]:
        return {name: await self.read(channel, name, busy) for name in NAMES}

    async def drain(self) -> None:
        for _ in range(SETTLED):
            await self.cycle(busy=False)


def run(rate: float, seed: int, body: Any) -> None:
    dut = Made()

    async def testbench(ctx: Any) -> None:
        bench = Bench(ctx, dut, random.Random(f"{rate} {seed}"), rate)
        # The first round clears.
        for _ in range(70):
            await ctx.tick()
        await body(bench)

    simulate(dut, testbench)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_everything_is_counted_once(rate: float) -> None:
    async def body(bench: Bench) -> None:
        for _ in range(800):
            await bench.cycle()
        await bench.drain()
        assert bench.completions > 50
        for channel in CHANNELS:
            assert await bench.read_all(channel) == bench.want[channel]

    run(rate, 1, body)


def test_a_counter_carries_into_its_high_half() -> None:
    async def body(bench: Bench) -> None:
        while bench.want["prefetch"]["bytes_read"] < 1 << 34:
            await bench.cycle()
        await bench.drain()
        assert await bench.read("prefetch", "bytes_read") == bench.want["prefetch"]["bytes_read"]

    run(0.1, 2, body)


@pytest.mark.slow
def test_held_counters_are_of_one_moment_and_lose_no_count() -> None:
    async def body(bench: Bench) -> None:
        for channel in CHANNELS:
            port = getattr(bench.dut, channel)
            for _ in range(4):
                for _ in range(bench.rng.randrange(80)):
                    await bench.cycle()
                bench.ctx.set(port.hold, 1)
                before = dict(bench.want[channel])
                for _ in range(66):
                    await bench.cycle()
                assert bench.ctx.get(port.held)
                after = dict(bench.want[channel])
                first = await bench.read_all(channel, busy=True)
                assert await bench.read_all(channel, busy=True) == first, "it moved"
                for name in EVENTS:
                    assert before[name] - 64 <= first[name] <= after[name]
                # Events come in every cycle: counters of one moment are at most 32 cycles apart.
                counts = [first[name] for name in EVENTS]
                assert max(counts) - min(counts) <= 32
                # Each completion adds 1 to descriptors and the same to all its numbers, or to none.
                assert first["bytes_read"] == first["bytes_written"] == first["descriptors"]
                bench.ctx.set(port.hold, 0)
                for _ in range(66):
                    await bench.cycle()
        await bench.drain()
        for channel in CHANNELS:
            assert await bench.read_all(channel) == bench.want[channel]

    class Ones(random.Random):
        """All numbers 1."""

        def getrandbits(self, k: int) -> int:
            return 0

    async def ones(bench: Bench) -> None:
        bench.rng = Ones(5)
        bench.rng.choice = lambda options: options[0]  # type: ignore[method-assign]
        await body(bench)

    run(1.0, 3, ones)


@pytest.mark.slow
def test_clearing_while_counting_and_holding() -> None:
    async def body(bench: Bench) -> None:
        ctx, dut = bench.ctx, bench.dut
        for _ in range(500):
            await bench.cycle()
        await bench.drain()
        ctx.set(dut.offload.hold, 1)
        for _ in range(70):
            await bench.cycle(busy=False)
        held = await bench.read_all("offload")
        assert held == bench.want["offload"]
        ctx.set(dut.clear, 1)
        await bench.cycle(busy=False)
        ctx.set(dut.clear, 0)
        for _ in range(70):
            await bench.cycle(busy=False)
        assert await bench.read_all("offload") == held, "what is held stays"
        assert not any((await bench.read_all("prefetch")).values())
        bench.want = {channel: dict.fromkeys(NAMES, 0) for channel in CHANNELS}
        for _ in range(500):
            await bench.cycle()
        await bench.drain()
        ctx.set(dut.offload.hold, 0)
        for _ in range(70):
            await bench.cycle(busy=False)
        for channel in CHANNELS:
            assert await bench.read_all(channel) == bench.want[channel]

    run(0.5, 4, body)


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0, 13, 30])
def test_a_hold_right_after_a_clear_sees_zeros(wait: int) -> None:
    async def body(bench: Bench) -> None:
        ctx, dut = bench.ctx, bench.dut
        for _ in range(200):
            await bench.cycle()
        await bench.drain()
        for _ in range(wait):
            await bench.cycle(busy=False)
        ctx.set(dut.clear, 1)
        await bench.cycle(busy=False)
        ctx.set(dut.clear, 0)
        ctx.set(dut.prefetch.hold, 1)
        for _ in range(100):
            await bench.cycle(busy=False)
        assert ctx.get(dut.prefetch.held)
        assert not any((await bench.read_all("prefetch")).values())

    run(0.5, wait, body)


def test_a_read_while_it_counts_sees_the_limbs_of_one_visit() -> None:
    """Completions carry from limb to limb all the time; a read finds one of the sums that there have been."""

    async def body(bench: Bench) -> None:
        ctx, port = bench.ctx, bench.dut.prefetch
        amount = 0x1_FFFE_FFFF
        ctx.set(port.input.payload.bytes_read, amount)
        ctx.set(port.input.valid, 1)
        ctx.set(port.output.ready, 1)
        completions = 0

        async def cycle() -> None:
            nonlocal completions
            completions += bool(ctx.get(port.input.ready))
            await ctx.tick()

        seen = set()
        for number in range(100):
            # A counter follows its completion by a few cycles at most, and never goes before it by more than one.
            earliest = completions - 1
            value = 0
            for half in range(2):
                ctx.set(port.read.word, 2 * NAMES.index("bytes_read") + half)
                ctx.set(port.read.request, 1)
                while not ctx.get(port.read.done):
                    await cycle()
                value |= ctx.get(port.read.data) << 32 * half
                await cycle()
                ctx.set(port.read.request, 0)
                for _ in range(number % 3 + 1):
                    await cycle()
            assert value % amount == 0, f"{value:#x} has limbs of two visits"
            assert earliest <= value // amount <= completions + 1
            seen.add(value)
        assert len(seen) > 20

    run(0.0, 6, body)
