"""What a pair may start on the data path that all pairs share. Shares and limits: hardware chooses as the model does,
and what is moved is as the weights. Lost words of what is common to pairs end at the pair that they belong to.
"""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.lib.memory import Memory

from cdma.hdl.blocks.memories import FlipFlops, MemoryCoding, elaborated
from cdma.hdl.engine.pairs.dispatch import Dispatch
from cdma.hdl.engine.pairs.sharing import Account, Shares
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PERIOD_BITS
from cdma.hdl.spec.records import Mode, Status
from cdma.sim.engine.model import ShareModel
from tests.support.simulate import simulate


def test_a_period_that_is_changed_holds_at_once() -> None:
    """A pair with a limit of one unit, which always has a descriptor of one, waits for the end of a period that is not over
    before the test; then software shortens it."""
    dut = Dispatch(EngineConfig(channels=2))
    long, short = (1 << PERIOD_BITS) - 1, 100

    async def testbench(ctx):
        async def starts(cycles: int) -> int:
            count = 0
            for _ in range(cycles):
                await ctx.tick()
                count += ctx.get(dut.pair_0.started)
            return count

        ctx.set(dut.shares.limit[0], 1)
        for signal in (dut.pair_0.requests.valid, dut.pair_0.may_start, dut.requests.ready, dut.done.valid):
            ctx.set(signal, 1)
        for period in (long, short):
            ctx.set(dut.shares.period, period)
            assert await starts(3 * short) == (1 if period == long else 3)
        ctx.set(dut.shares.period, long)
        assert await starts(3 * short) <= 1

    simulate(dut, testbench)


_COST_BITS = 12


def _chosen(ctx, dut):
    choice = ctx.get(dut.choice)
    assert choice & choice - 1 == 0
    return choice.bit_length() - 1 if choice else None


@pytest.mark.parametrize("count", [2, 5, 8])
def test_hardware_chooses_as_the_model_does(count):
    rng = random.Random(count)
    dut = Shares(count, _COST_BITS, step_log2=1)
    weights = [rng.choice((0, 1, 3, 9)) for _ in range(count)]
    levels = [rng.choice((0, 1, 1, 3)) for _ in range(count)]
    model = ShareModel(weights, levels, step_log2=1)

    async def testbench(ctx):
        for number in range(count):
            ctx.set(dut.weights[number], weights[number])
            ctx.set(dut.levels[number], levels[number])
        chosen = set()
        for _ in range(1000):
            asks = rng.choice((0, (1 << count) - 1, rng.getrandbits(count)))
            ctx.set(dut.asks, asks)
            await ctx.tick()
            ctx.set(dut.asks, rng.getrandbits(count))
            ctx.set(dut.look, 1)
            await ctx.tick()
            ctx.set(dut.look, 0)
            expected = model.look([bool(asks >> number & 1) for number in range(count)])
            assert _chosen(ctx, dut) == expected
            chosen.add(expected)
            cost = rng.choice((rng.randint(1, 40), rng.randint(1, (1 << _COST_BITS) - 1)))
            if expected is not None:
                model.charge(expected, cost)
                ctx.set(dut.charge, 1)
                ctx.set(dut.cost, cost)
            await ctx.tick()
            ctx.set(dut.charge, 0)
            await ctx.tick().repeat(rng.choice((1, 1, 2)))
        assert len(chosen) > 2

    simulate(dut, testbench)


def test_bytes_moved_are_as_the_weights_however_long_descriptors_are():
    weights, longest = (1, 2, 5), (60, 7, 31)
    model = ShareModel(weights, (0, 0, 0), step_log2=2)
    rng = random.Random(3)
    moved = [0, 0, 0]
    while sum(moved) < 100_000:
        number = model.look([True] * 3)
        if number is not None:
            units = rng.randint(1, longest[number])
            moved[number] += units
            model.charge(number, units)
    for weight, units in zip(weights, moved, strict=True):
        assert abs(units / sum(moved) - weight / sum(weights)) < 0.01


def test_an_account_loses_no_amount_and_saves_none():
    dut = Account(4, 6, often_log2=1)
    rng = random.Random(1)
    amount = 9

    async def testbench(ctx):
        balance, late, settles = 0, False, 0
        ctx.set(dut.amount, amount)
        await ctx.tick()
        for _ in range(600):
            deep = balance + 2 * amount <= 0
            if not settles:
                assert ctx.get(dut.balance) == balance
                assert (ctx.get(dut.rich), ctx.get(dut.deep)) == (balance > 0, deep)
            adds, often, cost = rng.random() < 0.2, rng.random() < 0.5, rng.randint(1, 63)
            charges = balance > 0 and not settles and rng.random() < 0.5
            ctx.set(dut.add, adds)
            ctx.set(dut.often, often)
            ctx.set(dut.charge, charges)
            ctx.set(dut.cost, cost)
            await ctx.tick()
            late |= adds
            if charges:
                balance -= cost
            elif settles or not late:
                settles = max(0, settles - 1)
                continue
            else:
                late = False
                if often and deep:
                    balance += 2 * amount
                else:
                    balance = amount + (0 if often else min(balance, 0))
            settles = 2

    simulate(dut, testbench)


