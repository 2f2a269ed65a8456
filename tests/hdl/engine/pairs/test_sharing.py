"""What a pair may start on the data path that all pairs share. Shares and limits: hardware chooses as the model does,
and what is moved is as the weights. Lost words of what is common to pairs end at the pair that they belong to.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from amaranth.hdl import Array, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

from cdma.hdl.blocks.memories import FlipFlops, MemoryCoding, elaborated
from cdma.hdl.engine.pairs.accounts import Accounts
from cdma.hdl.engine.pairs.dispatch import Dispatch
from cdma.hdl.engine.pairs.sharing import Shares
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PERIOD_BITS
from cdma.hdl.spec.records import Mode, Status
from cdma.sim.engine.model import ShareModel
from tests.support.simulate import simulate


async def _write_terms(ctx, dut: Dispatch, terms: list[int]) -> None:
    """Software writes the weights and then the limits of all pairs."""
    term = dut.shares.term
    for row, value in enumerate(terms):
        ctx.set(term.row, row)
        ctx.set(term.data, value)
        await _pulse(ctx, term.enable, 3)


async def _pulse(ctx, signal: Value, value: int = 1) -> None:
    ctx.set(signal, value)
    await ctx.tick()
    ctx.set(signal, 0)


def test_a_period_that_is_changed_holds_at_once() -> None:
    """The first pair gets a limit of one unit, and always has a descriptor of one. It waits for the end of a period that is
    not over before the test; then software shortens it."""
    dut = Dispatch(EngineConfig(channels=2))
    long, short = (1 << PERIOD_BITS) - 1, 100

    async def testbench(ctx):
        async def starts(cycles: int) -> int:
            count = 0
            for _ in range(cycles):
                await ctx.tick()
                count += ctx.get(dut.pair_0.started)
            return count

        await _write_terms(ctx, dut, [0, 0, 1, 0])
        for signal in (dut.pair_0.offers, dut.store.shown, dut.requests.ready, dut.done.valid):
            ctx.set(signal, 1)
        for period in (long, short):
            ctx.set(dut.shares.period, period)
            assert await starts(3 * short) == (0 if period == long else 3)
        ctx.set(dut.shares.period, long)
        assert await starts(3 * short) <= 1

    simulate(dut, testbench)


_COST_BITS = 12


def _chosen(ctx, dut):
    choice = ctx.get(dut.choice)
    assert choice & choice - 1 == 0
    return choice.bit_length() - 1 if choice else None


class _Accounts(Elaboratable):
    """Accounts, and the terms that they ask for: a weight of each pair, and then a limit of each."""

    def __init__(self, count: int, *, step_log2: int, often_log2: int = 8) -> None:
        self.dut = Accounts(count, _COST_BITS, step_log2=step_log2, often_log2=often_log2)
        self.terms = Array(Signal.like(self.dut.term) for _ in range(1 << len(self.dut.row)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dut = self.dut
        m.d.sync += self.dut.term.eq(self.terms[self.dut.row])
        return m

    async def write(self, ctx, weights: list[int], limits: Sequence[int] = ()) -> None:
        """Software writes all terms; waits until the accounts know them."""
        for first, values in ((0, weights), (len(self.terms) // 2, limits)):
            for number, value in enumerate(values, first):
                ctx.set(self.terms[number], value)
        await _pulse(ctx, self.dut.changed)
        await ctx.tick().repeat(4 * len(self.terms) + 4)
        assert ctx.get(self.dut.turns.settled)


@pytest.mark.parametrize("count", [2, 5, 8])
def test_hardware_chooses_as_the_model_does(count):
    """Software changes the weights now and then."""
    rng = random.Random(count)
    top, dut, accounts = Module(), Shares(count, _COST_BITS), _Accounts(count, step_log2=1)
    top.submodules += [dut, accounts]
    wiring.connect(top, dut.turns, accounts.dut.turns)
    levels = [rng.choice((0, 1, 1, 3)) for _ in range(count)]
    model = ShareModel([1] * count, levels, step_log2=1)

    async def testbench(ctx):
        for number in range(count):
            ctx.set(dut.levels[number], levels[number])
        chosen = set()
        for step in range(1000):
            if step % 100 == 0:
                model.weights = [rng.choice((0, 1, 3, 9)) for _ in range(count)]
                await accounts.write(ctx, model.weights)
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
            while rng.random() < 0.3 or not ctx.get(accounts.dut.turns.settled):
                await ctx.tick()
        assert len(chosen) > 2

    simulate(top, testbench)


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


@pytest.mark.parametrize("count", [2, 5])
def test_an_account_loses_no_amount_and_saves_none(count):
    """Turns and limits, each by itself, whatever the memory holds at first; a period may be over at any time."""
    accounts = _Accounts(count, step_log2=1, often_log2=1)
    dut = accounts.dut
    rng = random.Random(count)
    pairs = range(count)
    limits = [rng.choice((0, 5, 40)) for _ in pairs]

    async def settles(ctx) -> None:
        while not ctx.get(dut.turns.settled):
            await ctx.tick()
        # What a period adds comes last.
        await ctx.tick().repeat(4 * count + 4)

    async def testbench(ctx):
        weights = [rng.randint(1, 15) for _ in pairs]
        await accounts.write(ctx, weights, limits)
        turn, left = [0] * count, [0] * count
        for _ in range(600):
            rich = [turn[number] > 0 for number in pairs]
            assert [ctx.get(dut.turns.rich) >> number & 1 for number in pairs] == rich
            limited = [bool(limits[number]) and left[number] <= 0 for number in pairs]
            assert [ctx.get(dut.limited) >> number & 1 for number in pairs] == limited
            deep = [turn[number] + 4 * weights[number] <= 0 for number in pairs]
            assert [ctx.get(dut.turns.deep) >> number & 1 for number in pairs] == deep
            match rng.choice(("add", "often", "charge", "over")):
                case "charge" if any(rich):
                    one, cost = rng.choice([number for number in pairs if rich[number]]), rng.randint(1, 63)
                    ctx.set(dut.turns.cost, cost)
                    await _pulse(ctx, dut.turns.charge, 1 << one)
                    turn[one] -= cost
                    left[one] -= cost if limits[one] and not limited[one] else 0
                case "over":
                    await _pulse(ctx, dut.over)
                    for number in pairs:
                        if limits[number]:
                            left[number] = min(left[number], 0) + limits[number]
                case choice:
                    adds, often = rng.getrandbits(count), choice == "often"
                    ctx.set(dut.turns.often, often)
                    await _pulse(ctx, dut.turns.add, adds)
                    for number in pairs:
                        if adds >> number & 1:
                            saved = turn[number] if deep[number] or (not often and not rich[number]) else 0
                            turn[number] = saved + 2 * weights[number] * (2 if often and deep[number] else 1)
            await settles(ctx)

    simulate(accounts, testbench)


_CONFIG = EngineConfig(channels=2, memories_protect="secded")
#: Cycles in which a descriptor starts.
_LIMIT = 40


class _Losing(MemoryCoding):
    """Every word that is read is lost, and each bit of it is wrong, while ``loses`` is high; or ``loses_tables``, of
    tables."""

    def __init__(self) -> None:
        super().__init__("secded", 16)
        self.loses = Signal()
        self.loses_tables = Signal()

    def line(self, memory: Memory) -> Signal:
        return self.loses_tables if memory.shape == _CONFIG.format.entry_bits else self.loses

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
            reader.data.eq(read.data ^ self.line(memory).replicate(width)),
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
        ctx, pair, store = self.ctx, self.pairs[number], self.dut.store
        ctx.set(store.request.descriptor.length, length)
        ctx.set(store.request.descriptor.mode, mode)
        for signal in (pair.offers, store.shown):
            ctx.set(signal, 1)
        fault = await self.takes()
        await ctx.tick().until(pair.started)
        ctx.set(pair.offers, 0)
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
        await _write_terms(ctx, dut, [1, 1, 0, 0])
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


def test_a_descriptor_whose_table_is_lost_is_refused_until_software_writes_it() -> None:
    async def test(ctx, coding: _Losing, bench: _Bench) -> None:
        entry = bench.dut.shares.entry

        async def offer(number: int, mode: int = Mode.FVC) -> int:
            fault = await bench.offer(number, 256, mode)
            assert await bench.completes(Status.OK) == [number]
            return fault

        for pair in range(2):
            ctx.set(entry.pair, pair)
            ctx.set(entry.data, 0x100 + pair)
            await _pulse(ctx, entry.enable, -1)
        for pair in (0, 1):
            assert await offer(pair) == Status.OK
            assert ctx.get(bench.dut.values[0]) == 0x100 + pair
        ctx.set(coding.loses_tables, 1)
        assert await offer(0) == Status.MEMORY
        ctx.set(coding.loses_tables, 0)
        assert await offer(0) == Status.MEMORY
        assert await offer(0, Mode.RAW) == Status.OK
        ctx.set(entry.pair, 0)
        ctx.set(entry.data, 0x200)
        await _pulse(ctx, entry.enable, -1)
        assert await offer(0) == Status.OK
        assert ctx.get(bench.dut.values[0]) == 0x200

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
