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
#: Those that each pair has; the others are the first one's alone.
OWN = NAMES[: NAMES.index("read_beats")]


class Made(Counters):
    """The counters that are tested: with and without a further register, of one pair and of three."""

    of_pairs, with_register = 1, False

    def __init__(self) -> None:
        super().__init__(pairs=self.of_pairs, pipelined=self.with_register)


@pytest.fixture(autouse=True, params=[(1, False), (1, True), (3, False)], ids=["", "pipelined", "pairs"])
def _shape(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in zip(("of_pairs", "with_register"), request.param, strict=True):
        monkeypatch.setattr(Made, name, value)


def settled() -> int:
    """Cycles after which all that has happened is in the counters, and is seen."""
    return 100 * Made.of_pairs


class Side:
    """Random events and completions on one channel, and what they must add up to for each pair.

    Several pairs start descriptors at any time, of which some leave uncounted, to start again. ``periods`` says how often
    each has begun to have any in flight: its ``cycles`` may be wrong by some for each time.
    """

    def __init__(self, ctx: Any, dut: Counters, channel: str) -> None:
        self.ctx, self.port = ctx, getattr(dut, channel)
        self.pairs = range(dut.pairs)
        self.several = dut.pairs > 1
        self.started: list[int] = []
        self.made: dict[str, int] | None = None
        self.whose, self.given, self.waited, self.completions = 0, False, 0, 0
        self.forget()

    def forget(self) -> None:
        """Nothing is counted."""
        self.want = [dict.fromkeys(NAMES, 0) for _ in self.pairs]
        self.periods = [0 for _ in self.pairs]

    def check(self, got: list[dict[str, int]]) -> None:
        for pair in self.pairs:
            want = dict(self.want[pair])
            if self.several:
                assert abs(want["cycles"] - got[pair]["cycles"]) <= 8 * self.periods[pair]
                want["cycles"] = got[pair]["cycles"]
            assert got[pair] == want, pair

    def cycle(self, rng: random.Random, rate: float, busy: bool) -> None:
        """One cycle; not ``busy``: nothing new."""
        ctx, port = self.ctx, self.port
        for name, event in EVENTS.items():
            happens = busy and rng.random() < rate
            ctx.set(port.events[event], happens)
            self.want[0][name] += happens and not (self.several and name == "cycles")
        extras = [busy and rng.random() < rate / 8 / len(self.pairs) ** 2 for _ in self.pairs]
        ctx.set(port.extra_errors, sum(extra << pair for pair, extra in enumerate(extras)))
        for pair, extra in enumerate(extras):
            self.want[pair]["errors"] += extra
        if self.several:
            self._start(rng, busy)
        self._complete(rng, busy)

    def _start(self, rng: random.Random, busy: bool) -> None:
        ctx, port = self.ctx, self.port
        flying = set(self.started)
        ctx.set(port.in_flight, sum(1 << pair for pair in flying))
        for pair in self.pairs:
            self.want[pair]["cycles"] += pair in flying or ctx.get(port.adding) >> pair & 1
        starts = busy and len(self.started) < 5 and rng.random() < 0.1
        starter = rng.choice(self.pairs)
        ctx.set(port.starters, starts << starter)
        if starts:
            self.periods[starter] += starter not in flying
            self.started.append(starter)

    def _complete(self, rng: random.Random, busy: bool) -> None:
        ctx, port = self.ctx, self.port
        if self.made is None and rng.random() < 0.2 and (self.started or (busy and not self.several)):
            made = {name: rng.choice((1, rng.getrandbits(32), (1 << 32) - 1)) for name in (*NUMBERS, "words")}
            made["bytes_read"] += rng.getrandbits(1) << 32
            made["status"] = rng.choice((Status.OK, Status.WINDOW))
            made["coded"] = rng.getrandbits(1)
            made["counts"] = not self.several or rng.random() < 0.7
            for name in (*NUMBERS, "status"):
                ctx.set(getattr(port.input.payload, name), made[name])
            ctx.set(port.words, made["words"])
            ctx.set(port.coded, made["coded"])
            self.made, self.waited = made, 0
            self.whose = self.started[0] if self.several else 0
        made = self.made
        ctx.set(port.input.valid, made is not None)
        ctx.set(port.output.ready, rng.random() < 0.7)
        # It goes on at once, and once.
        assert ctx.get(port.output.valid) == (made is not None and not self.given)
        leaves = ctx.get(port.output.valid) and ctx.get(port.output.ready)
        if self.several:
            ctx.set(port.takers, (leaves and made["counts"]) << self.whose)
        if leaves:
            assert ctx.get(port.output.payload.literals) == made["literals"]
            self.given = True
            if self.several and made["counts"]:
                self.started.pop(0)
        if made is not None and ctx.get(port.input.ready):
            assert self.given
            if made["counts"]:
                self._count(made)
            self.made, self.given = None, False
        self.waited += 1
        assert self.waited < (100 if self.several else 60) or made is None, "a completion waits for ever"

    def _count(self, made: dict[str, int]) -> None:
        want = self.want[self.whose]
        for name in NUMBERS:
            want[name] += made[name]
        want["raw_words"] += made["words"] * made["coded"]
        want["descriptors"] += 1
        want["errors"] += made["status"] != Status.OK
        self.completions += 1


class Bench:
    """Both channels."""

    def __init__(self, ctx: Any, dut: Counters, rng: random.Random, rate: float) -> None:
        self.ctx, self.dut, self.rng, self.rate = ctx, dut, rng, rate
        self.sides = {channel: Side(ctx, dut, channel) for channel in CHANNELS}

    async def cycle(self, busy: bool = True) -> None:
        for side in self.sides.values():
            side.cycle(self.rng, self.rate, busy)
        await self.ctx.tick()

    async def read(self, channel: str, name: str, pair: int = 0, busy: bool = False) -> int:
        """Both halves of a counter."""
        ctx, port = self.ctx, self.dut.read
        value = 0
        for half in range(2):
            ctx.set(port.word, 2 * NAMES.index(name) + half)
            ctx.set(self.dut.reader, CHANNELS.index(channel) | pair << 1)
            ctx.set(port.request, 1)
            while not ctx.get(port.done):
                await self.cycle(busy)
            value |= ctx.get(port.data) << 32 * half
            await self.cycle(busy)
            ctx.set(port.request, 0)
            assert not ctx.get(port.data)
            await self.cycle(busy)
        return value

    async def read_pair(self, channel: str, pair: int, busy: bool = False) -> dict[str, int]:
        return {name: await self.read(channel, name, pair, busy) for name in NAMES}

    async def read_all(self, channel: str, busy: bool = False) -> list[dict[str, int]]:
        return [await self.read_pair(channel, pair, busy) for pair in range(self.dut.pairs)]

    async def drain(self) -> None:
        for _ in range(settled()):
            await self.cycle(busy=False)
        assert not any(side.started for side in self.sides.values())

    async def check(self) -> None:
        for channel, side in self.sides.items():
            side.check(await self.read_all(channel))


def run(rate: float, seed: int, body: Any) -> None:
    dut = Made()

    async def testbench(ctx: Any) -> None:
        bench = Bench(ctx, dut, random.Random(f"{rate} {seed}"), rate)
        # The first rounds clear.
        for _ in range(70 * dut.pairs):
            await ctx.tick()
        await body(bench)

    simulate(dut, testbench)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_everything_is_counted_once(rate: float) -> None:
    async def body(bench: Bench) -> None:
        for _ in range(800 * Made.of_pairs):
            await bench.cycle()
        await bench.drain()
        assert all(side.completions > 20 for side in bench.sides.values())
        await bench.check()

    run(rate, 1, body)


def test_a_counter_carries_into_its_high_half() -> None:
    async def body(bench: Bench) -> None:
        side, last = bench.sides["prefetch"], Made.of_pairs - 1
        while side.want[last]["bytes_read"] < 1 << 34:
            await bench.cycle()
        await bench.drain()
        assert await bench.read("prefetch", "bytes_read", last) == side.want[last]["bytes_read"]

    run(0.1, 2, body)


def test_the_high_half_is_of_the_low_half_that_was_read_last_of_the_same_pair_and_channel() -> None:
    async def body(bench: Bench) -> None:
        ctx, port = bench.ctx, bench.dut.read
        want = [[side.want[pair] for pair in side.pairs] for side in bench.sides.values()]
        readers = [(index, pair) for index in range(len(CHANNELS)) for pair in range(bench.dut.pairs)]

        async def half(index: int, pair: int, name: str, high: int) -> int:
            ctx.set(port.word, 2 * NAMES.index(name) + high)
            ctx.set(bench.dut.reader, index | pair << 1)
            ctx.set(port.request, 1)
            while not ctx.get(port.done):
                await bench.cycle(busy=False)
            value = ctx.get(port.data)
            await bench.cycle(busy=False)
            ctx.set(port.request, 0)
            await bench.cycle(busy=False)
            return value

        for reader in readers:
            assert await half(*reader, "errors", 1) == 0, "nothing was read"
        while any(pair["bytes_read"] < 1 << 33 for side in want for pair in side):
            await bench.cycle()
        await bench.drain()
        for index, pair in readers:
            assert await half(index, pair, "bytes_read", 0) == want[index][pair]["bytes_read"] & 0xFFFFFFFF
        for index, pair in readers:
            assert await half(index, pair, "errors", 1) == want[index][pair]["bytes_read"] >> 32

    run(0.1, 7, body)


@pytest.mark.slow
def test_held_counters_are_of_one_moment_and_lose_no_count() -> None:
    async def body(bench: Bench) -> None:
        for channel, side in bench.sides.items():
            for number in range(4):
                pair = number % bench.dut.pairs
                for _ in range(bench.rng.randrange(80)):
                    await bench.cycle()
                bench.ctx.set(side.port.hold, 1 << pair)
                before = dict(side.want[pair])
                for _ in range(66 if not side.several else 100):
                    await bench.cycle()
                assert bench.ctx.get(side.port.held) == 1 << pair
                after = dict(side.want[pair])
                first = await bench.read_pair(channel, pair, busy=True)
                assert await bench.read_pair(channel, pair, busy=True) == first, "it moved"
                counted = [name for name in EVENTS if name not in OWN or not side.several]
                if pair == 0:
                    for name in counted:
                        assert before[name] - 64 <= first[name] <= after[name]
                    # Events come in every cycle: counters of one moment are at most 32 cycles apart.
                    counts = [first[name] for name in counted]
                    assert max(counts) - min(counts) <= 32
                # Each completion adds 1 to descriptors and the same to all its numbers, or to none.
                assert first["bytes_read"] == first["bytes_written"] == first["descriptors"]
                bench.ctx.set(side.port.hold, 0)
                for _ in range(66 if not side.several else 100):
                    await bench.cycle()
                assert not bench.ctx.get(side.port.held)
        await bench.drain()
        await bench.check()

    class Ones(random.Random):
        """All numbers 1."""

        def getrandbits(self, k: int) -> int:
            return 0

    async def ones(bench: Bench) -> None:
        bench.rng = Ones(5)
        choice = bench.rng.choice
        bench.rng.choice = lambda options: choice(options) if isinstance(options, range) else options[0]  # type: ignore[method-assign]
        await body(bench)

    run(1.0, 3, ones)


@pytest.mark.slow
def test_clearing_while_counting_and_holding() -> None:
    async def body(bench: Bench) -> None:
        ctx, dut, last = bench.ctx, bench.dut, Made.of_pairs - 1
        offload = bench.sides["offload"]
        for _ in range(500):
            await bench.cycle()
        await bench.drain()
        ctx.set(dut.offload.hold, 1 << last)
        for _ in range(70 * dut.pairs):
            await bench.cycle(busy=False)
        held = await bench.read_all("offload")
        offload.check(held)
        ctx.set(dut.clear, 1 << last)
        await bench.cycle(busy=False)
        ctx.set(dut.clear, 0)
        for _ in range(100):
            await bench.cycle(busy=False)
        assert await bench.read_all("offload") == held, "what is held stays"
        got = await bench.read_all("prefetch")
        assert not any(got.pop().values())
        assert all(any(pair.values()) for pair in got), "they are others'"
        ctx.set(dut.clear, -1)
        await bench.cycle(busy=False)
        ctx.set(dut.clear, 0)
        for _ in range(100 * dut.pairs):
            await bench.cycle(busy=False)
        for side in bench.sides.values():
            side.forget()
        for _ in range(500):
            await bench.cycle()
        await bench.drain()
        ctx.set(dut.offload.hold, 0)
        for _ in range(70 * dut.pairs):
            await bench.cycle(busy=False)
        await bench.check()

    run(0.5, 4, body)


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0, 13, 30])
def test_a_hold_right_after_a_clear_sees_zeros(wait: int) -> None:
    async def body(bench: Bench) -> None:
        ctx, dut, last = bench.ctx, bench.dut, Made.of_pairs - 1
        for _ in range(200):
            await bench.cycle()
        await bench.drain()
        for _ in range(wait):
            await bench.cycle(busy=False)
        ctx.set(dut.clear, 1 << last)
        await bench.cycle(busy=False)
        ctx.set(dut.clear, 0)
        ctx.set(dut.prefetch.hold, 1 << last)
        for _ in range(100 if last == 0 else 200):
            await bench.cycle(busy=False)
        assert ctx.get(dut.prefetch.held) == 1 << last
        assert not any((await bench.read_pair("prefetch", last)).values())

    run(0.5, wait, body)


def test_a_read_while_it_counts_sees_the_limbs_of_one_visit() -> None:
    """Completions carry from limb to limb all the time; a read finds one of the sums that there have been."""

    async def body(bench: Bench) -> None:
        ctx, port, read = bench.ctx, bench.dut.prefetch, bench.dut.read
        amount = 0x1_FFFE_FFFF
        ctx.set(port.input.payload.bytes_read, amount)
        ctx.set(port.input.valid, 1)
        ctx.set(port.output.ready, 1)
        if bench.dut.pairs > 1:
            ctx.set(port.takers, 1)
        ctx.set(bench.dut.reader, 1)
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
                ctx.set(read.word, 2 * NAMES.index("bytes_read") + half)
                ctx.set(read.request, 1)
                while not ctx.get(read.done):
                    await cycle()
                value |= ctx.get(read.data) << 32 * half
                await cycle()
                ctx.set(read.request, 0)
                for _ in range(number % 3 + 1):
                    await cycle()
            assert value % amount == 0, f"{value:#x} has limbs of two visits"
            assert earliest <= value // amount <= completions + 1
            seen.add(value)
        assert len(seen) > 20

    run(0.0, 6, body)