_CONFIG = EngineConfig(channels=2, memories_protect="secded")
#: Cycles in which a descriptor starts.
_LIMIT = 40


class _Losing(MemoryCoding):
    """Every word that is read is lost, and each bit of it is wrong, while ``loses`` is high."""

    def __init__(self) -> None:
        super().__init__("secded", 16)
        self.loses = Signal()

    def line(self, memory: Memory) -> Signal:
        return self.loses

    def get_memory(self, memory: Memory) -> Elaboratable:
        m = Module()
        [writer], [reader] = memory.write_ports, memory.read_ports
        width = len(Value.cast(writer.data))
        inner = Memory(shape=width, depth=memory.depth, init=[])
        write, read = inner.write_port(), inner.read_port(domain="sync")
        m.submodules.inner = elaborated(inner, FlipFlops())
        m.d.comb += [
            write.addr.eq(writer.addr),
            write.data.eq(writer.data),
            write.en.eq(writer.en),
            read.addr.eq(reader.addr),
            read.en.eq(reader.en),
            reader.data.eq(read.data ^ self.loses.replicate(width)),
        ]
        return m


class _Bench:
    """A dispatch whose descriptors start at once, and whose completions the test gives."""

    def __init__(self, ctx, dut: Dispatch) -> None:
        self.ctx, self.dut = ctx, dut
        self.pairs = [dut.pair_0, dut.pair_1]
        self.started: list[int] = []

    async def offer(self, number: int, length: int, mode: int = Mode.RAW) -> int:
        """Starts a descriptor of a pair; gives its fault."""
        ctx, pair = self.ctx, self.pairs[number]
        ctx.set(pair.requests.payload.descriptor.length, length)
        ctx.set(pair.requests.payload.descriptor.mode, mode)
        for signal in (pair.requests.valid, pair.may_start):
            ctx.set(signal, 1)
        fault = await self.takes()
        await ctx.tick().until(pair.started)
        ctx.set(pair.requests.valid, 0)
        return fault

    async def takes(self) -> int:
        """Takes what is at the channel, if anything comes; gives its fault."""
        ctx, requests = self.ctx, self.dut.requests
        for _ in range(_LIMIT):
            if ctx.get(requests.valid):
                break
            await ctx.tick()
        else:
            raise AssertionError("nothing starts")
        fault = ctx.get(requests.payload.fault)
        ctx.set(requests.ready, 1)
        await ctx.tick()
        ctx.set(requests.ready, 0)
        return fault

    async def completes(self, status: Status) -> list[int]:
        """Gives a completion of the channel; who gets it."""
        ctx, done = self.ctx, self.dut.done
        ctx.set(done.payload.completion.status, status)
        ctx.set(done.valid, 1)
        for _ in range(_LIMIT):
            if ctx.get(done.ready):
                break
            await ctx.tick()
        got = [number for number, pair in enumerate(self.pairs) if ctx.get(pair.done.valid)]
        await ctx.tick()
        ctx.set(done.valid, 0)
        return got

    async def clears(self) -> None:
        """The channel has dropped all that was in flight."""
        self.ctx.set(self.dut.aborting, 1)
        await self.ctx.tick().repeat(4)
        self.ctx.set(self.dut.aborting, 0)


def _run(test) -> None:
    coding, dut = _Losing(), Dispatch(_CONFIG)

    async def testbench(ctx) -> None:
        await test(ctx, coding, _Bench(ctx, dut))

    simulate(elaborated(dut, coding), testbench)


def test_a_lost_request_is_refused_and_needs_nothing() -> None:
    async def test(ctx, coding: _Losing, bench: _Bench) -> None:
        assert await bench.offer(0, 256) == Status.OK
        # It seems to need the table, which is the other pair's, and something is in flight.
        ctx.set(coding.loses, 1)
        assert await bench.offer(1, 256, 0xFF ^ Mode.FVC) == Status.MEMORY
        ctx.set(coding.loses, 0)
        # The length that it seems to have is not charged.
        assert await bench.offer(1, 256) == Status.OK
        assert [await bench.completes(Status.OK) for _ in range(3)] == [[0], [1], [1]]

    _run(test)


def test_what_starts_again_is_lost_and_comes_to_its_pair() -> None:
    async def test(ctx, coding: _Losing, bench: _Bench) -> None:
        for number in (0, 1, 0):
            assert await bench.offer(number, 256) == Status.OK
        # A lost word in the channel ends the oldest one; the others start again.
        assert await bench.completes(Status.MEMORY) == [0]
        ctx.set(bench.dut.aborting, 1)
        assert [await bench.completes(Status.ABORTED) for _ in range(2)] == [[], []]
        ctx.set(coding.loses, 1)
        await bench.clears()
        assert await bench.takes() == Status.MEMORY
        ctx.set(coding.loses, 0)
        await ctx.tick()
        assert await bench.takes() == Status.OK
        assert [await bench.completes(Status.MEMORY), await bench.completes(Status.OK)] == [[1], [0]]

    _run(test)
