"""The watchdog's time: never too early, and late by no more than it says. Arbiters: nothing is lost, copied or changed
while it waits; data follow addresses; answers find their client.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from amaranth.hdl import Module, Value

from cdma.hdl.axi.answers import Timebase, Watchdog
from cdma.hdl.axi.arbiter import ReadArbiter, WriteArbiter
from tests.support.simulate import simulate


class _Bench:
    def __init__(self) -> None:
        self.timebase, self.watchdog = Timebase(), Watchdog()
        self.module = m = Module()
        m.submodules.timebase, m.submodules.watchdog = self.timebase, self.watchdog
        m.d.comb += self.watchdog.tick.eq(self.timebase.tick)

    async def wait(self, ctx: Any, limit: int) -> int | None:
        """Cycles of waiting until it has fired, if it has within ``limit``."""
        ctx.set(self.watchdog.waiting, 1)
        for cycle in range(limit):
            if ctx.get(self.watchdog.fired):
                return cycle
            await ctx.tick()
        return None


@pytest.mark.parametrize("cycles", [1, 7, 8, 100, 200, 1000])
def test_fires_in_time(cycles: int) -> None:
    """Whenever the silence begins, with a transfer before it or without."""
    bench = _Bench()
    rng = random.Random(cycles)

    async def drive(ctx: Any) -> None:
        ctx.set(bench.timebase.watchdog_cycles, cycles)
        for attempt in range(12):
            ctx.set(bench.watchdog.waiting, attempt & 1)
            ctx.set(bench.watchdog.progress, 1)
            await ctx.tick().repeat(rng.randrange(1, 2 + cycles // 4))
            ctx.set(bench.watchdog.progress, 0)
            elapsed = await bench.wait(ctx, 3 * cycles + 30)
            assert elapsed is not None
            assert cycles <= elapsed <= cycles * 9 / 8 + 10
            await ctx.tick().repeat(5)
            assert ctx.get(bench.watchdog.fired)

    simulate(bench.module, drive)


def test_a_transfer_in_time_keeps_it_quiet() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        ctx.set(bench.timebase.watchdog_cycles, 100)
        ctx.set(bench.watchdog.waiting, 1)
        for _ in range(10):
            await ctx.tick().repeat(99)
            assert not ctx.get(bench.watchdog.fired)
            ctx.set(bench.watchdog.progress, 1)
            await ctx.tick()
            ctx.set(bench.watchdog.progress, 0)

    simulate(bench.module, drive)


def test_never_without_a_time_and_at_once_with_a_shorter_one() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        assert await bench.wait(ctx, 500) is None
        ctx.set(bench.timebase.watchdog_cycles, 1 << 31)
        assert await bench.wait(ctx, 500) is None
        ctx.set(bench.timebase.watchdog_cycles, 64)
        assert (await bench.wait(ctx, 500) or 500) <= 64 * 9 / 8 + 10

    simulate(bench.module, drive)


def test_now_counts() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        for cycle in range(300):
            assert ctx.get(bench.timebase.now) == cycle
            await ctx.tick()

    simulate(bench.module, drive)


IDS = ((0,), (1, 2))
ID_BITS = 2


class Addresses:
    """Clients that ask for random bursts, and the port that takes them; each transaction is known by its address."""

    def __init__(self, ctx: Any, clients: list[Any], port: Any, rng: random.Random, pause: float) -> None:
        self.ctx, self.clients, self.port, self.rng, self.pause = ctx, clients, port, rng, pause
        self.asking: list[tuple[int, ...] | None] = [None] * len(clients)
        self.asked: list[deque[tuple[int, ...]]] = [deque() for _ in clients]
        self.taken: list[tuple[int, ...]] = []
        self.waiting: Any = None

    def drive(self, more: bool) -> None:
        ctx, rng = self.ctx, self.rng
        for number, client in enumerate(self.clients):
            if self.asking[number] is None and more and rng.random() > self.pause:
                own = rng.randrange(len(IDS[number]))
                self.asking[number] = (own, rng.getrandbits(40), rng.choice((0, 1, 3)), 5)
            wish = self.asking[number]
            ctx.set(client.valid, wish is not None)
            if wish is not None:
                for name, value in zip(("id", "address", "len", "size"), wish, strict=True):
                    if name != "id" or len(IDS[number]) > 1:
                        ctx.set(getattr(client.payload, name), value)
        ctx.set(self.port.ready, rng.random() > self.pause)

    def look(self) -> tuple[int, tuple[int, ...]] | None:
        """What is taken in this cycle: the client, and what it asked for."""
        ctx, port = self.ctx, self.port
        ready = [
            bool(ctx.get(client.ready)) and self.asking[n] is not None
            for n, client in enumerate(self.clients)
        ]
        if not ctx.get(port.valid):
            assert self.waiting is None, "an address was taken back"
            assert not any(ready)
            return None
        now = ctx.get(Value.cast(port.payload))
        assert self.waiting in (None, now), "an address changed while it waited"
        self.waiting = None if ctx.get(port.ready) else now
        if not ctx.get(port.ready):
            assert not any(ready)
            return None
        (number,) = (n for n, taken in enumerate(ready) if taken)
        wish = self.asking[number]
        assert wish is not None
        self.asking[number] = None
        payload = port.payload
        assert ctx.get(payload.id) == IDS[number][wish[0]]
        assert tuple(ctx.get(getattr(payload, name)) for name in ("address", "len", "size")) == wish[1:]
        return number, wish


@pytest.mark.parametrize("pause", [0.0, 0.3, 0.8])
def test_data_come_back_to_the_client_that_asked(pause: float) -> None:
    dut = ReadArbiter(IDS, 64, 40, ID_BITS)

    async def testbench(ctx: Any) -> None:
        rng = random.Random(f"reads {pause}")
        clients = [dut.client_0, dut.client_1]
        bench = Addresses(ctx, [client.ar for client in clients], dut.port.ar, rng, pause)
        taken = [0, 0]
        passed = 0
        for _ in range(1000):
            bench.drive(True)
            id = rng.randrange(3)
            valid, data = rng.random() < 0.5, rng.getrandbits(64)
            ctx.set(dut.port.r.valid, valid)
            ctx.set(dut.port.r.payload.id, id)
            ctx.set(dut.port.r.payload.data, data)
            assert ctx.get(dut.port.r.ready)
            for number, client in enumerate(clients):
                assert ctx.get(client.r.valid) == (valid and id in IDS[number])
                assert ctx.get(client.r.payload.data) == data
            if valid and id:
                assert ctx.get(clients[1].r.payload.id) == id - 1
            found = bench.look()
            if found:
                taken[found[0]] += 1
                # The rings go first, but for the address after their own.
                passed = passed + 1 if found[0] == 0 and bench.asking[1] is not None else 0
                assert passed <= 1, "the rings wait for more than one address"
            await ctx.tick()
        assert min(taken) > 20

    simulate(dut, testbench)


@pytest.mark.slow
@pytest.mark.parametrize(("pause", "pipelined"), [(0.0, True), (0.3, False), (0.8, True), (0.8, False)])
def test_data_follow_addresses_and_answers_find_their_client(pause: float, pipelined: bool) -> None:
    dut = WriteArbiter(IDS, 64, 40, 32, ID_BITS, pipelined=pipelined)

    async def testbench(ctx: Any) -> None:
        rng = random.Random(f"writes {pause}")
        clients = [dut.client_0, dut.client_1]
        bench = Addresses(ctx, [client.aw for client in clients], dut.port.aw, rng, pause)
        # Beats that each client has to send, in order, and those that the port must see.
        sending: list[deque[tuple[int, bool]]] = [deque(), deque()]
        expected: deque[tuple[int, bool]] = deque()
        answers: deque[int] = deque()
        due: list[deque[int]] = [deque(), deque()]
        bursts = 0
        for cycle in range(1500):
            bench.drive(cycle < 1200)
            for number, client in enumerate(clients):
                ctx.set(client.w.valid, bool(sending[number]))
                if sending[number]:
                    ctx.set(client.w.payload.data, sending[number][0][0])
                    ctx.set(client.w.payload.last, sending[number][0][1])
                ctx.set(client.b.ready, rng.random() > pause)
            ctx.set(dut.port.w.ready, rng.random() > pause)
            ctx.set(dut.port.b.valid, bool(answers))
            if answers:
                ctx.set(dut.port.b.payload.id, answers[0])
            found = bench.look()
            if ctx.get(dut.port.w.valid) and ctx.get(dut.port.w.ready):
                beat = (ctx.get(dut.port.w.payload.data), bool(ctx.get(dut.port.w.payload.last)))
                assert beat == expected.popleft()
            for number, client in enumerate(clients):
                if ctx.get(client.w.ready) and sending[number]:
                    sending[number].popleft()
                if ctx.get(client.b.valid) and ctx.get(client.b.ready):
                    id = IDS[number][ctx.get(client.b.payload.id) if number else 0]
                    assert id == due[number].popleft()
            if answers and ctx.get(dut.port.b.ready):
                answers.popleft()
            await ctx.tick()
            if found:
                number, (own, address, length, _) = found
                beats = [(address + k & (1 << 64) - 1, k == length) for k in range(length + 1)]
                sending[number].extend(beats)
                expected.extend(beats)
                answers.append(IDS[number][own])
                due[number].append(IDS[number][own])
                bursts += 1
        assert not expected
        assert not any(due)
        assert bursts > 60

    simulate(dut, testbench)
